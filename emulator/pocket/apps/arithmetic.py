"""The calculator's arithmetic: numbers and operators in, a decimal out.

Decimals of 34 digits (as IEEE 754 decimal128 has), so 0.1 + 0.2 is 0.3 and a third times three shows as 1. Text is never run as code.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow

SIGNS = {"+": "+", "-": "-", "*": "×", "/": "÷"}
"""Operators, and how they are shown."""
DIGITS = 12
"""Digits of a number that is typed, and significant digits of one that is shown."""
PLACES = 10
"""Digits behind the point that are shown at most."""
EXACT = Context(prec=34, Emax=999, Emin=-999, traps=[DivisionByZero, InvalidOperation, Overflow])
SHOWN = Context(prec=DIGITS, Emax=1000, Emin=-1000)


class CalculationError(Exception):
    """A calculation without a result; the text is what the display says."""


def evaluate(tokens: Sequence[str]) -> Decimal:
    """The value of numbers and operators in turn, such as `["12", "+", "5", "*", "2"]`; * and / bind closer than + and -.

    A number may end in `%`: alone after + or - it is a part of what stands before it (200 + 10% is 220), else hundredths.
    An operator at the end is left out. Raises `CalculationError` for a division by zero and for results of a thousand digits.
    """
    parts = list(tokens[:-1]) if tokens and tokens[-1] in SIGNS else list(tokens)
    total = Decimal(0)
    try:
        for i, (sign, term) in enumerate(_terms(parts)):
            value = _product(term)
            if i and len(term) == 1 and term[0].endswith("%"):
                value = EXACT.multiply(total, value)
            total = EXACT.add(total, value) if sign == "+" else EXACT.subtract(total, value)
    except (DivisionByZero, InvalidOperation):  # 0 / 0 is an invalid operation
        raise CalculationError("Can't divide by 0") from None
    except Overflow:
        raise CalculationError("Too large") from None
    return total


def _terms(parts: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The summands with their signs; each is a list of numbers with * and / between them."""
    terms: list[tuple[str, list[str]]] = [("+", [])]
    for part in parts:
        if part in ("+", "-"):
            terms.append((part, []))
        else:
            terms[-1][1].append(part)
    return [term for term in terms if term[1]]


def _product(term: Sequence[str]) -> Decimal:
    value = _number(term[0])
    for operator, token in zip(term[1::2], term[2::2], strict=True):
        other = _number(token)
        value = EXACT.multiply(value, other) if operator == "*" else EXACT.divide(value, other)
    return value


def _number(token: str) -> Decimal:
    value = EXACT.create_decimal(token.removesuffix("%"))
    return EXACT.divide(value, Decimal(100)) if token.endswith("%") else value


def plain(value: Decimal) -> str:
    """All digits of a value, as a token that `evaluate` reads again."""
    return str(value.normalize(EXACT)) if value else "0"


def show(value: Decimal) -> str:
    """A value as the display shows it: 12 significant digits, 10 behind the point, thousands set apart; 1.5E+15 if it is huge."""
    rounded = SHOWN.plus(value)
    if not rounded:
        return "0"
    if not -PLACES + 4 <= rounded.adjusted() < DIGITS:
        return f"{rounded.normalize():E}"
    places = Decimal(1).scaleb(-PLACES)
    if rounded.as_tuple().exponent < -PLACES:  # type: ignore[operator]  # only NaN and infinity have no number there
        rounded = rounded.quantize(places, context=SHOWN)
    return pretty(f"{rounded.normalize():f}")


def pretty(token: str) -> str:
    """A token as it is shown: an operator's sign, or a number with its thousands set apart, digits as they were typed."""
    if token in SIGNS:
        return SIGNS[token]
    number = token.removesuffix("%")
    if "E" in number or sum(char.isdigit() for char in number) > DIGITS:
        return show(Decimal(number)) + token[len(number) :]
    sign = "-" if number.startswith("-") else ""
    whole, point, rest = number.removeprefix("-").partition(".")
    return f"{sign}{int(whole):,}{point}{rest}{token[len(number) :]}"


def sentence(tokens: Sequence[str]) -> str:
    """A calculation as it is shown, such as "1,200 × 3"."""
    return " ".join(pretty(token) for token in tokens)
