"""Asking a judge about labelled examples, several at once, and counting what it says."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from sopbench.errors import DataError
from sopbench.judging.agreement import Confusion
from sopbench.judging.examples import Example, Examples
from sopbench.judging.judge import Judge, JudgeFailed, Judgement, judge_facts

MAX_WORDS: Final = 2_000
Watch = Callable[[int, int], None]
"""Told how many examples are done, of how many."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of one example: a judgement, or why it was not judged."""

    example: Example
    judgement: Judgement | None
    failed: str | None = None


def ask_all(
    judge: Judge, examples: Sequence[Example], *, concurrency: int = 4, watch: Watch = lambda done, of: None
) -> list[Answered]:
    """All examples judged, in their order. Raises `JudgeFailed` where the judge refuses what it would refuse every time."""
    done = 0
    lock = threading.Lock()
    fatal = threading.Event()

    def one(example: Example) -> Answered:
        nonlocal done
        if fatal.is_set():
            return Answered(example, None, "not asked")
        try:
            answered = Answered(example, judge.judge(example.case, example.id))
        except JudgeFailed as error:
            if error.fatal:
                fatal.set()
                raise
            answered = Answered(example, None, str(error))
        except DataError as error:
            answered = Answered(example, None, str(error))
        with lock:
            done += 1
            watch(done, len(examples))
        return answered

    with ThreadPoolExecutor(max(1, concurrency), thread_name_prefix="sopbench-judged") as crew:
        futures = [crew.submit(one, example) for example in examples]
        try:
            return [future.result() for future in futures]
        except BaseException:
            fatal.set()
            for future in futures:
                future.cancel()
            judge.close()
            raise


def measured(
    model: str, examples: Sequence[Examples], answered: Sequence[Answered], limit: int | None = None
) -> dict[str, Any]:
    """The whole result as JSON; `limit` were the most examples of each source. Only verdicts are in the shares; examples without one are counted beside them, never as either."""
    counts: Counter[tuple[bool, bool]] = Counter()
    disagreements, no_verdict, unreached = [], [], []
    for item in answered:
        example, judgement = item.example, item.judgement
        if judgement is None:
            unreached.append({"id": example.id, "why": item.failed})
        elif judgement.success is None:
            no_verdict.append({"id": example.id, "why": judgement.why, "reply": judgement.reply[:MAX_WORDS]})
        else:
            counts[example.label, judgement.success] += 1
            if example.label != judgement.success:
                disagreements.append(
                    {
                        "id": example.id,
                        "goal": example.case.goal[:MAX_WORDS],
                        "label": _word(example.label),
                        "judged": _word(judgement.success),
                        "reply": judgement.reply[:MAX_WORDS],
                    }
                )
    confusion = Confusion(counts[True, True], counts[False, True], counts[True, False], counts[False, False])
    left_out: Counter[str] = Counter()
    for source in examples:
        left_out.update(source.left_out)
    return {
        "v": 1,
        "judge": judge_facts(model),
        "answered_by": dict(Counter(a.judgement.model[:300] for a in answered if a.judgement is not None)),
        "data_sha256": sha256("\n".join([*(s.sha256 for s in examples), str(limit)]).encode()).hexdigest(),
        "limit": limit,
        "examples": len(answered),
        "no_verdict": len(no_verdict),
        "not_reached": len(unreached),
        **confusion.as_json(),
        "left_out": dict(left_out),
        "disagreements": disagreements,
        "without_verdict": no_verdict,
        "without_answer": unreached,
    }


def _word(success: bool) -> str:
    return "success" if success else "failure"
