"""Asking an open checkpoint again: a random sample of a submission's requests, sent as they were, and how many answers are the same.

Greedy decoding repeats itself only nearly: other batch sizes, kernels and servers change some replies. So shares are reported with intervals, and a person judges them.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sopbench.actions import to_released
from sopbench.adapters.base import ParsedReply
from sopbench.clients.base import Ask, AskFailed, Policy, Sampling
from sopbench.errors import UsageError
from sopbench.leaderboard import journal
from sopbench.leaderboard.boards import Boards, load_boards
from sopbench.leaderboard.case import Case
from sopbench.leaderboard.reading import STEPS
from sopbench.leaderboard.rules_board import has_texts
from sopbench.leaderboard.verifying import checked_case
from sopbench.protocols.semi_online import SemiOnlineEpisode
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.recording import ask_for, storable
from sopbench.runs.records import StepRecord
from sopbench.suites.base import DataSource
from sopbench.waiting import wait_for

MAX_REQUESTS: Final = 10_000
CONCURRENCY: Final = 8


@dataclass(frozen=True, slots=True)
class Difference:
    episode: str
    step: int
    recorded: str
    answered: str


@dataclass(frozen=True, slots=True)
class Replay:
    """`asked` requests were answered, of which `same_reply` to the letter and `same_action` after parsing; `failed` had no answer."""

    asked: int
    same_reply: int
    same_action: int
    failed: int
    seed: int
    differences: tuple[Difference, ...]

    def as_dict(self) -> dict[str, Any]:
        shares = {}
        for name, count in (("same_reply", self.same_reply), ("same_action", self.same_action)):
            low, high = wilson(count, self.asked)
            shares[name] = {
                "n": count,
                "share": round(count / self.asked, 4) if self.asked else None,
                "ci95": [low, high],
            }
        return {"asked": self.asked, "failed": self.failed, "seed": self.seed, **shares}


def wilson(k: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % score interval of a share k/n (Wilson, 1927), as fractions; (0, 1) where nothing was counted."""
    if n == 0:
        return 0.0, 1.0
    p, zz = k / n, z * z
    middle = (p + zz / (2 * n)) / (1 + zz / n)
    half = z * math.sqrt(p * (1 - p) / n + zz / (4 * n * n)) / (1 + zz / n)
    return round(max(0.0, middle - half), 4), round(min(1.0, middle + half), 4)


def replay(
    path: Path | str,
    n: int,
    *,
    base_urls: Sequence[str],
    model: str,
    boards: Boards | Path | None = None,
    source: DataSource | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Ask `model` at `base_urls` `n` randomly chosen requests of a verified submission again, at the recorded sampling.

    `seed` chooses the sample; None takes one that nobody could know when the submission was made. Needs the board's screens and the prompt texts. Raises a `SopbenchError`.
    """
    known = boards if isinstance(boards, Boards) else load_boards(boards)
    case, verification = checked_case(path, known, source)
    if not verification.ok:
        refused = verification.refused
        raise UsageError(f"{path} is not verified ({refused.rule if refused else '?'}): there is nothing to replay")
    if not 1 <= n <= MAX_REQUESTS:
        raise UsageError(f"--replay takes 1 to {MAX_REQUESTS} requests, not {n}")
    if case.board.protocol == "online":
        raise UsageError(
            "an online run's screens are not in its submission: run the model again instead (sopbench run)"
        )
    if case.reproduced:
        raise UsageError("a built-in policy was asked again already while its submission was verified")
    if not has_texts(case):
        raise UsageError(f"the prompt texts of the run are not here: sopbench prompts pull {case.adapter.name}")
    chosen = random.SystemRandom().randrange(2**31) if seed is None else seed
    asks = _chosen(case, n, chosen)
    return wait_for(_ask_all(case, asks, list(base_urls), model, chosen, progress))


def _chosen(case: Case, n: int, seed: int) -> list[tuple[Ask, StepRecord]]:
    """A sample of all requests, each as likely as the next, with the data's own screens."""
    steps = [(key, r.step) for key, log in case.logs.items() for r in log.ordered() if r.outcome == "scored"]
    wanted: dict[tuple[str, int], set[int]] = {}
    for key, step in random.Random(seed).sample(steps, min(n, len(steps))):
        wanted.setdefault(key, set()).add(step)
    found = []
    for key, log in journal.episodes(case.submission.file(STEPS)):
        if key in wanted:
            found += [(ask, log.steps[step]) for ask, step in _asks(case, key, log.ordered(), wanted[key])]
    return found


def _asks(case: Case, key: tuple[str, int], records: list[StepRecord], steps: set[int]) -> list[tuple[Ask, int]]:
    assert case.profile is not None
    trajectory, images = case.trajectories[key[0]], case.facts["images"]
    found = []
    static = case.board.protocol == "static"
    if static:
        alone = StaticEpisode(trajectory, case.adapter, case.profile, images=images, instruct=case.suite.instructs)
        pendings = [pending for step in sorted(steps) if (pending := alone.pending(step)) is not None]
    else:
        episode = SemiOnlineEpisode(trajectory, case.adapter, case.profile, images=images)
        pendings = []
        for record in records:
            pending = episode.pending()
            if pending is not None and record.step in steps:
                pendings.append(pending)
            episode.advance(record.reply or "")
    for pending in pendings:
        ask = ask_for(case.adapter, *key, pending, seed=case.facts["seed"], expert=lambda: None, gold_history=static)
        found.append((ask, pending.step_index))
    return found


async def _ask_all(
    case: Case,
    asks: list[tuple[Ask, StepRecord]],
    base_urls: list[str],
    model: str,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> Replay:
    from sopbench.clients.keys import api_key_from_environment
    from sopbench.clients.pool import EndpointPool

    sampling = Sampling(**case.facts["sampling"])
    pool = EndpointPool(base_urls, model, sampling, api_key=api_key_from_environment(), concurrency=CONCURRENCY)
    done = 0

    async def one(ask: Ask, record: StepRecord) -> tuple[StepRecord, str | None]:
        nonlocal done
        answer = await _answer(pool, ask)
        done += 1
        if progress is not None:
            progress(done, len(asks))
        return record, answer

    try:
        answers = await asyncio.gather(*(one(ask, record) for ask, record in asks))
    finally:
        await pool.close()
    return _counted(case, answers, seed)


async def _answer(pool: Policy, ask: Ask) -> str | None:
    try:
        return storable(await pool.ask(ask)).text
    except AskFailed as error:
        if error.fatal:
            raise
        return None


def _counted(case: Case, answers: Sequence[tuple[StepRecord, str | None]], seed: int) -> Replay:
    asked = same_reply = same_action = 0
    differences: list[Difference] = []
    for record, text in answers:
        if text is None:
            continue
        asked += 1
        same_reply += text == record.reply
        if _action(case, record, text) == _action(case, record, record.reply or ""):
            same_action += 1
        elif len(differences) < 20:
            differences.append(Difference(record.episode, record.step, (record.reply or "")[:400], text[:400]))
    return Replay(asked, same_reply, same_action, len(answers) - asked, seed, tuple(differences))


def _action(case: Case, record: StepRecord, text: str) -> object:
    """What a reply does, as comparable JSON; a reply that does nothing is equal to every other such one."""
    from sopbench.leaderboard.recorded import screen_of

    size = screen_of(record).size
    parsed = case.adapter.parse(text, size)
    return to_released(parsed.action, size) if isinstance(parsed, ParsedReply) else None


def entry(path: Path, found: Replay, model: str, by: str, date: str) -> str:
    """The lines for `reruns.yaml` that put a submission into the tier `re-run`, for a maintainer who judges the shares good enough."""
    from sopbench.leaderboard.reading import SUMS

    sums = hashlib.sha256((path / SUMS).read_bytes()).hexdigest()
    share = found.as_dict()["same_action"]
    words = f"{found.same_action} of {found.asked} sampled actions the same (95 % interval {100 * share['ci95'][0]:.0f} to {100 * share['ci95'][1]:.0f} %), asked of {model}"
    return "\n".join(
        [
            f'"{path.resolve().name}":',
            f'  sums: "{sums}"',
            '  how: "replay"',
            f'  by: "{by}"',
            f'  date: "{date}"',
            f'  found: "{words}"',
        ]
    )
