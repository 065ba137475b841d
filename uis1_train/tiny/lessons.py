"""Recordings as rows of tokens, and what the dense losses want of each row: from the screen's own account of itself, for training only."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emulator.pocket import fonts
from uis1_train.tiny.fast import CELLS, COLUMNS, ROWS
from uis1_train.tiny.recording import CELL, Look, RecordedStep, Recording
from uis1_train.tiny.vocabulary import BEGIN, END, IMAGE, PAD, STEP, VISION, VISION_END

MOST: Final = 6
"""Words of a label, or in a cell, that are looked at."""
MOST_LETTERS: Final = 6
"""Letters in a cell that are looked at, from the left."""
LETTERS: Final = " " + "".join(chr(code) for code in range(33, 127))
"""What a letter may be; the blank also stands for all that is not ASCII, and for the end."""
ROLES: Final = (
    "none",
    "icon",
    "button",
    "row",
    "card",
    "field",
    "switch",
    "tab",
    "menuitem",
    "option",
    "day",
    "radio",
    "checkbox",
    "key",
    "bubble",
    "level",
    "bar",
)
X_PLACES: Final = 13
Y_PLACES: Final = 27


class Tongue:
    """The tokenizer with what is asked of it over and over kept."""

    def __init__(self, tok: Any) -> None:
        self.tok = tok
        number = tok.convert_tokens_to_ids
        self.pad, self.begin, self.end = number(PAD), number(BEGIN), number(END)
        self.image, self.vision, self.vision_end = number(IMAGE), number(VISION), number(VISION_END)
        self.screen = [self.vision, *[self.image] * CELLS, self.vision_end]
        self._kept: dict[str, list[int]] = {}
        words = tok.convert_ids_to_tokens(list(range(len(tok))))
        self.spaceless = [w.removeprefix("Ġ") for w in words]
        self.is_word = np.array([w.removeprefix("Ġ")[:1].isalnum() for w in words])
        self.open = {number('{"action": "' + kind + '", "coordinate": [') for kind in ("click", "long_press")}
        self.comma = number(", ")

    def __call__(self, text: str) -> list[int]:
        if text not in self._kept:
            self._kept[text] = self.tok(text, add_special_tokens=False).input_ids
        return self._kept[text]

    def prompt(self, goal: str, told: Sequence[str]) -> list[int]:
        """What `sopbench.adapters.tiny` asks, behind the chat template."""
        ids = [self.begin, *self(f" {goal}")]
        for said in told:
            ids += self("\n") + self(f" {said}")
        return [*ids, *self("\n"), *self.screen, self.end, self.begin]

    def reply(self, step: RecordedStep, *, thought: bool = True) -> list[int]:
        said = json.dumps(step.action, ensure_ascii=False)
        before = f"<think> {step.thought}</think>" if thought else ""
        return [*self(f"{before}<action>{said}</action>"), self.end]

    def label(self, text: str) -> list[int]:
        """The words of a label, without marks."""
        found = [t for t in dict.fromkeys(self(f" {text}")) if self.is_word[t]]
        return found[:MOST]


def told(step: RecordedStep, *, thought: bool = True) -> str:
    """A step of the history, as the adapter tells it."""
    return " ".join(step.thought.split())[:120] if thought else json.dumps(step.action, ensure_ascii=False)


@dataclass
class Row:
    """ids; taught: 1 where a token is learnt. Pairs (query, key) of positions: `copies` where what is said next stands, `befores` the token before.
    points: (query, cells) where the touched thing is."""

    ids: list[int]
    taught: list[int]
    screen: int
    copies: list[tuple[int, int]] = field(default_factory=list)
    befores: list[tuple[int, int]] = field(default_factory=list)
    points: list[tuple[int, tuple[int, int, int, int]]] = field(default_factory=list)
    kind: str = ""
    glances: list[int] = field(default_factory=list)
    """Positions at which a word of the label is said next, while the touched thing is to be looked at."""


def step_row(
    tongue: Tongue,
    recording: Recording,
    number: int,
    screen: int,
    seen: Look,
    rng: random.Random | None,
    forgets: float = 0.0,
) -> Row:
    """A step with its gold history. With `rng`, now and then an earlier step is told without its thought, as after a thought-free patch."""
    step = recording.steps[number]
    past = recording.steps[:number]
    said = [told(s, thought=rng is None or rng.random() >= forgets) for s in past]
    prompt, reply = tongue.prompt(recording.goal, said), tongue.reply(step)
    row = Row([*prompt, *reply], [0] * len(prompt) + [1] * len(reply), screen, kind=step.action["action"])
    source = prompt[: prompt.index(tongue.vision)]
    row.befores = [(i, i - 1) for i in range(1, len(source))]
    _copies(tongue, row, source, len(prompt))
    if step.box:
        _points(tongue, row, len(prompt), step.box)
        row.glances = list(range(len(prompt), len(prompt) + len(tongue(f" {step.thought}"))))
    if step.action["action"] == "answer":
        _read(tongue, row, len(prompt), str(step.action["text"]), seen)
    elif " · " in step.thought:
        _read(tongue, row, len(prompt), step.thought.split(" · ")[1], seen)
    return row


def _read(tongue: Tongue, row: Row, begin: int, text: str, seen: Look) -> None:
    """Where on the screen each token of `text` is read, if its words stand there one after the other."""
    words = sorted(seen.words, key=lambda w: ((w[2] + w[4]) // 2 // CELL, w[1]))
    wanted = text.split(" ")
    plain = [w[0].strip(".,!?") for w in words]
    bare = [w.strip(".,!?") for w in wanted]
    starts = [i for i in range(len(words) - len(wanted) + 1) if plain[i : i + len(wanted)] == bare]
    if not starts:
        return
    spelt = tongue(text)
    at = next(
        (i for i in range(begin, len(row.ids) - len(spelt)) if row.ids[i + 1 : i + len(spelt)] == spelt[1:]), None
    )
    if at is None:
        return
    word, letters = 0, 0
    for offset, token in enumerate(spelt):
        piece = tongue.tok.decode([token])
        _, x1, y1, x2, y2 = words[starts[0] + min(word, len(wanted) - 1)]
        line = (y1 + y2) // 2 // CELL
        box = (x1 // CELL * CELL, line * CELL, (x2 - 1) // CELL * CELL + CELL, line * CELL + CELL)
        row.points.append((at + offset - 1, box))
        letters += len(piece.strip())
        while word < len(wanted) and letters >= len(wanted[word]):
            letters -= len(wanted[word])
            word += 1


def _copies(tongue: Tongue, row: Row, source: list[int], begin: int) -> None:
    """Where the goal or the history has the words that are said: each run of words of the reply as a whole if it is there, else word by word."""
    plain = [tongue.spaceless[t] for t in source]
    run: list[int] = []
    for at in range(begin, len(row.ids) + 1):
        token = row.ids[at] if at < len(row.ids) else tongue.end
        fixed = at >= len(row.ids) or tongue.spaceless[token].startswith(("<", "{", '"}', "]}", "}"))
        if not fixed:
            run.append(at)
            continue
        if run:
            row.copies += _found([tongue.spaceless[row.ids[i]] for i in run], run, plain)
        run = []


def _found(words: list[str], run: list[int], plain: list[str]) -> list[tuple[int, int]]:
    words_at = [(w, i) for w, i in zip(words, run, strict=True) if w]
    if words_at and words_at[0][0] in ("hold", "type"):
        words_at = words_at[1:]
    only = [w for w, _ in words_at]
    if not only:
        return []
    for start in range(len(plain) - len(only) + 1):
        if plain[start : start + len(only)] == only:
            return [(i - 1, start + k) for k, (_, i) in enumerate(words_at)]
    return [(i - 1, plain.index(w)) for w, i in words_at if len(w) > 2 and plain.count(w) == 1]


def _points(tongue: Tongue, row: Row, begin: int, box: tuple[int, int, int, int]) -> None:
    for at in range(begin, len(row.ids) - 3):
        if row.ids[at] in tongue.open:
            row.points += [(at, box), (at + 2, box)]


def grounding_row(tongue: Tongue, seen: Look, screen: int, rng: random.Random, most: int = 6) -> Row | None:
    """Find these things: labels are given, where they are is to be learnt; in the words of a reply."""
    if not seen.elements:
        return None
    chosen = rng.sample(seen.elements, min(most, len(seen.elements)))
    ids = [tongue.begin, *tongue(" Find"), *tongue("\n"), *tongue.screen, tongue.end, tongue.begin]
    row = Row(ids, [0] * len(ids), screen, kind="find")
    for element in chosen:
        x, y = (element.box[0] + element.box[2]) // 2, (element.box[1] + element.box[3]) // 2
        said = tongue(
            f'<think> {element.label}</think><action>{{"action": "click", "coordinate": [{x}, {y}]}}</action>'
        )
        at = len(row.ids)
        row.ids += said
        row.taught += [0] * len(said)
        for place in range(at, len(row.ids)):
            if row.ids[place] in tongue.open:
                row.points += [(place, element.box), (place + 2, element.box)]
                row.taught[place + 1] = row.taught[place + 3] = 1
                break
    return row


def cells_of(box: tuple[int, int, int, int]) -> NDArray[np.bool_]:
    """Which of the 78 cells have their middle in the box."""
    middle_x = np.arange(COLUMNS) * CELL + CELL / 2
    middle_y = np.arange(ROWS) * CELL + CELL / 2
    inside = ((middle_y >= box[1]) & (middle_y < box[3]))[:, None] & ((middle_x >= box[0]) & (middle_x < box[2]))[None]
    return inside.reshape(-1)


@dataclass
class Targets:
    """What each cell of each screen holds. Arrays [screens, 78(, 6)], -1 where there is nothing: tokens of labels and of words, places, roles, on, letters."""

    labels: NDArray[np.int16]
    words: NDArray[np.int16]
    x: NDArray[np.int16]
    y: NDArray[np.int16]
    role: NDArray[np.int16]
    on: NDArray[np.int16]
    letters: NDArray[np.int8]


def targets(tongue: Tongue, looks: Sequence[Look]) -> Targets:
    n = len(looks)
    labels = np.full((n, CELLS, MOST), -1, np.int16)
    words = np.full((n, CELLS, MOST), -1, np.int16)
    x, y, on = (np.full((n, CELLS), -1, np.int16) for _ in range(3))
    role = np.zeros((n, CELLS), np.int16)
    letters = np.full((n, CELLS, MOST_LETTERS), -1, np.int8)
    for i, seen in enumerate(looks):
        for element in sorted(seen.elements, key=lambda e: -(e.box[2] - e.box[0]) * (e.box[3] - e.box[1])):
            inside = cells_of(element.box)
            tokens = tongue.label(element.label)
            labels[i, inside] = [*tokens, *[-1] * (MOST - len(tokens))]
            x[i, inside] = min(X_PLACES - 1, round((element.box[0] + element.box[2]) / 2 / STEP))
            y[i, inside] = min(Y_PLACES - 1, round((element.box[1] + element.box[3]) / 2 / STEP))
            role[i, inside] = ROLES.index(element.role) if element.role in ROLES else 2
            on[i, inside] = int(element.on)
        _letters(seen, letters[i])
        held = [0] * CELLS
        for word, x1, y1, x2, y2 in seen.words:
            tokens = [t for t in tongue(f" {word}") if tongue.is_word[t]][:2]
            line = int((y1 + y2) / 2 // CELL)
            if not 0 <= line < ROWS:
                continue
            for column in range(max(0, x1 // CELL), min(COLUMNS - 1, (x2 - 1) // CELL) + 1):
                shared = min(x2, (column + 1) * CELL) - max(x1, column * CELL)
                if shared < 0.3 * min(CELL, x2 - x1):
                    continue
                cell = line * COLUMNS + column
                for token in tokens:
                    if held[cell] < MOST:
                        words[i, cell, held[cell]] = token
                        held[cell] += 1
    return Targets(labels, words, x, y, role, on, letters)


def _letters(seen: Look, out: NDArray[np.int8]) -> None:
    """Each letter belongs to the cell in which its middle is; behind a cell's last letter stands a blank."""
    found: dict[int, list[tuple[float, int]]] = {}
    for word, x1, y1, x2, y2 in seen.words:
        line = int((y1 + y2) / 2 // CELL)
        if not 0 <= line < ROWS:
            continue
        edges = _edges(word, (y2 - y1) * 4 // 5)
        stretch = (x2 - x1) / max(1, edges[-1])
        for letter, left, right in zip(word, edges, edges[1:], strict=False):
            middle = x1 + (left + right) / 2 * stretch
            column = int(middle // CELL)
            if 0 <= column < COLUMNS:
                found.setdefault(line * COLUMNS + column, []).append((middle, max(0, LETTERS.find(letter))))
    for cell, row in found.items():
        said = [letter for _, letter in sorted(row)][:MOST_LETTERS]
        out[cell, : len(said)] = said
        if len(said) < MOST_LETTERS:
            out[cell, len(said)] = 0


@lru_cache(maxsize=32768)
def _edges(word: str, size: int) -> tuple[int, ...]:
    return tuple(fonts.width(word[:end], size) if end else 0 for end in range(len(word) + 1))


def save_targets(file: Path, wanted: Targets) -> None:
    part = file.with_name("part." + file.name)
    np.savez(part, **vars(wanted))
    part.rename(file)


def load_targets(file: Path) -> Targets:
    with np.load(file) as stored:
        return Targets(**{name: stored[name] for name in stored.files})
