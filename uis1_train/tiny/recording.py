"""What the tiny model learns from: PocketPhone's experts at work, with the screen's own account of itself for the dense losses.

A recording is made from the training split only (or from the split that is asked for, to measure on). Screens are scaled as the model's image processor scales
them, and stored once each.
"""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from PIL import Image

from emulator.pocket import fonts
from emulator.pocket.phone import Phone
from emulator.pocket.scene import Scene, UiNode
from emulator.pocket.tasks import Move, PocketSession, TaskError, start, words
from emulator.pocket.tasks.base import Template
from emulator.pocket.widgets import Field
from sopbench.actions import Action, Click, LongPress, Swipe, SystemButton, swipe_direction, to_released
from sopbench.geometry import Point

SMALL = (168, 364)
"""The size in which the model sees a screen of the display `large`: a third of it, 6x13 visual tokens."""
CELL = 84
"""Pixels of the screen that become one visual token, each way."""
DETOUR = 0.15
"""How often a wandering expert errs, a step."""
LONGEST = 26
"""Steps of a recording that is kept."""


@dataclass(slots=True)
class Element:
    """A thing on the screen that can be touched, in pixels of the screen."""

    label: str
    box: tuple[int, int, int, int]
    role: str
    on: bool
    holds: bool


@dataclass(slots=True)
class Look:
    """A screen as the dense losses need it: what can be touched, and each word that is legible with its box."""

    elements: list[Element]
    words: list[tuple[str, int, int, int, int]]


@dataclass(slots=True)
class RecordedStep:
    """`screen` names a `Look` and its pixels. `gold` is False for a detour, which nobody should learn. `box` is the target's, where there is one."""

    screen: str
    thought: str
    action: dict[str, Any]
    gold: bool = True
    box: tuple[int, int, int, int] | None = None


@dataclass(slots=True)
class Recording:
    id: str
    template: str
    seed: int
    goal: str
    steps: list[RecordedStep] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def pixels(phone: Phone) -> bytes:
    """The screen as the model sees it, RGB rows, compressed."""
    small = phone.screen().convert("RGB").resize(SMALL, Image.Resampling.BICUBIC)
    return zlib.compress(small.tobytes(), 1)


def look(phone: Phone) -> Look:
    scene = phone.frame().scene
    labels = labels_of(phone)
    elements = [
        Element(
            labels[n.id],
            (int(n.box.x1), int(n.box.y1), int(n.box.x2), int(n.box.y2)),
            n.role,
            bool(n.checked or n.focused),
            n.long_clickable,
        )
        for n in phone.ui()
        if n.id in labels
    ]
    return Look(elements, list(_legible(scene)))


def labels_of(phone: Phone) -> dict[str, str]:
    """What each thing that can be touched is called; where several are called alike, the row in which it stands is added."""
    nodes = {n.id: n for n in phone.ui()}
    fields: Mapping[str, Field] = phone.frame().scene.fields
    named = {n.id: _short(words.label(n, nodes, fields), n) for n in nodes.values() if n.clickable or n.long_clickable}
    counts: dict[str, int] = {}
    for name in named.values():
        counts[name] = counts.get(name, 0) + 1
    for id, name in named.items():
        if counts[name] > 1:
            beside = _beside(nodes[id], nodes)
            if beside:
                named[id] = f"{name} {beside}"
    return named


def _short(label: str, node: UiNode) -> str:
    return label.removeprefix("day ").removeprefix("level ") if node.role in ("day", "level") else label


def _beside(node: UiNode, nodes: Mapping[str, UiNode]) -> str:
    """The text of the row left of `node`, at its height."""
    middle = (node.box.y1 + node.box.y2) / 2
    for other in nodes.values():
        left = other.id != node.id and other.box.x1 < node.box.x1 and other.box.y1 <= middle < other.box.y2
        if left and other.role in ("row", "card", "text") and other.text:
            return " ".join(other.text.split())[: words.MAX_LABEL]
    return ""


def _legible(scene: Scene) -> Iterator[tuple[str, int, int, int, int]]:
    """The words drawn, but for those that something covers or darkens."""
    for number, op in enumerate(scene.ops):
        if op.method != "text" or any(later.method == "dim" for later in scene.ops[number + 1 :]):
            continue
        text, size, weight, _ = op.args
        begin = 0
        for word in text.split(" "):
            x1 = op.x + (fonts.width(text[:begin], size, weight) if begin else 0)
            x2 = op.x + fonts.width(text[: begin + len(word)], size, weight)
            begin += len(word) + 1
            y1, y2 = op.y - size, op.y + size // 4
            if word and not _covered(scene, number, (x1 + x2) // 2, (y1 + y2) // 2):
                yield word, x1, y1, x2, y2


def _covered(scene: Scene, number: int, x: int, y: int) -> bool:
    for op in scene.ops[number + 1 :]:
        if op.method == "fill":
            width, height = op.args[0]
            if op.x <= x < op.x + width and op.y <= y < op.y + height:
                return True
    return False


def thought_of(move: Move, labels: Mapping[str, str], phone: Phone) -> str:
    """The label that stands for a move: what it touches, or a word for what it does."""
    match move.action:
        case Click():
            return labels[move.target.id] if move.target else "tap"
        case LongPress():
            return "hold " + (labels[move.target.id] if move.target else "")
        case Swipe(begin, end):
            return str(swipe_direction(begin, end, phone.size))
        case SystemButton(button):
            return button
        case other:
            return other.kind


class Recorder:
    """Plays tasks and keeps each screen once. `looks` and `images` are by the hash of the pixels."""

    def __init__(self) -> None:
        self.looks: dict[str, Look] = {}
        self.images: dict[str, bytes] = {}

    def see(self, phone: Phone) -> str:
        data = pixels(phone)
        name = hashlib.sha256(data).hexdigest()[:20]
        if name not in self.images:
            self.images[name] = data
            self.looks[name] = look(phone)
        return name

    def record(self, template: str | Template, seed: int, *, wander: random.Random | None = None) -> Recording | None:
        """The expert's recording; with `wander` it goes astray now and then and finds back. None if it did not get to its end."""
        session = start(template, seed, "large")
        made = Recording(session.id, session.template.name, seed, session.goal)
        try:
            self._play(session, made, wander)
        except TaskError:
            return None
        if session.score() != 1:
            return None
        _remember(made, self.looks)
        return made

    def _play(self, session: PocketSession, made: Recording, wander: random.Random | None) -> None:
        phone = session.phone
        while (move := session.move()) is not None:
            if len(made.steps) >= LONGEST:
                raise TaskError(f"{session.id} is too long")
            if wander and wander.random() < DETOUR and (astray := self._astray(phone, wander)):
                made.steps.append(astray[1])
                phone.act(astray[0])
                continue
            labels = labels_of(phone)
            box = move.target.box if move.target and isinstance(move.action, Click | LongPress) else None
            made.steps.append(
                RecordedStep(
                    self.see(phone),
                    thought_of(move, labels, phone),
                    to_released(move.action, phone.size),
                    True,
                    (int(box.x1), int(box.y1), int(box.x2), int(box.y2)) if box else None,
                )
            )
            phone.act(move.action)

    def _astray(self, phone: Phone, rng: random.Random) -> tuple[Action, RecordedStep] | None:
        """A wrong step: some other thing is touched, or a button pressed."""
        labels = labels_of(phone)
        nodes = [n for n in phone.ui() if n.clickable and n.role != "key" and not n.id.startswith("nav.")]
        action: Action
        if not nodes or rng.random() < 0.15:
            button: Any = rng.choice(("Back", "Home"))
            action, said = SystemButton(button), button
        else:
            node = rng.choice(nodes)
            x, y = node.centre.x, node.centre.y
            action, said = Click(Point.from_pixels(round(x), round(y), phone.size)), labels[node.id]
        return action, RecordedStep(self.see(phone), said, to_released(action, phone.size), False)


def _remember(made: Recording, looks: Mapping[str, Look]) -> None:
    """What a later step needs to have read: it is added to the thought of the last step that saw it, so that the model's own history tells it."""
    goal = _bag(made.goal)
    for number, step in enumerate(made.steps):
        need = _needed(made, step)
        if not need or need <= goal:
            continue
        here = _bag(" ".join(w[0] for w in looks[step.screen].words))
        if step.action["action"] == "type" and need <= here:
            continue
        for earlier in reversed(made.steps[:number]):
            if " · " in earlier.thought:
                break
            line = _line_with(need, looks[earlier.screen])
            if line and earlier.gold:
                earlier.thought += f" · {line}"
                break


def _needed(made: Recording, step: RecordedStep) -> set[str]:
    if step.action["action"] == "type":
        return _bag(step.action["text"])
    if made.template.startswith("cross.") and step.action["action"] == "click":
        return {w for w in _bag(step.thought) if w.isdigit()}
    return set()


def _line_with(need: set[str], seen: Look) -> str:
    """The lines of the screen that hold the words, as one text; empty if they are not there."""
    rows: dict[int, list[tuple[int, str]]] = {}
    for word, x1, y1, _, y2 in seen.words:
        if y1 > CELL and y2 < 1008:
            rows.setdefault((y1 + y2) // 2 // CELL, []).append((x1, word))
    lines = {row: " ".join(word for _, word in sorted(found)) for row, found in rows.items()}
    for row in sorted(lines):
        if need <= _bag(lines[row]):
            return lines[row]
    for row in sorted(lines):
        both = lines[row] + " " + lines.get(row + 1, "")
        if need <= _bag(both):
            return both
        three = both + " " + lines.get(row + 2, "")
        if need <= _bag(three):
            return three
    return ""


def _bag(text: str) -> set[str]:
    return {w for w in "".join(c.lower() if c.isalnum() else " " for c in text).split() if w}
