"""Shop's tasks: what is nearly right is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.pocket.apps.shop_data import Line
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks import PocketSession, TaskError
from emulator.pocket.tasks.shop import free_products, product, shop
from sopbench.actions import Answer
from tests.unit.pocket.tasks.doing import score_of_wanted
from tests.unit.pocket.tasks.near import both, misled


def another(session: PocketSession) -> str:
    """A product that could be meant and is not."""
    sized = bool(product(session.before, session.params["product"]).sizes)
    found = [name for name in free_products(session.before, sized) if name not in session.params.values()]
    return found[0]


@pytest.mark.parametrize("name", ["shop.add", "shop.add_size", "shop.search_add", "shop.save"])
def test_another_product_is_no_solution(name: str) -> None:
    for session in both(name, 3):
        assert misled(session, product=another(session)) == 0


@pytest.mark.parametrize("name", ["shop.add", "shop.add_size", "shop.search_add", "shop.extreme", "shop.saved_to_cart"])
def test_another_quantity_is_no_solution(name: str) -> None:
    for session in both(name, 3):
        assert misled(session, count=session.params["count"] + 1) == 0


def test_another_size_is_no_solution() -> None:
    for session in both("shop.add_size", 3):
        assert misled(session, size="S" if session.params["size"] != "S" else "L") == 0


def test_the_cheapest_is_not_the_most_expensive() -> None:
    for seed in range(4):
        for session in both("shop.extreme", seed):
            extreme = "cheapest" if session.params["extreme"] != "cheapest" else "most expensive"
            shop(session.phone.state).cart.clear()
            shop(session.before).cart.clear()
            assert misled(session, extreme=extreme) == 0


def test_another_category_is_no_solution() -> None:
    for session in both("shop.extreme", 6):
        shop(session.phone.state).cart.clear()
        shop(session.before).cart.clear()
        assert misled(session, category="home" if session.params["category"] != "home" else "tech") == 0


def test_another_quantity_in_the_cart_is_no_solution() -> None:
    for session in both("shop.change_count", 3):
        line = shop(session.before).line(product(session.before, session.params["product"]).id)
        wrong = next(count for count in range(1, 8) if count not in (line.count, session.params["count"]))
        assert misled(session, count=wrong) == 0


def test_another_line_of_the_cart_is_no_solution() -> None:
    for session in both("shop.remove", 3):
        meant = product(session.before, session.params["product"]).id
        other = next(line for line in shop(session.before).cart if line.product != meant and not line.option)
        assert misled(session, product=shop(session.before).get(other.product).name) == 0


def test_an_emptied_cart_is_no_removed_line() -> None:
    assert score_of_wanted("shop.remove", lambda state, p: shop(state).cart.clear()) == 0


@pytest.mark.parametrize("key", ["address", "speed", "payment"])
def test_an_order_placed_otherwise_is_no_solution(key: str) -> None:
    values = {"address": ("home", "work"), "speed": ("express", "pickup"), "payment": ("cash", "voucher")}[key]
    for session in both("shop.checkout", 3):
        assert misled(session, **{key: next(value for value in values if value != session.params[key])}) == 0


def test_an_order_of_another_cart_is_no_solution() -> None:
    for session in both("shop.checkout", 3):
        shop(session.phone.state).cart[0].count += 1
        with pytest.raises(TaskError):
            session.solve()
        assert shop(session.phone.state).cart == []
        assert session.score() == 0


def test_another_order_is_not_cancelled_instead() -> None:
    for session in both("shop.cancel", 3):
        other = next(found for found in shop(session.before).orders if found.number != session.params["number"])
        for state in (session.before, session.phone.state):
            next(found for found in shop(state).orders if found.id == other.id).status = "Placed"
        assert misled(session, number=other.number) == 0


@pytest.mark.parametrize(
    ("answer", "score"),
    [("${price}", 1), ("{price}", 1), ("{price} dollars", 1), ("{more}", 0), ("${more}", 0), ("cheap", 0)],
)
def test_a_price_is_answered(answer: str, score: int) -> None:
    for session in both("shop.ask_price", 2):
        price = product(session.before, session.params["product"]).price
        session.phone.act(Answer(answer.format(price=price, more=price + 1)))
        assert session.score() == score


def test_two_things_come_in_any_order_but_not_twice() -> None:
    for session in both("shop.two_things", 2):
        first, second = (product(session.before, session.params[key]).id for key in ("first", "second"))
        cart = shop(session.phone.state).cart
        cart += [Line(second), Line(first)]
        assert session.score() == 1
        cart[-1].count = 2
        assert session.score() == 0
        cart[-1] = Line(second)
        assert session.score() == 0


def test_a_saved_thing_must_leave_the_saved_ones() -> None:
    def keep(state: PhoneState, p: dict[str, Any]) -> None:
        shop(state).saved.append(product(state, p["product"]).id)

    assert score_of_wanted("shop.saved_to_cart", keep) == 0


def save_more(state: PhoneState, p: dict[str, Any]) -> None:
    data = shop(state)
    data.saved.append(next(found.id for found in data.products if found.id not in data.saved))


def add_more(state: PhoneState, p: dict[str, Any]) -> None:
    shop(state).cart.append(Line(product(state, free_products(state, sized=True)[0]).id, 1, "S"))


def cancel_more(state: PhoneState, p: dict[str, Any]) -> None:
    shop(state).orders[-1].status = "Cancelled" if shop(state).orders[-1].status != "Cancelled" else "Placed"


@pytest.mark.parametrize("change", [save_more, add_more, cancel_more])
@pytest.mark.parametrize(
    "name",
    ["shop.add", "shop.add_size", "shop.search_add", "shop.extreme", "shop.save", "shop.unsave", "shop.change_count",
     "shop.remove", "shop.checkout", "shop.cancel", "shop.reorder", "shop.saved_to_cart", "shop.two_things"],
)  # fmt: skip
def test_something_more_is_no_solution(name: str, change: Callable[[PhoneState, dict[str, Any]], None]) -> None:
    assert score_of_wanted(name, change) == 0


def test_ordering_again_with_another_delivery_is_no_solution() -> None:
    for session in both("shop.reorder", 2):
        assert misled(session, speed="pickup" if session.params["speed"] != "pickup" else "express") == 0
