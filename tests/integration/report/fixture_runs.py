"""Run folders as the engine leaves them, made up: sketched phone screens, a model that errs, and replies of the worst kind.

`python tests/integration/report/fixture_runs.py OUT` writes a few and their reports, to look at while working on the page.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phone_sketch import APPS, HEIGHT, WIDTH, Sketch, sketch

from sopbench.adapters import get_adapter
from sopbench.files import write_json
from sopbench.geometry import Box
from sopbench.online.base import OnlineTask
from sopbench.runs.fingerprint import fingerprint
from sopbench.runs.folder import RunFolder, RunInfo
from sopbench.runs.records import AttemptRecord, EpisodeEnd, FailureRecord, StepRecord, VerdictRecord
from sopbench.runs.summary import summarise
from sopbench.screen import Screen
from sopbench.suites.base import Loaded
from sopbench.trajectory import Step, Trajectory

GOALS = [
    "Open {app} and show me “{item}”",
    "In the {app} app, find {item}, then go back to the start",
    "Add {item} to my favourites in {app}, and tell me when it is done",
    "Delete {item} from {app}",
    "Scroll through {app} until {item} is visible and open it",
    "Share {item} from {app} with Grace Hopper, with the words “have a look at this when you find the time”",
]

HOSTILE = {
    "markup": '<think>click it</think><action>{"action":"open","text":"<img src=x onerror=\\"window.pwned=1\\">"}</action><script>window.pwned=1</script>',
    "closing": "</script><script>window.pwned=1</script><!-- <script> --><svg/onload=window.pwned=1>",
    "bidi": "The amount is \u202e0001\u202c only \u2066hidden\u2069 \u200bzero\u200bwidth \ufeff mark, line\u2028separator",
    "terminal": "\x1b[2J\x1b[31mred\x1b[0m \x07bell \x1b]8;;http://example.invalid\x07link\x1b]8;;\x07 nul\x00 back\x08space",
    "long": "And then I would tap again. " * 3600,
    "surrogate": "lone \ud800 surrogate and \U0001f600 face",
    "empty": "",
}
"""Replies that no page should fall for; every one is longer, stranger or hungrier than it looks."""


@dataclass
class FixtureRun:
    path: Path
    trajectories: dict[str, Trajectory]


class _Maker:
    def __init__(self, folder: Path, seed: int, screens: str) -> None:
        self.rng = random.Random(seed)
        self.folder = folder
        self.screens = screens
        self.sketches: dict[tuple[str, int, str], tuple[Sketch, Screen]] = {}

    def screen(self, app: str, scroll: int, typed: str = "") -> tuple[Sketch, Screen]:
        key = (app, scroll, typed)
        if key not in self.sketches:
            made = sketch(*key)
            path = self.folder / f"{app}_{scroll}_{len(self.sketches)}.png"
            if self.screens == "files":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(made.png)
            self.sketches[key] = made, Screen.from_file(path)
        return self.sketches[key]

    def step(self, app: str, item: str, *, opening: bool) -> Step:
        rng = self.rng
        scroll = rng.randrange(7)
        made, screen = self.screen(app, scroll, item if rng.random() < 0.08 else "")
        if opening and rng.random() < 0.4:
            return Step({"action": "open", "text": app}, screen, (), f"Open the {app} app")
        kind = rng.choices(["click", "swipe", "type", "wait", "system_button", "long_press"], [60, 15, 8, 7, 5, 1])[0]
        name, box = rng.choice(made.rows)
        cx, cy = round((box.x1 + box.x2) / 2), round((box.y1 + box.y2) / 2)
        if kind in ("click", "long_press"):
            content: dict[str, Any] = {"action": kind, "coordinate": [cx - rng.randrange(120), cy]}
            if kind == "long_press":
                content["time"] = 2
            boxes = (Box(0, 128, WIDTH, 1064), box) if rng.random() < 0.4 else (box,)
            return Step(content, screen, boxes if rng.random() < 0.95 else (), f"Tap on {name}")
        if kind == "swipe":
            x, a, b = WIDTH // 2, 900, 380
            if rng.random() < 0.3:
                a, b = b, a
            return Step(
                {"action": "swipe", "coordinate": [x, a], "coordinate2": [x, b]}, screen, (), "Swipe to see more"
            )
        content = {
            "type": {"action": "type", "text": item},
            "wait": {"action": "wait", "time": 2},
            "system_button": {"action": "system_button", "button": "Back"},
        }[kind]
        return Step(content, screen, (), f"{kind.replace('_', ' ').capitalize()} to go on")

    def trajectory(self, number: int) -> Trajectory:
        rng = self.rng
        app = rng.choice(list(APPS))
        item = rng.choice(APPS[app][1])
        length = min(24, max(1, round(rng.lognormvariate(1.5, 0.6))))
        steps = tuple(self.step(app, item, opening=index == 0) for index in range(length))
        return Trajectory(
            str(1000 + number * 7), rng.choice(GOALS).format(app=app, item=item), steps, tags={"app": app}
        )


def answer(step: Step, rng: random.Random) -> tuple[dict[str, Any] | None, str | None]:
    """What a middling model does at `step`: (its action, the reason of the mismatch)."""
    gold = dict(step.content)
    kind = step.kind
    error = {
        "click": 0.16,
        "swipe": 0.2,
        "type": 0.14,
        "wait": 0.5,
        "system_button": 0.12,
        "open": 0.08,
        "long_press": 0.4,
    }[kind]
    if rng.random() > error:
        if "coordinate" in gold and kind != "swipe":
            gold["coordinate"] = [
                gold["coordinate"][0] + rng.randrange(-14, 15),
                gold["coordinate"][1] + rng.randrange(-9, 10),
            ]
        return gold, None
    if rng.random() < 0.12:
        return None, "parse:" + rng.choice(["no_json", "unknown_action", "bad_argument"])
    if kind in ("click", "long_press") and rng.random() < 0.7:
        return gold | {"coordinate": [rng.randrange(20, 520), rng.randrange(150, 1150)]}, "outside_target"
    if kind == "swipe" and rng.random() < 0.6:
        return gold | {"coordinate": gold["coordinate2"], "coordinate2": gold["coordinate"]}, "direction"
    if kind in ("type", "open") and rng.random() < 0.6:
        return gold | {"text": "something else"}, "text_differs"
    others = [
        {"action": "click", "coordinate": [rng.randrange(540), rng.randrange(1250)]},
        {"action": "wait", "time": 1},
    ]
    others.append({"action": "swipe", "coordinate": [270, 900], "coordinate2": [270, 300]})
    others.append({"action": "terminate", "status": "success"})
    other = rng.choices(others, [5, 1, 3, 1])[0]
    return (other, "wrong_type") if other["action"] != kind else (None, "parse:no_json")


def say(action: dict[str, Any] | None, step: Step | None) -> tuple[str, str | None]:
    if action is None:
        return "Sorry, I can't help with that. Let me know if there is anything else that you need.", None
    thought = f"The goal asks me to go on. {step.instruction if step else 'I look at the screen'}. The next thing to do is clear from the screen."
    return f"<think>\n{thought}\n</think>\n<action>\n{json.dumps(action)}\n</action>", thought


def semi_online_run(
    path: Path,
    *,
    n: int = 100,
    seed: int = 0,
    repeats: int = 1,
    not_scored: float = 0.0,
    pending: int = 0,
    hostile: bool = False,
    screens: str = "files",
    diagnostic: bool = False,
    error: Callable[[Step, random.Random], tuple[dict[str, Any] | None, str | None]] = answer,
) -> FixtureRun:
    """`not_scored`: share of steps that infrastructure loses; `pending`: trajectories never asked; `screens`: `files` or `missing`."""
    maker = _Maker(path.parent / (path.name + "-screens"), seed, screens)
    trajectories = {t.id: t for t in (maker.trajectory(i) for i in range(n))}
    rng = random.Random(seed + 1)
    if hostile:
        trajectories |= {t.id: t for t in hostile_trajectories(maker)}
    run = FixtureRun(path, trajectories)
    records: list[StepRecord] = []
    for position, trajectory in enumerate(trajectories.values()):
        for repeat in range(repeats):
            if position >= pending:
                records += _play(trajectory, repeat, rng, not_scored, error, diagnostic)
    info = run_info(run, repeats=repeats, seed=seed, after_mismatch="continue" if diagnostic else "stop")
    write_run(run, info, records, Loaded("5a" * 32, trajectories=list(trajectories.values())))
    return run


def hostile_trajectories(maker: _Maker) -> list[Trajectory]:
    made = []
    for name in HOSTILE:
        base = maker.trajectory(0)
        made.append(
            Trajectory(
                f"<b>{name}</b>/&\u202e",
                f"<img src=x onerror='window.pwned=1'>{name} \u202egoal\u202c",
                base.steps[:1] * 3,
            )
        )
    return made


def _play(
    trajectory: Trajectory, repeat: int, rng: random.Random, lost: float, error: Callable[..., Any], diagnostic: bool
) -> list[StepRecord]:
    records, stopped = [], False
    hostile = next((text for name, text in HOSTILE.items() if trajectory.id.startswith(f"<b>{name}</b>")), None)
    for index, step in enumerate(trajectory.steps):
        gold = dict(step.content)
        common: dict[str, Any] = {
            "episode": trajectory.id,
            "repeat": repeat,
            "step": index,
            "of": len(trajectory.steps),
            "gold": gold,
            "screen": (WIDTH, HEIGHT),
            "sent": (532, 1204),
            "images": ("0" * 64,) * min(2, index + 1),
            "prompt_sha256": "ab" * 32,
            "diagnostic": stopped,
            "at": "2025-11-29T12:00:00.000Z",
        }
        attempts = (AttemptRecord(endpoint="http://127.0.0.1:8000/v1", seconds=rng.lognormvariate(0, 0.4)),)
        if rng.random() < 0.04:
            failed = AttemptRecord(
                endpoint="http://127.0.0.1:8000/v1", seconds=0.4, error="http_503", detail="the server is <busy>"
            )
            attempts = (failed, attempts[0].model_copy(update={"waited": 1.2}))
        if lost and rng.random() < lost:
            cause = rng.choice(["deadline", "context_overflow", "connection"])
            failed = AttemptRecord(endpoint="http://127.0.0.1:8000/v1", seconds=30.0, error=cause, detail="no answer")
            failure = FailureRecord(
                reason=cause, detail="The endpoint gave no usable answer before the deadline of 300 s."
            )
            records.append(StepRecord(**common, outcome="not_scored", error=failure, attempts=(failed,) * 3))
            break
        action, reason = error(step, rng)
        reply, thought = say(action, step)
        if hostile is not None and index == 1:
            action, reason, reply, thought = None, "parse:no_json", hostile, hostile[:4000]
        records.append(
            StepRecord(
                **common,
                outcome="scored",
                reply=reply,
                thought=thought,
                action=action,
                parse_failure=FailureRecord(reason=reason[6:], detail=f"no action in {reply[:60]!r}")
                if reason and action is None
                else None,
                notes=("trailing comma removed",) if rng.random() < 0.1 else (),
                verdict=VerdictRecord(
                    type_match=bool(action) and action["action"] == gold["action"], match=reason is None, reason=reason
                ),
                finish_reason="stop",
                model="made-up-model",
                endpoint="http://127.0.0.1:8000/v1",
                prompt_tokens=rng.randrange(2800, 5600),
                completion_tokens=len(reply) // 4,
                latency=attempts[-1].seconds,
                queued=rng.random() * 0.1,
                attempts=attempts,
            )
        )
        if reason is not None:
            stopped = True
            if not diagnostic:
                break
    return records


def run_info(run: FixtureRun, **changes: Any) -> RunInfo:
    facts: dict[str, Any] = {
        "suite": "sop",
        "protocol": "semi_online",
        "data_sha256": "8525f839" + "5a" * 28,
        "ids_sha256": "c0ffee" + "1b" * 29,
        "n_trajectories": len(run.trajectories),
        "repeats": 1,
        "seed": 0,
        "profile": {"id": "uis1-boxes@1", "hash": "9f" * 32},
        "adapter": {
            "name": "uis1",
            "prompt": {"kind": "builtin", "sha256": "3d" * 32, "note": "our words for the same action space"},
        },
        "images": 2,
        "after_mismatch": "stop",
        "sampling": {"temperature": 0.0, "top_p": None, "top_k": 1, "max_tokens": 512, "seed": None, "extra_body": {}},
        "model": "made-up-model",
        "policy": {"kind": "openai"},
    }
    facts |= changes
    return RunInfo(
        id="20251129-120000-sop-made-up",
        created="2025-11-29T12:00:00Z",
        version="0.1.0",
        fingerprint=fingerprint(facts),
        facts=facts,
        settings={},
    )


def write_run(
    run: FixtureRun, info: RunInfo, records: Sequence[StepRecord | EpisodeEnd], loaded: Loaded, *, summary: bool = True
) -> None:
    run.path.mkdir(parents=True, exist_ok=True)
    write_json(run.path / "run.json", info.model_dump())
    lines = [json.dumps(record.model_dump(exclude_none=True)) + "\n" for record in records]
    (run.path / "steps.jsonl").write_text("".join(lines), encoding="ascii")
    if summary:
        logs = RunFolder(run.path).episodes()
        write_json(
            run.path / "summary.json", summarise(info, run.path, loaded, get_adapter("uis1"), logs, wall_s=412.7)
        )


def online_run(path: Path, *, n: int = 12, seed: int = 0) -> FixtureRun:
    """An online run: steps are `acted`, screens lie in the run folder, and the environment has the last word."""
    rng = random.Random(seed)
    maker = _Maker(path / "unused", seed, "none")
    trajectories = {t.id: Trajectory(t.id, t.goal, ()) for t in (maker.trajectory(i) for i in range(n))}
    run = FixtureRun(path, trajectories)
    (path / "screens").mkdir(parents=True, exist_ok=True)
    lines: list[StepRecord | EpisodeEnd] = []
    for number, episode in enumerate(trajectories):
        if number == n - 1:
            continue  # interrupted before the last task began
        steps = rng.randrange(2, 9)
        app = rng.choice(list(APPS))
        for index in range(steps):
            made, _ = maker.screen(app, rng.randrange(7))
            sha = Screen.from_bytes(made.png).sha256
            (path / "screens" / f"{sha}.png").write_bytes(made.png)
            step = maker.step(app, "x", opening=False)
            action: dict[str, Any] | None = (
                dict(step.content) if index < steps - 1 else {"action": "terminate", "status": "success"}
            )
            if rng.random() < 0.1:
                action = None
            reply, thought = say(action, None)
            failure = FailureRecord(reason="no_json", detail="no action in it") if action is None else None
            lines.append(
                StepRecord(
                    episode=episode,
                    step=index,
                    outcome="acted",
                    screen=(WIDTH, HEIGHT),
                    sent=(532, 1204),
                    images=("1" * 64, sha),
                    reply=reply,
                    thought=thought,
                    action=action,
                    parse_failure=failure,
                    model="made-up-model",
                    latency=0.8,
                    prompt_tokens=3000,
                    completion_tokens=60,
                )
            )
        broken = number == 3
        score = None if broken else float(rng.random() < 0.6)
        error = FailureRecord(reason="device_lost", detail="the emulator went away") if broken else None
        lines.append(
            EpisodeEnd(
                episode=episode,
                outcome="not_scored" if broken else "scored",
                score=score,
                steps=steps,
                said=rng.choice(["success", None]),
                error=error,
                answers=("<i>42</i>",),
            )
        )
    info = run_info(run, suite="pocket-online", protocol="online", profile=None)
    tasks = [OnlineTask(t.id, t.goal, 20) for t in trajectories.values()]
    write_run(run, info, lines, Loaded("5a" * 32, tasks=tasks))
    return run


def main() -> None:
    from sopbench.report import write_report

    out = Path(sys.argv[1])
    made = {
        "plain": semi_online_run(out / "plain", n=120),
        "hostile": semi_online_run(out / "hostile", n=20, hostile=True, not_scored=0.03, repeats=2, pending=3),
        "diagnostic": semi_online_run(out / "diagnostic", n=30, diagnostic=True),
        "missing": semi_online_run(out / "missing", n=12, screens="missing"),
        "large": semi_online_run(out / "large", n=1543),
        "online": online_run(out / "online"),
    }
    for name, run in made.items():
        print(name, write_report(run.path, trajectories=run.trajectories))


if __name__ == "__main__":
    main()
