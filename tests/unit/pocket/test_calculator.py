"""Calculator: exact results from any row of keys, and a history to take them from, on both displays."""

from __future__ import annotations

import copy
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.pocket.apps.arithmetic import CalculationError, evaluate, plain, pretty, sentence, show
from emulator.pocket.apps.calculator import MAX_HISTORY, MAX_TOKENS, CalculatorData
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")
KEYS = {".": "point", "+": "plus", "-": "minus", "*": "multiply", "/": "divide", "=": "equals", "%": "percent", "~": "negate", "<": "backspace", "C": "clear"}  # fmt: skip


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.act(Open("calculator"))
    return phone


def data(phone: Phone) -> CalculatorData:
    found = phone.state.apps["calculator"]
    assert isinstance(found, CalculatorData)
    return found


def press(phone: Phone, keys: str) -> str:
    """Touch one key after the other; returns what the display shows then."""
    for key in keys.replace(" ", ""):
        tap(phone, f"key_{KEYS.get(key, key)}")
    return node(phone, "display").text


@pytest.mark.parametrize(
    ("keys", "display"),
    [
        ("12+8=", "20"),
        ("1200*3.5=", "4,200"),
        ("2+3*4=", "14"),
        ("20-6/4=", "18.5"),
        (".1+.2=", "0.3"),
        ("1/3=", "0.3333333333"),
        ("1/3= *3=", "1"),
        ("200+10%=", "220"),
        ("200-10%=", "180"),
        ("200*10%=", "20"),
        ("50%=", "0.5"),
        ("7-9=", "-2"),
        ("5~*3=", "-15"),
        ("5~~=", "5"),
        ("12+=", "12"),
        ("12+-3=", "9"),
        ("+5=", "5"),
        ("007=", "7"),
        ("1.2.3=", "1.23"),
        ("12<3=", "13"),
        ("12+<<=", "1"),
        ("5+5= 3+1=", "4"),
        ("5+5= +1=", "11"),
        ("5+5= <", "0"),
        ("99C", "0"),
        ("999999999999+1=", "1E+12"),
        ("12345678901234", "123,456,789,012"),
        ("5%3=", "0.05"),
        ("0-0=", "0"),
    ],
)
def test_keys_give_results(phone: Phone, keys: str, display: str) -> None:
    assert press(phone, keys) == display


def test_the_small_line_tells_what_it_would_be_and_where_it_came_from(phone: Phone) -> None:
    press(phone, "12+8")
    assert node(phone, "display.caption").text == "= 20"
    press(phone, "=")
    assert node(phone, "display.caption").text == "12 + 8 ="


def test_there_is_no_division_by_zero(phone: Phone) -> None:
    before = copy.deepcopy(data(phone).history)
    press(phone, "4/0=")
    assert node(phone, "display.caption").text == "Can't divide by 0"
    assert data(phone).history == before
    assert press(phone, "5=") == "0.8"


def test_a_long_press_on_backspace_clears(phone: Phone) -> None:
    press(phone, "123")
    hold(phone, "key_backspace")
    assert data(phone).tokens == []


def test_a_calculation_goes_into_the_history(phone: Phone) -> None:
    count = len(data(phone).history)
    press(phone, "48*12==")
    entry = data(phone).history[0]
    assert (len(data(phone).history), entry.text, entry.value) == (count + 1, "48 × 12", "576")
    tap(phone, "history")
    assert node(phone, f"past.{entry.id}").text == "48 × 12"
    assert node(phone, f"past.{entry.id}.value").text == "= 576"


def test_a_lone_number_is_no_calculation(phone: Phone) -> None:
    before = copy.deepcopy(data(phone).history)
    press(phone, "48=")
    assert data(phone).history == before


@pytest.mark.parametrize("way", ["tap", "hold"])
def test_a_past_result_is_used_again(phone: Phone, way: str) -> None:
    entry = data(phone).history[3]
    tap(phone, "history")
    if way == "tap":
        tap(phone, f"past.{entry.id}")
    else:
        hold(phone, f"past.{entry.id}")
        tap(phone, "sheet.take")
    assert phone.foreground == ("calculator", "main")
    assert node(phone, "display").text == entry.result
    press(phone, "*2=")
    assert Decimal(data(phone).history[0].value) == 2 * Decimal(entry.value)


def test_an_entry_is_deleted(phone: Phone) -> None:
    entry = data(phone).history[2]
    tap(phone, "history")
    hold(phone, f"past.{entry.id}")
    tap(phone, "sheet.delete")
    assert entry not in data(phone).history
    assert len(data(phone).history) == 5


def test_the_history_is_cleared_after_a_question(phone: Phone) -> None:
    tap(phone, "history")
    for button in ("clear.cancel", "clear.ok"):
        assert data(phone).history
        tap(phone, "page.more")
        tap(phone, "menu.clear")
        tap(phone, button)
    assert data(phone).history == []
    assert node(phone, "empty").text == "No calculations yet"
    assert not has(phone, "page.more")


def test_history_and_calculations_are_bounded() -> None:
    found = CalculatorData()
    for i in range(MAX_HISTORY + 5):
        for key in ("1", "2"):
            found.digit(key)
        found.operator("+")
        found.digit(str(i % 10))
        found.equals(f"c{i}")
    assert len(found.history) == MAX_HISTORY
    assert found.history[0].id == f"c{MAX_HISTORY + 4}"
    for _ in range(MAX_TOKENS * 3):
        found.digit("7")
        found.operator("*")
    assert len(found.tokens) <= MAX_TOKENS


def test_squaring_for_ever_ends_in_words(phone: Phone) -> None:
    found = data(phone)
    press(phone, "99")
    for _ in range(12):
        found.tokens = [found.tokens[0], "*", found.tokens[0]]
        found.done = False
        press(phone, "=")
        if found.problem:
            break
    assert found.problem == "Too large"
    assert phone.png()


NUMBERS = st.integers(0, 10**12 - 1).map(str) | st.decimals(0, 10**6, places=3).map(str)


@given(NUMBERS, st.lists(st.tuples(st.sampled_from("+-*/"), NUMBERS), max_size=6))
def test_results_are_those_of_fractions(first: str, rest: list[tuple[str, str]]) -> None:
    tokens = [first, *(part for pair in rest for part in pair)]
    try:
        value = evaluate(tokens)
    except CalculationError:
        assert any(sign == "/" and Decimal(number) == 0 for sign, number in rest)
        return
    groups: list[Fraction] = [Fraction(first)]
    for sign, number in rest:
        if sign in "+-":
            groups.append(Fraction(number) * (1 if sign == "+" else -1))
        else:
            groups[-1] = groups[-1] * Fraction(number) if sign == "*" else groups[-1] / Fraction(number)
    exact, size = sum(groups, Fraction(0)), sum((abs(group) for group in groups), Fraction(0))
    assert abs(Fraction(value) - exact) <= size * Fraction(1, 10**31)
    assert Fraction(evaluate([plain(value)])) == Fraction(value)


@given(st.lists(st.sampled_from("0123456789.+-*/%~<C="), max_size=60))
def test_no_keys_break_it(keys: list[str]) -> None:
    found = CalculatorData()
    actions = {"%": found.percent, "~": found.negate, "<": found.backspace, "C": found.clear}
    for i, key in enumerate(keys):
        if key in "+-*/":
            found.operator(key)
        elif key == "=":
            found.equals(f"c{i}")
        elif key in actions:
            actions[key]()
        else:
            found.digit(key)
        assert found.shown
        assert len(found.shown) <= 17
        assert len(found.caption) < 600


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1234567.5", "1,234,567.5"),
        ("-1234", "-1,234"),
        ("0.00005", "0.00005"),
        ("0.0000000001", "1E-10"),
        ("123456789012.4", "123,456,789,012"),
        ("2E+20", "2E+20"),
        ("100", "100"),
        ("-0", "0"),
        ("0.1234567890123", "0.123456789"),
    ],
)
def test_numbers_are_shown_as_people_read_them(value: str, text: str) -> None:
    assert show(Decimal(value)) == text


def test_digits_are_shown_as_they_were_typed() -> None:
    assert [pretty(token) for token in ("1200.", "0.10", "-5%", "*", "/")] == ["1,200.", "0.10", "-5%", "×", "÷"]
    assert sentence(["1200", "*", "3"]) == "1,200 × 3"


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    press(phone, "=%~<")
    tap(phone, "history")
    hold(phone, f"past.{data(phone).history[0].id}")
    tap(phone, "nav.back")
    tap(phone, "nav.back")
    assert phone.state.stored() == before


def test_wandering_breaks_nothing(phone: Phone) -> None:
    assert len(wander(phone, "calculator", seed=9, steps=300)) >= 3
