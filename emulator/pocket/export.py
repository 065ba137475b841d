"""Expert recordings: tasks played by their experts, written as SOP JSONL with their screens.

The form is the released evaluation form (`sopbench.trajectory.to_jsonl_object`), coordinates in pixels of the display. Unlike the
released recordings these end with `terminate`, as its training form does. Screens are named by the hash of their pixels, so a
screen that several steps share is stored once, and names don't depend on the compressor.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from emulator.pocket import png
from emulator.pocket.phone import Phone
from emulator.pocket.tasks import Move, PocketSession, TaskSpec, start
from sopbench.actions import Click, LongPress, Open, to_released
from sopbench.errors import UsageError
from sopbench.geometry import Box
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory, to_jsonl_object

TRAJECTORIES = "trajectories.jsonl"
SCREENS = "screens"


@dataclass
class Exported:
    """What an export wrote."""

    trajectories: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    screens: int = 0
    screen_bytes: int = 0
    jsonl_bytes: int = 0

    @property
    def steps(self) -> int:
        return sum(self.kinds.values())

    @property
    def bytes(self) -> int:
        return self.screen_bytes + self.jsonl_bytes


class ScreenStore:
    """A folder of screens named by what they show; each is written once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: set[str] = set()

    def add(self, phone: Phone) -> Path:
        """The file of the phone's present screen."""
        screen = png.index(phone.screen())
        name = f"{screen.fingerprint[:16]}.png"
        path = self.folder / name
        if name not in self.names:
            path.write_bytes(screen.png())
            self.names.add(name)
        return path


def export(specs: Iterable[TaskSpec], split: str, out: Path, *, overwrite: bool = False) -> Exported:
    """Write `out/trajectories.jsonl` and `out/screens/*.png`: the same bytes on every run.

    Raises `UsageError` if `out` is not empty (with `overwrite` only an earlier export in it is replaced), `TaskError` if an expert fails.
    """
    screens = _prepare(out, overwrite=overwrite)
    store, done = ScreenStore(screens), Exported()
    with (out / TRAJECTORIES).open("w", encoding="utf-8", newline="\n") as lines:
        for spec in specs:
            trajectory = record(start(spec.template, spec.seed, spec.display), split, store)
            names = [f"{SCREENS}/{step.screen.label}" for step in trajectory.steps]
            lines.write(json.dumps(to_jsonl_object(trajectory, names), ensure_ascii=False) + "\n")
            done.trajectories += 1
            done.kinds.update(step.kind for step in trajectory.steps)
    done.screens = len(store.names)
    done.screen_bytes = sum((screens / name).stat().st_size for name in store.names)
    done.jsonl_bytes = (out / TRAJECTORIES).stat().st_size
    return done


def record(session: PocketSession, split: str, store: ScreenStore) -> Trajectory:
    """Let the expert play the session to its end. Raises `TaskError` if it fails."""
    steps = tuple(_steps(session, store))
    template = session.template
    tags = {
        "split": split,
        "template": template.name,
        "app": template.name.partition(".")[0],
        "apps": "+".join(template.apps),
        "display": session.display,
        "seed": str(session.seed),
    }
    return Trajectory(session.id, session.goal, steps, tags=tags)


def _steps(session: PocketSession, store: ScreenStore) -> Iterator[Step]:
    phone = session.phone
    for move in session.moves():
        path = store.add(phone)
        yield Step(
            content=to_released(move.action, phone.size),
            screen=Screen.from_file(path, path.name),
            boxes=boxes(phone, move),
            instruction=move.instruction,
            thought=move.thought,
        )


def boxes(phone: Phone, move: Move) -> tuple[Box, ...]:
    """Candidate targets in pixels of the display, the smallest first: clickable nodes under the finger; for `open` the app's icon if it shows."""
    match move.action:
        case Click(point) | LongPress(point):
            x, y = point.to_pixels(phone.size)
            under = [n for n in phone.ui() if (n.clickable or n.long_clickable) and n.contains(x, y)]
            return tuple(sorted((node.box for node in under), key=lambda box: box.area))
        case Open() if move.target is not None:
            return (move.target.box,)
    return ()


def _prepare(out: Path, *, overwrite: bool) -> Path:
    """An empty folder for screens in `out`."""
    screens = out / SCREENS
    try:
        if out.exists() and not out.is_dir():
            raise UsageError(f"--out {out}: there is a file of that name; name a folder")
        if out.exists() and any(out.iterdir()):
            if not overwrite:
                raise UsageError(
                    f"--out {out}: the folder is not empty; name a new one, or say --overwrite to replace an export"
                )
            (out / TRAJECTORIES).unlink(missing_ok=True)
            for old in screens.glob("*.png"):
                old.unlink()
        screens.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}") from error
    return screens
