"""`sopbench show`: a run's summary in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table


def register(app: typer.Typer) -> None:
    @app.command(
        help="Print the summary of a run.\n\nExample: sopbench show runs/pocket-builtin-noisy-20260101-120000-ab12"
    )
    def show(
        run: Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)],
        as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    ) -> None:
        from sopbench.api import load_run
        from sopbench.cli.terminal import print_json
        from sopbench.errors import DataError, shown

        recorded = load_run(run)
        summary = recorded.summary
        if as_json:
            print_json(summary)
            return
        try:
            print_summary(summary)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:  # its JSON is anybody's
            raise DataError(
                f"{recorded.folder.summary_path} is not what a run writes ({type(error).__name__}: {shown(str(error))})"
            ) from error


def print_summary(summary: Mapping[str, Any]) -> None:
    """Headline, then the tables that say where it went wrong."""
    from sopbench.cli.terminal import console, safe

    out = console()
    what = " · ".join(safe(summary[key], 60) for key in ("suite", "model", "adapter", "profile") if summary.get(key))
    out.print(what, style="bold")
    out.print(_headline(summary))
    if summary.get("by_action"):
        out.print(
            table(
                "steps by expert action", ("action", "steps", "type match", "match"), _action_rows(summary["by_action"])
            )
        )
    for tag, rows in (summary.get("groups") or {}).items():
        out.print(_group_table(summary, tag, rows))
    if summary.get("by_length") and len(summary["by_length"]) > 1:
        rows = [(r["length"], r["n"], f"{r['pg']:.1f}", f"{r['tsr']:.1f}") for r in summary["by_length"]]
        out.print(table("by trajectory length", ("length", "n", "PG", "TSR"), rows))
    if summary.get("by_template") and len(summary["by_template"]) < summary["n"]:
        rows = [(r["template"][:60], r["n"], _share(r["solved"], r["scored"])) for r in summary["by_template"]]
        out.print(table("by task", ("task", "episodes", "solved"), rows))
    if summary.get("reasons"):
        reasons = [(reason[:60], n) for reason, n in list(summary["reasons"].items())[:10]]
        if summary["protocol"] == "static":
            out.print(table("mismatches, by reason", ("reason", "steps"), reasons))
        elif summary["protocol"] == "online":
            reasons = [(SAID.get(reason, reason), n) for reason, n in reasons]
            out.print(table("not successful, by reason", ("reason", "episodes"), reasons))
        else:
            out.print(table("first mismatch, by reason", ("reason", "trajectories"), reasons))
    for line in _remarks(summary):
        out.print(safe(line, 2000))


def metrics_shown(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(label, key) of the headline's numbers."""
    if summary["protocol"] == "online":
        return [("success, by the judge" if summary.get("judge") else "success", "tsr")]
    if summary["protocol"] == "static":
        return [("accuracy", "accuracy")] if "accuracy" in summary else [("SR", "sr"), ("TM", "tm"), ("GR", "gr")]
    return [("Score", "score"), ("PG", "pg"), ("TSR", "tsr")]


SAID = {
    "said:success": "the agent said success, the environment does not agree",
    "said:failure": "the agent gave up",
    "said:nothing": "the steps ran out",
}


def _headline(summary: Mapping[str, Any]) -> Table:
    rows = []
    for label, key in metrics_shown(summary):
        ranges = (summary["ci95"] if summary["complete"] else summary["bounds"]) or {}
        if key not in ranges:
            rows.append((label, "-", "no step to count"))  # GR, where the model never clicks with the expert
        elif summary["complete"]:
            low, high = ranges[key]
            rows.append((label, f"{summary[key]:.1f}", f"{low:.1f} – {high:.1f}"))
        else:
            low, high = ranges[key]
            rows.append((label, "not known", f"between {low:.1f} and {high:.1f}"))
    title = f"{summary['n']} trajectories"
    if summary["protocol"] == "static":
        title = f"{summary['n']} steps of {summary.get('n_trajectories')} trajectories"
    title += " (only the first: --limit)" if summary.get("limit") else ""
    title += f" x {summary['repeats']} repeats" if summary["repeats"] > 1 else ""
    spread = "95 % interval" if summary["complete"] else "bounds (not all is scored)"
    return table(title, ("percent", "value", spread), rows)


def _group_table(summary: Mapping[str, Any], tag: str, rows: Mapping[str, Mapping[str, Any]]) -> Table:
    names = metrics_shown(summary)
    shown = [
        (value[:40], row["n"], *("-" if row.get(key) is None else f"{row[key]:.1f}" for _, key in names))
        for value, row in rows.items()
    ]
    return table(f"by {tag[:40]}", (tag[:40], "steps", *(label for label, _ in names)), shown)


def _action_rows(by_action: Mapping[str, Mapping[str, int]]) -> list[tuple[object, ...]]:
    return [
        (kind, r["n"], _share(r["type_match"], r["n"]), _share(r["match"], r["n"])) for kind, r in by_action.items()
    ]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def _remarks(summary: Mapping[str, Any]) -> Iterable[str]:
    yield f"steps scored {summary['scored_steps']}, of them not parsed {summary['parse_failed_steps']}; not scored {summary['not_scored_steps']}"
    if summary["not_scored_reasons"]:
        yield "not scored: " + ", ".join(f"{reason} {n}" for reason, n in summary["not_scored_reasons"].items())
    if summary.get("other_models"):
        named = ", ".join(f"{name} ({n})" for name, n in summary["other_models"].items())
        yield f"steps answered, by their replies' own word, by another model than the one asked for: {named}"
    missing = (summary.get("ceiling") or {}).get("missing")
    if missing:
        ceiling = summary["ceiling"]
        lost = ", ".join(f"{kind} ({n})" for kind, n in missing.items())
        best = ", ".join(f"{label} {ceiling[key]}" for label, key in metrics_shown(summary) if key in ceiling)
        yield f"this adapter cannot say {lost}: its ceiling is {best}"
    if summary.get("whole_trajectories") is not None and "accuracy" not in summary:
        yield f"trajectories whose every step matches: {summary['whole_trajectories']} % (each step asked alone: this is no TSR)"
    if summary.get("without_instruction"):
        yield f"{summary['without_instruction']} steps of this data have no instruction; their requests told none"
    if summary.get("diagnostic"):
        yield f"diagnostic: step accuracy {summary['diagnostic']['step_accuracy']} over {summary['diagnostic']['steps']} steps (never the headline)"
    if summary.get("solved_without_acting"):
        yield f"{len(summary['solved_without_acting'])} tasks are solved without acting: {', '.join(summary['solved_without_acting'][:10])}"
    if summary.get("over_instances"):
        over = summary["over_instances"]
        each = ", ".join(f"{value:.1f}" for value in over["success"])
        yield f"success by set of instances: {each}; mean {over['mean']:.1f}, standard deviation {over['sd']:.1f}"
    if summary.get("judge"):
        yield _judge_words(summary["judge"])
    if summary.get("environment_failures"):
        broken = ", ".join(f"{why} {n}" for why, n in summary["environment_failures"].items())
        yield f"the environment failed and the episode was begun again (or left unscored): {broken}"
    if summary.get("flips") and summary["protocol"] == "static":
        yield f"steps that flip between repeats: {len(summary['flips'])}"
    elif summary.get("flips"):
        yield f"trajectories that flip between repeats: {len(summary['flips'])}; TSR by repeat: {', '.join(map(str, summary['repeats_tsr']))}"
    if summary["latency"]:
        yield f"latency {summary['latency']['p50']:.3f} s median, {summary['latency']['p99']:.3f} s p99; retries {summary['retries']}"
    if summary["tokens"]:
        cost = f"; cost {summary['cost']}" if summary["cost"] is not None else ""
        yield f"tokens: prompt {summary['tokens']['prompt']:,}, completion {summary['tokens']['completion']:,}{cost}"


def _judge_words(judge: Mapping[str, Any]) -> str:
    """Who decided success, and how far that was measured."""
    told = f"success is the verdict of {judge['model']} over the last {judge['screens']} screens (words {judge['words']}, {judge['prompt_sha256'][:12]})"
    agreement = judge.get("agreement")
    if judge.get("other_models"):
        named = ", ".join(f"{name} ({n})" for name, n in judge["other_models"].items())
        told += f", by its replies' own word of another model: {named}"
    if agreement is None:
        return f"{told}; judge agreement: not measured"
    kappa = "" if agreement["kappa"] is None else f", kappa {agreement['kappa']:.2f}"
    return f"{told}; judge agreement: {100 * agreement['accuracy']:.1f} % of {agreement['n']} labelled examples{kappa}"


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], *, texts: bool = False) -> Table:
    """A table whose first column is text; the others are numbers, aligned right, unless `texts`."""
    from rich import box
    from rich.table import Table

    from sopbench.cli.terminal import safe

    table = Table(title=safe(title, 400), box=box.SIMPLE_HEAD, title_justify="left", title_style="dim", pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(safe(column, 400), justify="left" if k == 0 or texts else "right")
    for row in rows:
        table.add_row(*(safe(cell, 400) for cell in row))
    return table
