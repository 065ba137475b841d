"""Calculator's tasks: what is nearly right is wrong, and other ways to the result are right."""

from __future__ import annotations

import pytest

from emulator.pocket.apps.arithmetic import evaluate, plain, show
from emulator.pocket.apps.calculator import Entry
from emulator.pocket.phone import Phone
from emulator.pocket.tasks import PocketSession, start
from emulator.pocket.tasks.calculator import KEYS, calculator
from sopbench.actions import Answer, Open
from tests.unit.pocket.driving import hold, tap
from tests.unit.pocket.tasks.near import both, misled


def press(phone: Phone, tokens: list[str], end: str = "=") -> None:
    """Key in a calculation from the app's first page on."""
    phone.act(Open("calculator"))
    keys = {**KEYS, "=": "key_equals"}
    for char in "".join(tokens) + end:
        tap(phone, keys.get(char, f"key_{char}"))


COMPUTING = ["calculator.compute", "calculator.compute_three", "calculator.decimals"]


@pytest.mark.parametrize("name", COMPUTING)
def test_another_number_is_no_solution(name: str) -> None:
    for session in both(name, 3):
        tokens = session.params["tokens"]
        assert misled(session, tokens=[tokens[0] + "1", *tokens[1:]]) == 0
        assert (
            misled_tokens(session, [*tokens[:-1], tokens[-1] + "0" if "." not in tokens[-1] else tokens[-1] + "5"]) == 0
        )


def misled_tokens(session: PocketSession, tokens: list[str]) -> float:
    other = start(session.template, session.seed, session.display)
    press(other.phone, tokens)
    return other.score()


@pytest.mark.parametrize("name", COMPUTING)
def test_without_equals_there_is_no_result(name: str) -> None:
    for session in both(name, 3):
        press(session.phone, session.params["tokens"], end="")
        assert session.score() == 0
        tap(session.phone, "key_equals")
        assert session.score() == 1


def test_the_numbers_may_change_places_where_the_result_stays() -> None:
    for session in both("calculator.decimals", 3):
        press(session.phone, session.params["tokens"][::-1])
        assert session.score() == 1


def test_the_result_alone_is_no_calculation() -> None:
    for session in both("calculator.compute", 3):
        value = plain(evaluate(session.params["tokens"]))
        calculator(session.phone.state).history.insert(0, Entry("c999", f"{value} + 0", value))
        assert session.score() == 0


def test_other_calculations_on_the_way_do_no_harm_but_a_deleted_one_does() -> None:
    for session in both("calculator.compute", 3):
        press(session.phone, ["1", "+", "1"])
        press(session.phone, session.params["tokens"])
        assert session.score() == 1
        calculator(session.phone.state).history.pop()
        assert session.score() == 0


def test_intermediate_results_are_not_one_calculation() -> None:
    for session in both("calculator.compute_three", 3):
        tokens = session.params["tokens"]
        press(session.phone, tokens[:3])
        press(session.phone, tokens[3:])
        assert session.score() == 0


@pytest.mark.parametrize(("offset", "score"), [(0, 1), (1, 0), (-1, 0)])
def test_percent_is_answered(offset: int, score: int) -> None:
    for session in both("calculator.percent", 4):
        value = evaluate([str(session.params["whole"]), "*", f"{session.params['part']}%"])
        assert session.score() == 0
        session.phone.act(Answer(show(value + offset)))
        assert session.score() == score


def test_the_expert_works_percent_out_before_it_answers() -> None:
    for session in both("calculator.percent", 4):
        moves = session.solve()
        answer = next(i for i, move in enumerate(moves) if isinstance(move.action, Answer))
        assert any(move.target is not None and move.target.id == "key_equals" for move in moves[:answer])


def test_another_past_result_is_no_solution() -> None:
    for session in both("calculator.reuse", 3):
        history = calculator(session.before).history
        other = next(entry.text for entry in history if entry.text != session.params["text"])
        assert misled(session, text=other) == 0


@pytest.mark.parametrize("wrong", [{"number": 41}, {"sign": "?"}])
def test_another_step_from_a_past_result_is_no_solution(wrong: dict[str, object]) -> None:
    for session in both("calculator.reuse", 3):
        if wrong == {"sign": "?"}:
            wrong = {"sign": "-" if session.params["sign"] != "-" else "+"}
        assert misled(session, **wrong) == 0


def test_another_entry_is_no_solution() -> None:
    for session in both("calculator.delete_entry", 3):
        history = calculator(session.before).history
        assert misled(session, text=next(entry.text for entry in history if entry.text != session.params["text"])) == 0


def test_two_deleted_entries_are_no_solution() -> None:
    for session in both("calculator.delete_entry", 3):
        session.solve()
        session.phone.state.finished = None
        hold(session.phone, f"past.{calculator(session.phone.state).history[0].id}")
        tap(session.phone, "sheet.delete")
        assert session.score() == 0


def test_the_history_must_be_cleared_first() -> None:
    for session in both("calculator.clear_compute", 3):
        press(session.phone, session.params["tokens"])
        assert session.score() == 0
        tap(session.phone, "history")
        for id in ("page.more", "menu.clear", "clear.ok"):
            tap(session.phone, id)
        assert session.score() == 0
        session.solve()
        assert session.score() == 1
