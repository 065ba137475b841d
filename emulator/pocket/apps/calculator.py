"""Calculator: a keypad, the four operations, percent, and a history to take results from."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Literal

from emulator.pocket.app import App, Ctx
from emulator.pocket.apps.arithmetic import DIGITS, SIGNS, CalculationError, evaluate, plain, sentence, show
from emulator.pocket.widgets import (
    Button,
    Dialog,
    Empty,
    Gap,
    Group,
    Hero,
    IconButton,
    Key,
    Keypad,
    MenuItem,
    Overlay,
    Page,
    Row,
    Sheet,
)
from emulator.pocket.world import World

MAX_TOKENS = 25
MAX_HISTORY = 50
ROOM = 16
"""Characters of a calculation that fit the display; of a longer one the end is shown."""


@dataclass(slots=True)
class Entry:
    """A calculation that was made: how it was shown, and the exact result."""

    id: str
    text: str
    value: str

    @property
    def result(self) -> str:
        """The result as the display shows it."""
        return show(Decimal(self.value))


@dataclass(slots=True)
class CalculatorData:
    """The numbers and operators on the display, and past calculations (the latest first).

    `done` is set while the display shows a result, `last` is the calculation that it came from; `problem` says why there is none.
    """

    tokens: list[str] = field(default_factory=list)
    done: bool = False
    last: str = ""
    problem: str = ""
    history: list[Entry] = field(default_factory=list)

    def get(self, id: str) -> Entry:
        """The past calculation with this id. Raises `StopIteration` if there is none."""
        return next(entry for entry in self.history if entry.id == id)

    @property
    def shown(self) -> str:
        """The big line of the display."""
        text = sentence(self.tokens) if self.tokens else "0"
        return text if len(text) <= ROOM else f"…{text[-ROOM + 1 :].lstrip()}"

    @property
    def caption(self) -> str:
        """The small line: why there is no result, where a result came from, or what it would be."""
        if self.problem or self.done:
            return self.problem or self.last
        if len(self.tokens) < 3:
            return ""
        try:
            return f"= {show(evaluate(self.tokens))}"
        except CalculationError:
            return ""

    # ---- keys
    def digit(self, char: str) -> None:
        """A digit or the point: begins a number, or goes on with the last one as far as it fits."""
        self._go_on(keep=False)
        if not self.tokens or self.tokens[-1] in SIGNS:
            self.tokens.append("0")
        number = self.tokens[-1]
        if number.endswith("%") or (char == "." and "." in number):
            return
        if char != "." and sum(old.isdigit() for old in number) >= DIGITS:
            return
        if char != "." and number.removeprefix("-") == "0":
            number = number.removesuffix("0")
        self.tokens[-1] = number + char

    def operator(self, sign: str) -> None:
        """An operator; it takes the place of one that was just entered."""
        self._go_on(keep=True)
        if not self.tokens:
            self.tokens.append("0")
        if self.tokens[-1] in SIGNS:
            self.tokens.pop()
        if len(self.tokens) < MAX_TOKENS:
            self.tokens.append(sign)

    def percent(self) -> None:
        self._go_on(keep=True)
        if self.tokens and self.tokens[-1] not in SIGNS and not self.tokens[-1].endswith("%"):
            self.tokens[-1] += "%"

    def negate(self) -> None:
        """Turn the sign of the number that was entered last."""
        self._go_on(keep=True)
        if self.tokens and self.tokens[-1] not in SIGNS:
            number = self.tokens[-1]
            self.tokens[-1] = number.removeprefix("-") if number.startswith("-") else f"-{number}"

    def backspace(self) -> None:
        """Take the last character back; a result goes as a whole."""
        self._go_on(keep=False)
        if not self.tokens:
            return
        left = self.tokens.pop()[:-1]
        if left.removeprefix("-"):
            self.tokens.append(left)

    def clear(self) -> None:
        self.tokens, self.done, self.last, self.problem = [], False, "", ""

    def equals(self, id: str) -> None:
        """Work it out. A calculation (not a lone number) goes into the history under `id`."""
        if self.done or not self.tokens:
            return
        if self.tokens[-1] in SIGNS:
            self.tokens.pop()
        try:
            value = plain(evaluate(self.tokens))
        except CalculationError as error:
            self.problem = str(error)
            return
        text = sentence(self.tokens)
        if len(self.tokens) > 1 or self.tokens[0].endswith("%"):
            self.history.insert(0, Entry(id, text, value))
            del self.history[MAX_HISTORY:]
        self.tokens, self.done, self.last, self.problem = [value], True, f"{text} =", ""

    def take(self, entry: Entry) -> None:
        """Put the result of a past calculation on the display."""
        self.tokens, self.done, self.last, self.problem = [entry.value], True, f"{entry.text} =", ""

    def _go_on(self, *, keep: bool) -> None:
        """Leave the state "shows a result": go on with it, or start anew."""
        self.problem = ""
        if self.done and not keep:
            self.tokens = []
        self.done, self.last = False, ""


Calculator = Ctx[CalculatorData]

Style = Literal["plain", "tonal", "filled", "soft"]
NAMES = {"+": "plus", "-": "minus", "*": "multiply", "/": "divide"}
"""Operators as the ids and icons of their keys."""


class CalculatorApp(App[CalculatorData]):
    """Keys have the ids `key_0` .. `key_9`, `key_point`, `key_plus`, `key_equals` and so on."""

    name = "calculator"
    title = "Calculator"
    icon = "calculator"
    accent = "#3D7A52"
    aliases = ("calc",)

    def fresh(self, rng: random.Random, world: World) -> CalculatorData:
        history: list[Entry] = []
        while len(history) < 6:
            a, b, sign = rng.randint(12, 480), rng.randint(2, 60), rng.choice("+-*")
            tokens = [str(a), sign, str(b)]
            value = plain(evaluate(tokens))
            if value not in [entry.value for entry in history]:
                history.append(Entry(f"c{len(history)}", sentence(tokens), value))
        return CalculatorData(history=history)

    # ---- pages
    def page_main(self, ctx: Calculator) -> Page:
        data = ctx.data
        return Page(
            "Calculator",
            [
                *[Gap()] * 12,  # on the taller display the keypad stands further down, near the thumb
                Hero(data.shown, data.caption or " ", id="display", align="right"),
                self._keypad(ctx),
            ],
            actions=[IconButton("history", "history", "History", partial(ctx.push, "history"))],
        )

    def page_history(self, ctx: Calculator) -> Page:
        rows = [
            Row(
                f"past.{entry.id}",
                entry.text,
                value=f"= {entry.result}",
                on_tap=partial(self._take, ctx, entry.id),
                on_long=partial(ctx.open, "entry", {"entry": entry.id}),
            )
            for entry in ctx.data.history
        ]
        clear = MenuItem("menu.clear", "Clear history", partial(ctx.open, "clear"), "trash", danger=True)
        return Page(
            "History",
            [Group(rows)] if rows else [Empty("history", "No calculations yet", "What you work out is kept here.")],
            menu=[clear] if rows else [],
        )

    # ---- overlays
    def overlay_entry(self, ctx: Calculator) -> Overlay:
        entry = ctx.data.get(ctx.arg("entry"))
        return Sheet(
            entry.text,
            [
                MenuItem("sheet.take", "Use result", partial(self._take, ctx, entry.id), "undo"),
                MenuItem("sheet.delete", "Delete", partial(self._delete, ctx, entry.id), "trash", danger=True),
            ],
        )

    def overlay_clear(self, ctx: Calculator) -> Overlay:
        return Dialog(
            "Clear history?",
            f"All {len(ctx.data.history)} calculations will be gone.",
            buttons=[
                Button("clear.cancel", "Cancel", ctx.close, "tonal"),
                Button("clear.ok", "Clear", partial(self._clear, ctx), "danger"),
            ],
        )

    # ---- parts
    @staticmethod
    def _keypad(ctx: Calculator) -> Keypad:
        data = ctx.data

        def digits(chars: str, span: int) -> list[Key]:
            return [Key(f"key_{char}", char, partial(data.digit, char), span=span) for char in chars]

        def sign(char: str, span: int) -> Key:
            return Key(f"key_{NAMES[char]}", NAMES[char], partial(data.operator, char), NAMES[char], span, "tonal")

        def point(span: int) -> Key:
            return Key("key_point", ".", partial(data.digit, "."), span=span)

        def negate(span: int, style: Style) -> Key:
            return Key("key_negate", "±", data.negate, span=span, style=style)

        def equals(span: int) -> Key:
            return Key("key_equals", "equals", partial(_equals, ctx), "equals", span, "filled")

        def backspace(span: int, style: Style) -> Key:
            return Key("key_backspace", "backspace", data.backspace, "backspace", span, style, data.clear)

        def soft(span: int) -> list[Key]:
            return [
                Key("key_clear", "C", data.clear, span=span, style="soft"),
                Key("key_percent", "percent", data.percent, "percent", span, "soft"),
            ]

        clear, percent = soft(1)
        return Keypad(
            rows=[
                [clear, negate(1, "soft"), percent, sign("/", 1)],
                [*digits("789", 1), sign("*", 1)],
                [*digits("456", 1), sign("-", 1)],
                [*digits("123", 1), sign("+", 1)],
                [*digits("0", 1), point(1), backspace(1, "plain"), equals(1)],
            ],
            large=[
                [*soft(2), backspace(2, "soft")],
                digits("789", 2),
                digits("456", 2),
                digits("123", 2),
                [negate(2, "plain"), *digits("0", 2), point(2)],
                [sign("/", 2), sign("*", 2), sign("-", 2)],
                [sign("+", 2), equals(4)],
            ],
        )

    # ---- changes
    @staticmethod
    def _take(ctx: Calculator, id: str) -> None:
        ctx.data.take(ctx.data.get(id))
        ctx.pop()

    @staticmethod
    def _delete(ctx: Calculator, id: str) -> None:
        ctx.data.history.remove(ctx.data.get(id))
        ctx.toast("Deleted")

    @staticmethod
    def _clear(ctx: Calculator) -> None:
        ctx.data.history.clear()
        ctx.toast("History cleared")


def _equals(ctx: Calculator) -> None:
    ctx.data.equals(ctx.new_id("c"))
