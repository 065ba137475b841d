"""The top of the page: headline, facts of the run, and the tables behind the charts.

Numbers are the run's own (`summary.json`); nothing is computed twice. What the summary lacks is left out of the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sopbench.report import plain
from sopbench.runs.folder import RunInfo

MAX_ROWS = 60
MAX_FLIPS = 40
MAX_REPEATS = 100


def build_overview(info: RunInfo, summary: Mapping[str, Any]) -> plain.Plain:
    """Plain JSON values for the page. `summary` may be empty: a run that was interrupted before its first summary."""
    facts = info.facts
    protocol = facts.get("protocol")
    protocol = protocol if protocol in ("online", "static") else "semi_online"
    complete = summary.get("complete") is True
    return {
        "run": plain.word(info.id),
        "created": plain.word(info.created),
        "version": plain.word(info.version),
        "model": plain.text(facts.get("model"), 400) or plain.text(summary.get("model"), 400) or "unnamed model",
        "suite": plain.word(facts.get("suite")) or "?",
        "protocol": protocol,
        "diagnostic": facts.get("after_mismatch") == "continue",
        "profile": plain.word(plain.mapping(facts.get("profile")).get("id")),
        "adapter": plain.word(plain.mapping(facts.get("adapter")).get("name")),
        "summarised": bool(summary),
        "complete": complete,
        "n": plain.count(
            facts.get("n_trajectories") if protocol == "static" else summary.get("n", facts.get("n_trajectories"))
        ),
        "steps": plain.count(summary.get("n")) if protocol == "static" else None,
        "repeats": min(max(1, plain.count(facts.get("repeats"))), MAX_REPEATS),
        "headline": _headline(summary, _metrics(facts)),
        "counts": {name: plain.number(summary.get(name)) for name in _COUNTS},
        "facts": _facts(info),
        "charts": _charts(summary),
        "usage": _usage(summary),
        "spread": _spread(summary),
        "diag": _diagnostic(summary.get("diagnostic")),
    }


_COUNTS = (
    "scored_steps",
    "parse_failed_steps",
    "not_scored_steps",
    "scored_trajectories",
    "not_scored_trajectories",
    "parse_failure_rate",
    "retries",
)

_SEMI_ONLINE = (
    ("score", "Score", "the mean of PG and TSR"),
    ("pg", "PG", "progress: steps matched before the first mismatch"),
    ("tsr", "TSR", "task success: trajectories matched to the end"),
)
_ONLINE = (("success", "Success", "tasks that the environment itself found solved"),)
_JUDGED = (("success", "Success, by the judge", "tasks that the VLM named under Environment found carried out"),)
_STEPS = (
    ("sr", "SR", "step success: steps that match, of all steps"),
    ("tm", "TM", "type match: steps whose action type is the expert's, of all steps"),
    ("gr", "GR", "grounding: of the steps where expert and model click, those that match"),
)
_GROUNDING = (("accuracy", "Accuracy", "clicks inside the target's box, of all targets"),)


def _metrics(facts: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    if facts.get("protocol") == "static":
        return _GROUNDING if plain.mapping(facts.get("static")).get("metrics") == "accuracy" else _STEPS
    if facts.get("protocol") == "online":
        return _JUDGED if plain.mapping(facts.get("environment")).get("judge") else _ONLINE
    return _SEMI_ONLINE


def _headline(summary: Mapping[str, Any], metrics: tuple[tuple[str, str, str], ...]) -> list[plain.Plain]:
    """Each number with its 95 % interval; or, where trajectories are not scored, its bounds and no mean."""
    ci, bounds = plain.mapping(summary.get("ci95")), plain.mapping(summary.get("bounds"))
    rows: list[plain.Plain] = []
    for key, label, meaning in metrics:
        names = [key, "tsr"] if key == "success" else [key]
        row = plain.without_none(
            {
                "value": _first(plain.number(summary.get(name)) for name in names),
                "ci": _first(plain.pair(ci.get(name)) for name in names),
                "bounds": _first(plain.pair(bounds.get(name)) for name in names),
            }
        )
        if row or not rows:
            rows.append({"key": key, "label": label, "meaning": meaning} | row)
    return rows


def _first(values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _facts(info: RunInfo) -> list[list[str]]:
    """Rows of label, value, and how to show it: `text`, `code`, or `hash` (shortened, with the whole to copy)."""
    facts = info.facts
    adapter, profile = plain.mapping(facts.get("adapter")), plain.mapping(facts.get("profile"))
    prompt, static = plain.mapping(adapter.get("prompt")), plain.mapping(facts.get("static"))
    rows: list[tuple[str, object, str]] = [
        ("Model", facts.get("model"), "code"),
        ("Suite", facts.get("suite"), "code"),
        ("Protocol", str(facts.get("protocol", "?")).replace("_", "-"), "text"),
        ("Trajectories", facts.get("n_trajectories"), "text"),
        ("Only the first", plain.count(info.settings.get("limit")) or None, "text"),
        ("Repeats", facts.get("repeats"), "text"),
        ("Seed", facts.get("seed"), "text"),
        ("Adapter", adapter.get("name"), "code"),
        ("Prompt source", prompt.get("kind"), "text"),
        ("Prompt note", prompt.get("note"), "text"),
        ("Prompt hash", prompt.get("sha256"), "hash"),
        ("Scoring profile", profile.get("id"), "code"),
        ("Profile hash", profile.get("hash"), "hash"),
        ("Images per request", facts.get("images"), "text"),
        ("After a mismatch", None if static else facts.get("after_mismatch"), "text"),
        ("History told", f"the {static['history']}'s" if static.get("history") else None, "text"),
        ("Instruction told", "of every step" if static.get("instruction") else None, "text"),
        ("Instruction words", static.get("instruction"), "hash"),
        ("Sampling", _options(facts.get("sampling")), "text"),
        ("Policy", _options(facts.get("policy")), "text"),
        ("Environment", _options(facts.get("environment")), "text"),
        ("Only tasks", ", ".join(info.settings.get("tasks") or ()) or None, "text"),
        ("Suite options", _options(info.settings.get("options")), "text"),
        ("Data hash", facts.get("data_sha256"), "hash"),
        ("Ids hash", facts.get("ids_sha256"), "hash"),
        ("Fingerprint", info.fingerprint, "hash"),
        ("sopbench", info.version, "text"),
        ("Created", info.created, "text"),
    ]
    shown = ((label, plain.text(str(v), 400), how) for label, v, how in rows if v is not None)
    return [[label, value, how] for label, value, how in shown if value]


def _options(value: object) -> str | None:
    """`{"temperature": 0, "top_p": None}` as `temperature 0`; unset options are the server's choice."""
    if not isinstance(value, Mapping):
        return None
    named = [(str(key), option) for key, option in value.items() if option is not None and option != {}]
    return " · ".join(f"{key} {_option(option)}" for key, option in named) or "server defaults"


def _option(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _charts(summary: Mapping[str, Any]) -> plain.Plain:
    return plain.without_none(
        {
            "first_failure": _by_step(summary.get("first_failure_by_step")),
            "by_length": [
                {
                    "label": plain.word(row.get("length")) or "?",
                    "n": plain.count(row.get("n")),
                    "pg": plain.number(row.get("pg")),
                    "tsr": plain.number(row.get("tsr")),
                }
                for row in _rows(summary.get("by_length"))
            ],
            "by_action": [
                {
                    "kind": plain.word(str(kind)),
                    "n": plain.count(row.get("n")),
                    "type_match": _share(row, "type_match"),
                    "match": _share(row, "match"),
                }
                for kind, row in _named(summary.get("by_action"))
            ],
            "groups": [
                *(_group(tag, rows) for tag, rows in _named(summary.get("groups"))),
                *_templates(summary),
            ],
            "reasons": plain.counts(summary.get("reasons")),
            "first_failure_by_action": plain.counts(summary.get("first_failure_by_action")),
            "confusion": [
                {"gold": plain.word(str(gold)), "preds": plain.counts(row)}
                for gold, row in _named(summary.get("confusion"))
            ],
        }
    )


def _group(tag: object, rows: Mapping[str, Any]) -> plain.Plain:
    """The main metric of each value of a tag (and TM, where there is one)."""
    return {
        "tag": plain.word(str(tag)),
        "rows": [
            plain.without_none(
                {
                    "value": plain.word(str(value)) or "?",
                    "n": plain.count(row.get("n")),
                    "main": _first(plain.number(row.get(name)) for name in ("accuracy", "sr")),
                    "tm": plain.number(row.get("tm")),
                }
            )
            for value, row in _named(rows)
        ],
    }


def _templates(summary: Mapping[str, Any]) -> list[plain.Plain]:
    """Online: how many episodes of each template are solved, where some have several."""
    rows = _rows(summary.get("by_template"))
    if not rows or sum(plain.count(row.get("n")) for row in rows) == len(rows):
        return []
    shown = [
        plain.without_none(
            {
                "value": plain.word(row.get("template")) or "?",
                "n": plain.count(row.get("n")),
                "main": _share(row, "solved") if row.get("scored") == row.get("n") else None,
            }
        )
        for row in rows
    ]
    return [{"tag": "task", "rows": shown}]


def _by_step(value: object) -> list[plain.Plain]:
    """Counts by step index, with the indices that the summary leaves out (nothing failed there)."""
    found = {plain.count(row.get("step")): plain.count(row.get("n")) for row in _rows(value)}
    last = min(max(found, default=-1), MAX_ROWS - 1)
    return [{"step": step, "n": found.get(step, 0)} for step in range(last + 1)]


def _share(row: Mapping[str, Any], name: str) -> float | None:
    """A count as percent of the row's `n`."""
    n, part = plain.count(row.get("n")), plain.number(row.get(name))
    return None if part is None or n <= 0 else round(100 * part / n, 1)


def _usage(summary: Mapping[str, Any]) -> plain.Plain:
    tokens, latency, ceiling = (plain.mapping(summary.get(name)) for name in ("tokens", "latency", "ceiling"))
    return plain.without_none(
        {
            "prompt": plain.number(tokens.get("prompt")),
            "completion": plain.number(tokens.get("completion")),
            "latency": plain.without_none({q: plain.number(latency.get(q)) for q in ("p50", "p90", "p99", "mean")}),
            "faults": plain.counts(summary.get("faults")),
            "retries": plain.number(summary.get("retries")),
            "wall": plain.number(summary.get("wall_s")),
            "cost": plain.number(summary.get("cost")),
            "mean_steps": plain.number(summary.get("mean_steps")),
            "mean_score": plain.number(summary.get("mean_score")),
            "ceiling": plain.without_none(
                {
                    "pg": plain.number(ceiling.get("pg")),
                    "tsr": plain.number(ceiling.get("tsr")),
                    "sr": plain.number(ceiling.get("sr")),
                    "accuracy": plain.number(ceiling.get("accuracy")),
                    "missing": plain.counts(ceiling.get("missing")),
                }
            ),
        }
    )


def _spread(summary: Mapping[str, Any]) -> plain.Plain:
    """How repeats differ: TSR of each, and the trajectories that some repeat solves and another does not."""
    tsr, flips = summary.get("repeats_tsr"), summary.get("flips")
    fields: plain.Plain = {}
    if isinstance(tsr, list):
        fields["tsr"] = [plain.number(value) for value in tsr[:MAX_ROWS]]
    if isinstance(flips, list):
        fields["flips"] = len(flips)
        fields["ids"] = [plain.text(str(episode), 400) for episode in flips[:MAX_FLIPS]]
    return fields


def _diagnostic(value: object) -> plain.Plain:
    found = plain.mapping(value)
    return plain.without_none(
        {name: plain.number(found.get(name)) for name in ("steps", "step_accuracy", "type_accuracy")}
    )


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [row for row in value[:MAX_ROWS] if isinstance(row, Mapping)] if isinstance(value, list) else []


def _named(value: object) -> list[tuple[str, Mapping[str, Any]]]:
    return [(k, row) for k, row in list(plain.mapping(value).items())[:MAX_ROWS] if isinstance(row, Mapping)]
