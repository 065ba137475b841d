"""From the journal and the recordings to what the page shows of each trajectory and step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from sopbench.geometry import Box
from sopbench.report import plain
from sopbench.runs.folder import EpisodeKey, EpisodeLog
from sopbench.runs.records import EpisodeEnd, StepRecord
from sopbench.screen import Screen
from sopbench.trajectory import MAX_STEPS, Step, Trajectory

MAX_REPLY = 20_000
REPLY_BUDGET = 24_000_000
MIN_REPLY = 1_000
MAX_THOUGHT = 6_000
MAX_BOXES = 60
MAX_ATTEMPTS = 20
MAX_NOTES = 20


@dataclass(slots=True)
class ScreenSlots:
    """The screens that the page refers to by number. `reached[i]` tells whether the model was ever asked about screen `i`."""

    screens: list[Screen] = field(default_factory=list)
    reached: list[bool] = field(default_factory=list)
    _known: dict[object, int] = field(default_factory=dict)

    def add(self, screen: Screen, *, reached: bool) -> int:
        identity: object = screen.path or id(screen)
        slot = self._known.setdefault(identity, len(self.screens))
        if slot == len(self.screens):
            self.screens.append(screen)
            self.reached.append(reached)
        self.reached[slot] |= reached
        return slot


@dataclass(frozen=True, slots=True)
class Episodes:
    """`rows` are plain JSON values, in the data's order; `known_lengths` is False where nothing says how long trajectories are."""

    rows: list[plain.Plain]
    slots: ScreenSlots
    known_lengths: bool


def build_episodes(
    logs: Mapping[EpisodeKey, EpisodeLog],
    trajectories: Mapping[str, Trajectory] | None,
    *,
    protocol: str,
    complete: bool,
    repeats: int,
    n_trajectories: int | None,
    screens_dir: Path,
) -> Episodes:
    """One row for every (trajectory, repeat) of the run, played or not.

    `n_trajectories` is the run's own number: where more trajectories are given than that (a file read without the run's `--limit`, which takes
    the first), the rest is shown only as far as the journal knows it.
    """
    slots = ScreenSlots()
    steps_asked = sum(len(log.steps) for log in logs.values())
    reply_limit = max(MIN_REPLY, min(MAX_REPLY, REPLY_BUDGET // max(1, steps_asked)))
    builder = _Builder(slots, reply_limit, screens_dir, complete)
    rows = []
    for key in _keys(logs, trajectories, repeats, n_trajectories):
        log = logs.get(key) or EpisodeLog()
        trajectory = (trajectories or {}).get(key[0])
        play = {"online": builder.online, "static": builder.static}.get(protocol, builder.semi_online)
        rows.append(play(key, log, trajectory))
    lengths = (
        protocol == "online"
        or trajectories is not None
        or all(r.of for log in logs.values() for r in log.steps.values())
    )
    return Episodes(rows, slots, lengths)


def _keys(
    logs: Mapping[EpisodeKey, EpisodeLog],
    trajectories: Mapping[str, Trajectory] | None,
    repeats: int,
    n_trajectories: int | None,
) -> Iterator[EpisodeKey]:
    """Recordings in their order, each with its repeats; then whatever only the journal knows."""
    listed = set()
    for episode in islice(trajectories or {}, n_trajectories):
        for repeat in range(max(1, repeats)):
            listed.add((episode, repeat))
            yield episode, repeat
    yield from (key for key in logs if key not in listed)


class _Builder:
    def __init__(self, slots: ScreenSlots, reply_limit: int, screens_dir: Path, complete: bool) -> None:
        self.slots = slots
        self.reply_limit = reply_limit
        self.screens_dir = screens_dir
        self.complete = complete

    def _recorded(self, log: EpisodeLog, trajectory: Trajectory | None) -> tuple[list[plain.Plain], int]:
        """The steps of a recording, played or not, and the length that the journal itself knows (0: it does not say)."""
        recorded: Sequence[Step | None] = trajectory.steps if trajectory else ()
        said = max((record.of or 0 for record in log.steps.values()), default=0)
        length = min(MAX_STEPS, max(len(recorded), said, max(log.steps, default=-1) + 1))
        steps = []
        for index in range(length):
            step = recorded[index] if index < len(recorded) else None
            steps.append(self._step(index, log.steps.get(index), step))
        return steps, said

    def static(self, key: EpisodeKey, log: EpisodeLog, trajectory: Trajectory | None) -> plain.Plain:
        """Steps that were asked alone: the row tells how many match, and stops at none."""
        steps, _ = self._recorded(log, trajectory)
        for step in steps:
            if step["st"] == "unreached":
                step |= {"st": "not_scored", "error": {"reason": "not_played", "detail": ""}}
        row = _row(key, trajectory, steps) | {"s": sum(s["st"] == "match" for s in steps), "t": len(steps)}
        unscored = next((s for s in steps if s["st"] == "not_scored"), None)
        if unscored is not None or not steps:
            reason = unscored["error"]["reason"] if unscored else "not_played"
            return row | {"out": "not_scored", "reason": reason, "at": unscored["k"] if unscored else 0}
        failed = next((s for s in steps if s["st"] != "match"), None)
        if failed is None:
            return row | {"out": "success"}
        kind = (failed.get("gold") or {}).get("action")
        return row | plain.without_none(
            {"out": "failed", "reason": failed.get("reason"), "kind": kind, "at": failed["k"]}
        )

    def semi_online(self, key: EpisodeKey, log: EpisodeLog, trajectory: Trajectory | None) -> plain.Plain:
        steps, said = self._recorded(log, trajectory)
        length = len(steps)
        row = _row(key, trajectory, steps)
        progress = next((s["k"] for s in steps if s["st"] != "match"), length)
        row |= {"s": progress, "t": length}
        if progress == length and (trajectory is not None or said or self.complete) and length:
            return row | {"out": "success"}
        stop = steps[progress] if progress < length else None
        if stop is None or stop["st"] == "unreached":
            return row | {"out": "not_scored", "reason": "not_played", "at": progress}
        failed = stop["st"] in ("mismatch", "parse")
        kind = (stop.get("gold") or {}).get("action")
        return row | plain.without_none(
            {
                "out": "failed" if failed else "not_scored",
                "reason": stop.get("reason") or (stop.get("error") or {}).get("reason"),
                "kind": kind,
                "pred": "parse_failure" if stop["st"] == "parse" else (stop.get("pred") or {}).get("action"),
                "at": progress,
            }
        )

    def online(self, key: EpisodeKey, log: EpisodeLog, trajectory: Trajectory | None) -> plain.Plain:
        steps = [self._step(record.step, record, None) for record in log.ordered()[:MAX_STEPS]]
        row = _row(key, trajectory, steps) | {"s": len(steps), "t": len(steps)}
        end = log.end
        if end is None:
            broken = next((s for s in reversed(steps) if "error" in s), None)
            return row | {"out": "not_scored", "reason": broken["error"]["reason"] if broken else "not_played"}
        row["end"] = _end(end)
        last = steps[-1] if steps else {}
        row |= plain.without_none({"kind": (last.get("pred") or {}).get("action"), "at": last.get("k")})
        if end.outcome == "not_scored" or plain.number(end.score) is None:
            return row | {"out": "not_scored", "reason": (plain.word(end.error.reason) if end.error else None) or "?"}
        if end.score is not None and end.score >= 1:
            return row | {"out": "success"}
        return row | {"out": "failed", "reason": f"said:{plain.word(end.said) or 'nothing'}"}

    def _step(self, index: int, record: StepRecord | None, step: Step | None) -> plain.Plain:
        out: plain.Plain = {"k": index, "st": _state(record)}
        gold = step.content if step else record.gold if record else None
        out["gold"] = plain.action(gold)
        if step is not None:
            out["screen"] = self.slots.add(step.screen, reached=record is not None)
            out["instruction"] = plain.text(step.instruction)
            if step.boxes:
                out |= _boxes(step)
        elif record is not None and record.outcome == "acted":
            out["screen"] = self._own_screen(record)
        if record is not None:
            out |= self._answer(record)
        return plain.without_none(out)

    def _own_screen(self, record: StepRecord) -> int | None:
        """The current screen of an online step: the last image of its request, kept in the run folder under its hash."""
        name = record.images[-1] if record.images else ""
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            return None
        return self.slots.add(Screen.from_file(self.screens_dir / f"{name}.png"), reached=True)

    def _answer(self, record: StepRecord) -> plain.Plain:
        reply = record.reply
        out: plain.Plain = {
            "diag": record.diagnostic,
            "size": plain.size(record.screen),
            "sent": plain.size(record.sent),
            "pred": plain.action(record.action),
            "thought": plain.text(record.thought, MAX_THOUGHT),
            "notes": [plain.text(note) for note in record.notes[:MAX_NOTES]],
            "finish": plain.word(record.finish_reason),
            "endpoint": plain.word(record.endpoint),
            "model": plain.word(record.model),
            "pt": plain.number(record.prompt_tokens),
            "ct": plain.number(record.completion_tokens),
            "lat": plain.number(record.latency),
            "queued": plain.number(record.queued),
            "images": len(record.images),
            "prompt": plain.word(record.prompt_sha256),
            "attempts": _attempts(record),
            "left": max(0, len(record.attempts) - MAX_ATTEMPTS) or None,
            "at": plain.word(record.at),
        }
        if reply is not None:
            out["reply"] = reply[: self.reply_limit]
            out["cut"] = max(0, len(reply) - self.reply_limit) or None
        if record.verdict is not None:
            out["reason"] = plain.word(record.verdict.reason)
            out["tm"] = record.verdict.type_match
        for name, failure in (("parse", record.parse_failure), ("error", record.error)):
            if failure is not None:
                out[name] = {"reason": plain.word(failure.reason) or "?", "detail": plain.text(failure.detail) or ""}
        if record.outcome == "not_scored":
            out.setdefault("error", {"reason": "unknown", "detail": ""})
        return out


def _row(key: EpisodeKey, trajectory: Trajectory | None, steps: list[plain.Plain]) -> plain.Plain:
    row: plain.Plain = {"id": plain.text(key[0], 400) or "?", "rep": key[1], "steps": steps}
    if trajectory is not None:
        row["goal"] = plain.text(trajectory.goal)
        if trajectory.tags:
            row["tags"] = [[plain.word(k), plain.word(v)] for k, v in list(trajectory.tags.items())[:20]]
    return row


def _state(record: StepRecord | None) -> str:
    if record is None:
        return "unreached"
    if record.outcome == "not_scored":
        return "not_scored"
    if record.parse_failure is not None:
        return "parse"
    if record.outcome == "acted":
        return "acted"
    return "match" if record.verdict is not None and record.verdict.match else "mismatch"


def _boxes(step: Step) -> plain.Plain:
    """Candidate boxes (original pixels), the smallest first; `best` is the one that `strict` would take: the smallest that holds the gold point."""
    smallest = sorted(step.boxes, key=lambda box: box.area)
    shown = smallest[:MAX_BOXES]
    point = plain.pair(step.content.get("coordinate"))
    holding = [i for i, box in enumerate(shown) if box.area > 0 and (point is None or _holds(box, point))]
    out: plain.Plain = {"boxes": [box.as_list() for box in shown], "more": len(smallest) - len(shown) or None}
    if holding:
        out["best"] = holding[0]
    return out


def _holds(box: Box, point: Sequence[float]) -> bool:
    return box.x1 <= point[0] <= box.x2 and box.y1 <= point[1] <= box.y2


def _attempts(record: StepRecord) -> list[plain.Plain]:
    """Every try at the request, where there was more than one or it failed."""
    if len(record.attempts) < 2 and not any(a.error for a in record.attempts):
        return []
    return [
        plain.without_none(
            {
                "endpoint": plain.word(a.endpoint),
                "seconds": plain.number(a.seconds),
                "waited": plain.number(a.waited) or None,
                "error": plain.word(a.error),
                "detail": plain.text(a.detail, 400),
            }
        )
        for a in record.attempts[:MAX_ATTEMPTS]
    ]


def _end(end: EpisodeEnd) -> plain.Plain:
    fields: dict[str, Any] = {
        "score": plain.number(end.score),
        "said": plain.word(end.said),
        "answers": [plain.text(a) for a in end.answers[:MAX_NOTES] if a],
    }
    if end.error is not None:
        fields["error"] = {"reason": plain.word(end.error.reason) or "?", "detail": plain.text(end.error.detail) or ""}
    return plain.without_none(fields)
