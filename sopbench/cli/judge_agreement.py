"""`sopbench judge-agreement`: how far a VLM judge agrees with labels."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sopbench.errors import EXIT_UNSCORED, UsageError

if TYPE_CHECKING:
    from sopbench.judging.examples import Examples

SHOWN = 20
HELP = """Measure how far a VLM judge agrees with labelled examples, before its verdicts on a suite (aitw-general, aitw-web) are believed.

LABELLED is a JSONL file: {"goal": "...", "screens": ["a.png", ...], "actions": ["..."], "label": "success"} with screens below the file's own folder, `actions` may be left out. With --from-run, the episodes of an online run that its environment scored are the examples (only those that the agent ended itself).

Accuracy, precision and recall come with Wilson's interval, Cohen's kappa with a bootstrap; examples without a verdict are counted beside them. The result is kept by the judge's model and the hash of its words, and runs with that judge repeat it. The API key is read from SOPBENCH_JUDGE_API_KEY, SOPBENCH_API_KEY or OPENAI_API_KEY.

Exit status: 0 all examples were answered; 3 some were not (those results are not kept).

Examples:

  sopbench judge-agreement labelled.jsonl --judge-model Qwen2.5-VL-72B --judge-base-url http://localhost:8000/v1

  sopbench run --suite pocket-online --model builtin:noisy --out runs/noisy

  sopbench judge-agreement --from-run runs/noisy --judge-model Qwen2.5-VL-72B --judge-base-url http://localhost:8000/v1 --json
"""


def register(app: typer.Typer) -> None:
    @app.command("judge-agreement", help=HELP)
    def judge_agreement(
        labelled: Annotated[Path | None, typer.Argument(help="JSONL of labelled examples.", show_default=False)] = None,
        from_run: Annotated[
            list[Path] | None, typer.Option(help="Folder of an online run; may be given more than once.")
        ] = None,
        judge_model: Annotated[str, typer.Option(help="The judge's name as its endpoint serves it.")] = "",
        judge_base_url: Annotated[str, typer.Option(help="The endpoint that serves it.")] = "",
        limit: Annotated[int | None, typer.Option(help="Only the first N examples of each source.", min=1)] = None,
        concurrency: Annotated[int, typer.Option(help="Most examples in flight.", min=1, max=256)] = 8,
        deadline: Annotated[float, typer.Option(help="Seconds that one verdict may take, with all attempts.")] = 300.0,
        out: Annotated[Path | None, typer.Option(help="Write the whole result to this file, too.")] = None,
        keep: Annotated[bool, typer.Option(help="Keep the result, so that runs with this judge repeat it.")] = True,
        as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.files import write_json
        from sopbench.judging.examples import examples_of_run, read_examples
        from sopbench.judging.judge import ATTEMPT, Judge, judge_key
        from sopbench.judging.kept import keep as keep_result
        from sopbench.judging.measuring import ask_all, measured

        if not judge_model or not judge_base_url:
            raise UsageError("name the judge: --judge-model NAME --judge-base-url http://host:8000/v1")
        if labelled is None and not from_run:
            raise UsageError("nothing to measure on: give a JSONL file of labelled examples, or --from-run RUN")
        if not deadline > 0:
            raise UsageError("--deadline is a positive number of seconds")
        sources = [read_examples(labelled)] if labelled is not None else []
        sources += [examples_of_run(folder) for folder in from_run or ()]
        chosen = [example for source in sources for example in source.found[:limit]]
        if not chosen:
            raise UsageError(f"no example is left: {_left_out(sources) or 'the sources are empty'}")
        with Judge(
            judge_model,
            judge_base_url,
            api_key=judge_key(),
            concurrency=concurrency,
            attempt_timeout=min(ATTEMPT, deadline),
            deadline=deadline,
        ) as judge:
            answered = ask_all(judge, chosen, concurrency=concurrency, watch=_Progress())
        result = measured(judge.model, sources, answered, limit)
        kept = keep_result(judge.model, result) if keep and result["n"] and not result["not_reached"] else None
        if out is not None:
            write_json(out, result)
        if as_json:
            print_json(result)
        else:
            _print(result, kept)
        if result["not_reached"]:
            raise typer.Exit(EXIT_UNSCORED)


class _Progress:
    """A line on standard error with rate and time left, on a terminal only."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        if sys.stderr.isatty():
            from sopbench.cli.terminal import duration

            rate = done / max(1e-6, time.monotonic() - self._began)
            end = "\r\x1b[K" if done == of else "\r"
            line = f"\rjudged {done}/{of}  {rate:.1f}/s  ETA {duration((of - done) / max(rate, 1e-6))}"
            print(line, end=end, file=sys.stderr, flush=True)


def _left_out(sources: list[Examples]) -> str:
    return "; ".join(f"{n} {reason}" for source in sources for reason, n in source.left_out.items())


def _print(result: dict[str, Any], kept: Path | None) -> None:
    from sopbench.cli.show import table
    from sopbench.cli.terminal import console, safe

    out = console()
    judge = result["judge"]
    out.print(f"{safe(judge['model'])}, words {judge['words']} ({judge['prompt_sha256'][:12]})", style="bold")
    rows = []
    for name in ("accuracy", "precision", "recall", "kappa"):
        value, ends = result[name], result["ci95"][name]
        spread = "-" if ends is None else f"{ends[0]:.3f} – {ends[1]:.3f}"
        rows.append((name, "-" if value is None else f"{value:.3f}", spread))
    title = f"{result['n']} of {result['examples']} examples with a verdict"
    out.print(table(title, ("measure", "value", "95 % interval"), rows))
    cells = [(name.replace("_", " "), n) for name, n in result["confusion"].items()]
    out.print(table("confusion", ("label, verdict", "examples"), cells))
    for name, words in (("no_verdict", "without a verdict"), ("not_reached", "not answered")):
        if result[name]:
            out.print(f"{result[name]} {words}: not counted above", style="yellow")
    for row in result["without_answer"][:3]:
        out.print(f"  {safe(row['id'], 80)}: {safe(row['why'], 300)}")
    for row in result["disagreements"][:SHOWN]:
        out.print(f"{safe(row['id'], 80)}: labelled {row['label']}, judged {row['judged']}: {safe(row['goal'], 120)}")
    if len(result["disagreements"]) > SHOWN:
        out.print(f"and {len(result['disagreements']) - SHOWN} more disagreements (--json lists them all)")
    for reason, n in result["left_out"].items():
        out.print(f"left out: {n} episodes, {reason}")
    if kept is not None:
        out.print(f"kept: runs with this judge say so from now on ({safe(kept, 300)})")
