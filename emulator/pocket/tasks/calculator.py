"""Tasks in Calculator."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar

from emulator.pocket.apps.arithmetic import SIGNS, evaluate, plain, pretty, sentence, show
from emulator.pocket.apps.calculator import NAMES, CalculatorData, Entry
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, same_stored
from emulator.pocket.tasks.expert import Expert, Hold, hop
from emulator.pocket.tasks.matching import folded

SPOKEN = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
KEYS = {**{sign: f"key_{name}" for sign, name in NAMES.items()}, ".": "key_point", "%": "key_percent"}


def calculator(state: PhoneState) -> CalculatorData:
    found = state.apps["calculator"]
    assert isinstance(found, CalculatorData)
    return found


def entry(state: PhoneState, text: str) -> Entry:
    """The past calculation that reads like this. Raises `LookupError` if there is none."""
    for candidate in calculator(state).history:
        if candidate.text == text:
            return candidate
    raise LookupError(f"no calculation {text!r}")


def spoken(tokens: Sequence[str]) -> str:
    """A calculation in words: "48 times 12"."""
    return " ".join(SPOKEN.get(token, pretty(token)) for token in tokens)


def work_out(x: Expert, tokens: Sequence[str]) -> Plan:
    """Key in a calculation and press equals, from whatever the display shows. The first number may be a result that stands there."""
    yield from x.go("calculator")
    data = calculator(x.state)
    if data.done and data.tokens == [tokens[0]] and len(tokens) > 1:
        typed, wanted = "", "".join(tokens[1:])
    else:
        typed, wanted = "" if data.done else "".join(data.tokens), "".join(tokens)
    if typed == wanted:
        yield from x.tap("key_equals")
    elif wanted.startswith(typed):
        char = wanted[len(typed)]
        yield from x.tap(KEYS.get(char, f"key_{char}"))
    else:
        yield from x.tap("key_clear")


def made(before: PhoneState, state: PhoneState, tokens: Sequence[str]) -> float:
    """Whether this calculation is now the latest of the history; the order of its numbers is free as long as the result is right.

    What was worked out on the way may stand in the history too, and anything on the display. All else is as it was.
    """
    old, new = calculator(before), calculator(state)
    extra = len(new.history) - len(old.history)
    if extra < 1 or new.history[extra:] != old.history:
        return 0.0
    latest = new.history[0]
    right = latest.value == plain(evaluate(tokens)) and _numbers(latest.text) == _numbers(sentence(tokens))
    return float(right and _rest_as_before(before, state))


def _rest_as_before(before: PhoneState, state: PhoneState) -> bool:
    """Whether nothing but the calculator was changed."""
    kept = state.apps["calculator"]
    state.apps["calculator"] = before.apps["calculator"]
    try:
        return same_stored(before, state)
    finally:
        state.apps["calculator"] = kept


def _numbers(text: str) -> list[str]:
    return sorted(re.findall(r"[0-9.]+%?", text.replace(",", "")))


class InCalculator(Template):
    apps: ClassVar[tuple[str, ...]] = ("calculator",)


class Compute(InCalculator):
    name = "calculator.compute"
    goals = (
        "Calculate {sum}{in_app}",
        "Work out {spoken}{in_app}",
        "Find out with the keys{in_app} what {spoken} is",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        sign = rng.choice(list(SIGNS))
        a, b = rng.randint(12, 999), rng.randint(2, 60)
        return {"tokens": [str(a * b if sign == "/" else a), sign, str(b)]}

    def words(self, p: Params) -> Params:
        return {"sum": sentence(p["tokens"]), "spoken": spoken(p["tokens"])}

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        return made(before, state, p["tokens"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from work_out(x, p["tokens"])


class ComputeThree(Compute):
    name = "calculator.compute_three"
    goals = (
        "Calculate {sum}{in_app} in one go",
        "Work out {spoken}{in_app}, entered as one calculation",
        "Find out with the keys{in_app} what {spoken} is, without an equals sign in between",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        numbers = [str(rng.randint(2, 99)) for _ in range(3)]
        first, second = rng.choice("+-"), rng.choice("+-*")
        return {"tokens": [numbers[0], first, numbers[1], second, numbers[2]]}


class Decimals(Compute):
    name = "calculator.decimals"
    goals = (
        "Add {a} and {b}{in_app}",
        "Work out the sum of {a} and {b}{in_app}",
        "Calculate what {a} and {b} are together{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        a, b = (f"{rng.randint(1, 99)}.{rng.randint(1, 99):02d}".rstrip("0") for _ in range(2))
        return {"tokens": [a, "+", b]}

    def words(self, p: Params) -> Params:
        return {"a": p["tokens"][0], "b": p["tokens"][2]}


class Percent(InCalculator):
    name = "calculator.percent"
    goals = (
        "How much is {part} percent of {whole}? Work it out{in_app} and answer with the result",
        "Work out {part}% of {whole}{in_app} and tell me the result",
        "Calculate {part} percent of {whole}{in_app} and answer with what it is",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"part": rng.choice((5, 10, 12, 15, 20, 25, 30, 40, 60, 75)), "whole": rng.randint(2, 60) * 20}

    def _tokens(self, p: Params) -> list[str]:
        return [str(p["whole"]), "*", f"{p['part']}%"]

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        """The answer counts; the calculator may have been used in any way."""
        result = show(evaluate(self._tokens(p)))
        right = bool(state.answers) and folded(state.answers[-1]) in (result, result.replace(",", ""))
        return float(right and _rest_as_before(before, state))

    def plan(self, x: Expert, p: Params) -> Plan:
        tokens = self._tokens(p)
        value = plain(evaluate(tokens))
        data = calculator(x.state)
        if x.at("calculator", "main") and data.done and data.tokens == [value]:
            yield x.answer(show(Decimal(value)))
        yield from work_out(x, tokens)


class Reuse(InCalculator):
    name = "calculator.reuse"
    goals = (
        "Take the result of {text} from the history{in_app} and {verb} {number}",
        "Find the calculation {text} in the history{in_app}, use its result, and {verb} {number}",
        "Go on with the past result of {text}{in_app}: {verb} {number}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        sign = rng.choice("+-*")
        return {"text": rng.choice(calculator(state).history).text, "sign": sign, "number": rng.randint(2, 40)}

    def words(self, p: Params) -> Params:
        return p | {"verb": {"+": "add", "-": "subtract", "*": "multiply it by"}[p["sign"]]}

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        return made(before, state, [entry(before, p["text"]).value, p["sign"], str(p["number"])])

    def plan(self, x: Expert, p: Params) -> Plan:
        past = entry(x.state, p["text"])
        data = calculator(x.state)
        here = data.tokens[:1] == [past.value] and (data.done or len(data.tokens) > 1)
        if not here:
            yield from x.go("calculator", hop("history", "history"))
            yield from x.tap(f"past.{past.id}")
        yield from work_out(x, [past.value, p["sign"], str(p["number"])])


class DeleteEntry(InCalculator):
    name = "calculator.delete_entry"
    goals = (
        "Delete the calculation {text} from the history{in_app}",
        "Open the history{in_app} and remove {text} from it",
        "Press and hold {text} in the history{in_app} and delete it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"text": rng.choice(calculator(state).history).text}

    def want(self, state: PhoneState, p: Params) -> None:
        calculator(state).history.remove(entry(state, p["text"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = entry(x.state, p["text"]).id
        yield from x.go("calculator", hop("history", "history"))
        yield from x.tap(Hold(f"past.{id}"), "sheet.delete", about={"entry": id})


class ClearAndCompute(Compute):
    name = "calculator.clear_compute"
    heldout = True
    goals = (
        "Clear the history{in_app}, then calculate {sum}",
        "Empty the history{in_app} and work out {spoken} after that",
        "Delete all past calculations{in_app}; afterwards the only one should be {sum}",
    )

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        history = calculator(state).history
        if len(history) != 1 or history[0] in calculator(before).history:
            return 0.0
        right = history[0].value == plain(evaluate(p["tokens"])) and _numbers(history[0].text) == _numbers(
            sentence(p["tokens"])
        )
        return float(right and _rest_as_before(before, state))

    def plan(self, x: Expert, p: Params) -> Plan:
        if calculator(x.state).history:
            yield from x.go("calculator", hop("history", "history"))
            yield from x.tap("page.more", "menu.clear", "clear.ok")
        yield from work_out(x, p["tokens"])


TEMPLATES: tuple[type[Template], ...] = (
    Compute,
    ComputeThree,
    Decimals,
    Percent,
    Reuse,
    DeleteEntry,
    ClearAndCompute,
)
