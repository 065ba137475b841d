"""Shop: things are found, filtered, put into the cart, counted, ordered, saved and cancelled by touch, on both displays."""

from __future__ import annotations

import copy

import pytest

from emulator.pocket.apps.catalogue import BLURBS, CATEGORIES, Product
from emulator.pocket.apps.shop_data import MAX_COUNT, Line, ShopData
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.act(Open("shop"))
    return phone


def data(phone: Phone) -> ShopData:
    found = phone.state.apps["shop"]
    assert isinstance(found, ShopData)
    return found


def find(phone: Phone, id: str) -> None:
    while not has(phone, id):
        assert swipe(phone, 0, -0.2).done, f"no {id} on this page"


def shown(phone: Phone) -> list[str]:
    """Titles of the products in the list, from its beginning to its end."""
    phone.state.nav.stacks["shop"][-1].scroll = 0
    seen: list[str] = []
    while True:
        for item in phone.ui():
            if item.id.startswith("item.") and item.parent is None and item.text not in seen:
                seen.append(item.text)
        if not swipe(phone, 0, -0.2).done:
            return seen


def product(phone: Phone, category: str = "tech") -> Product:
    """Something that is neither saved nor in the cart."""
    there = {line.product for line in data(phone).cart} | set(data(phone).saved)
    return next(item for item in data(phone).listed(category, "name") if item.id not in there)


def open_product(phone: Phone, item: Product) -> None:
    find(phone, f"item.{item.id}")
    tap(phone, f"item.{item.id}")


@pytest.mark.parametrize("seed", range(6))
def test_a_new_shop_sells_some_of_each_category_at_prices_of_their_own(seed: int) -> None:
    found = data(Phone(seed=seed))
    assert {item.category for item in found.products} == set(CATEGORIES)
    assert len(found.products) == 20
    assert len({item.price for item in found.products}) == 20
    assert len({item.name for item in found.products}) == 20
    assert all(len(item.name) <= 12 and item.name in BLURBS for item in found.products)
    assert [order.status for order in found.orders] == ["On the way", "Delivered", "Delivered"]
    assert all(order.total == found.cost(order.lines) + 5 for order in found.orders)


def test_the_list_shows_every_product_the_popular_ones_first(phone: Phone) -> None:
    assert shown(phone) == [item.name for item in data(phone).listed("all", "popular")]


def test_a_filter_and_an_order_narrow_the_list(phone: Phone) -> None:
    tap(phone, "filter")
    tap(phone, "category.garden")
    tap(phone, "sort")
    tap(phone, "sort.price")
    assert (node(phone, "filter").text, node(phone, "sort").text) == ("Garden", "Price")
    garden = [item for item in data(phone).products if item.category == "garden"]
    assert shown(phone) == [item.name for item in sorted(garden, key=lambda item: item.price)]
    tap(phone, "filter")
    tap(phone, "category.all")
    tap(phone, "sort")
    tap(phone, "sort.name")
    assert shown(phone) == sorted(item.name for item in data(phone).products)


def test_search_finds_names_and_categories(phone: Phone) -> None:
    item = product(phone)
    tap(phone, "search")
    phone.act(Type(item.name.upper()))
    phone.act(SystemButton("Back"))
    assert shown(phone) == [item.name]
    assert node(phone, f"item.{item.id}.value").text == f"${item.price}"
    tap(phone, "query")
    tap(phone, "query.clear")
    phone.act(Type("garden"))
    phone.act(SystemButton("Back"))
    assert len(shown(phone)) == 4
    tap(phone, "query")
    phone.act(Type("zzz"))
    assert node(phone, "empty").text == "Nothing found"


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    open_product(phone, product(phone, "clothes"))
    tap(phone, "size.L")
    tap(phone, "count.plus")
    tap(phone, "cart")
    tap(phone, "checkout")
    tap(phone, "speed.express")
    tap(phone, "place")
    tap(phone, "place.cancel")
    for _ in range(3):
        tap(phone, "page.back")
    assert phone.foreground == ("shop", "main")
    assert phone.state.stored() == before


def test_several_of_a_size_go_into_the_cart(phone: Phone) -> None:
    item = product(phone, "clothes")
    open_product(phone, item)
    assert not node(phone, "count.minus").clickable
    tap(phone, "size.L")
    for _ in range(3):
        tap(phone, "count.plus")
    tap(phone, "count.minus")
    assert node(phone, "count.value").text == "3"
    tap(phone, "add")
    assert data(phone).cart[-1] == Line(item.id, 3, "L")


def test_the_same_thing_again_makes_no_second_line_but_another_size_does(phone: Phone) -> None:
    item = product(phone, "clothes")
    count = len(data(phone).cart)
    open_product(phone, item)
    for size in ("S", "S", "M"):
        tap(phone, f"size.{size}")
        tap(phone, "add")
    assert data(phone).cart[count:] == [Line(item.id, 2, "S"), Line(item.id, 1, "M")]


def test_a_line_holds_no_more_than_nine(phone: Phone) -> None:
    item = product(phone)
    open_product(phone, item)
    for _ in range(MAX_COUNT - 1):
        tap(phone, "count.plus")
    assert not node(phone, "count.plus").clickable
    tap(phone, "add")
    tap(phone, "add")
    assert data(phone).line(item.id).count == MAX_COUNT


def test_the_cart_shows_lines_and_their_total(phone: Phone) -> None:
    tap(phone, "cart")
    for line in data(phone).cart:
        assert node(phone, f"line.{line.key}.value").text == f"x {line.count}"
    assert node(phone, "sum.value").text == f"${data(phone).cost(data(phone).cart)}"


def test_a_line_of_the_cart_is_changed_and_removed(phone: Phone) -> None:
    line, other = data(phone).cart
    line.count = 2
    tap(phone, "cart")
    tap(phone, f"line.{line.key}")
    tap(phone, "count.plus")
    tap(phone, "count.plus")
    tap(phone, "count.minus")
    tap(phone, "line.done")
    assert line.count == 3
    tap(phone, f"line.{line.key}")
    tap(phone, "line.remove")
    assert data(phone).cart == [other]
    hold(phone, f"line.{other.key}")
    tap(phone, "remove.cancel")
    assert data(phone).cart == [other]
    hold(phone, f"line.{other.key}")
    tap(phone, "remove.ok")
    assert data(phone).cart == []
    assert node(phone, "empty").text == "Your cart is empty"


def test_the_cart_is_emptied_after_a_question(phone: Phone) -> None:
    tap(phone, "cart")
    for button in ("clear.cancel", "clear.ok"):
        assert data(phone).cart
        tap(phone, "page.more")
        tap(phone, "menu.clear")
        tap(phone, button)
    assert data(phone).cart == []


def test_an_order_is_placed_as_chosen(phone: Phone) -> None:
    lines, before = copy.deepcopy(data(phone).cart), copy.deepcopy(data(phone).orders)
    total = data(phone).cost(lines)
    tap(phone, "cart")
    tap(phone, "checkout")
    assert node(phone, "place").text == f"Order · ${total + 5}"
    for id in ("address.work", "speed.express", "payment.cash"):
        find(phone, id)
        tap(phone, id)
        assert node(phone, id).checked
    tap(phone, "place")
    assert data(phone).orders == before
    tap(phone, "place.ok")
    order = data(phone).orders[0]
    assert (order.lines, order.total, order.status) == (lines, total + 12, "Placed")
    assert (order.address, order.delivery, order.payment) == ("work", "express", "cash")
    assert order.number == before[0].number + 1
    assert data(phone).cart == []
    assert phone.foreground == ("shop", "orders")
    tap(phone, f"order.{order.id}")
    assert node(phone, "page.title").text == f"No. {order.number}"


def test_an_order_is_cancelled_after_a_question_unless_it_was_delivered(phone: Phone) -> None:
    coming, delivered, _ = data(phone).orders
    tap(phone, "page.more")
    tap(phone, "menu.orders")
    tap(phone, f"order.{coming.id}")
    for button in ("cancel.cancel", "cancel.ok"):
        assert coming.status == "On the way"
        tap(phone, "page.more")
        tap(phone, "menu.cancel")
        tap(phone, button)
    assert coming.status == "Cancelled"
    find(phone, "fact.status.value")
    assert node(phone, "fact.status.value").text == "Cancelled"
    tap(phone, "page.back")
    tap(phone, f"order.{delivered.id}")
    tap(phone, "page.more")
    assert not has(phone, "menu.cancel")


def test_an_order_can_be_made_again(phone: Phone) -> None:
    data(phone).cart.clear()
    order = data(phone).orders[1]
    tap(phone, "page.more")
    tap(phone, "menu.orders")
    tap(phone, f"order.{order.id}")
    tap(phone, "page.more")
    tap(phone, "menu.again")
    assert data(phone).cart == order.lines
    data(phone).cart[0].count = 9
    assert order.lines[0].count != 9


def test_things_are_saved_and_found_again(phone: Phone) -> None:
    item, other = product(phone), product(phone, "home")
    open_product(phone, item)
    tap(phone, "save")
    assert node(phone, "save").checked
    tap(phone, "page.back")
    phone.state.nav.stacks["shop"][-1].scroll = 0
    find(phone, f"item.{other.id}")
    hold(phone, f"item.{other.id}")
    tap(phone, "sheet.save")
    assert data(phone).saved[-2:] == [item.id, other.id]
    tap(phone, "page.more")
    tap(phone, "menu.saved")
    assert shown(phone) == [data(phone).get(id).name for id in data(phone).saved]
    find(phone, f"item.{item.id}")
    hold(phone, f"item.{item.id}")
    tap(phone, "sheet.save")
    assert item.id not in data(phone).saved


def test_a_long_press_puts_one_into_the_cart(phone: Phone) -> None:
    item = product(phone, "clothes")
    find(phone, f"item.{item.id}")
    hold(phone, f"item.{item.id}")
    tap(phone, "sheet.add")
    assert data(phone).cart[-1] == Line(item.id, 1, "M")


def test_the_cart_button_counts(phone: Phone) -> None:
    data(phone).cart.clear()
    pictures = [phone.screen().tobytes()]
    for _ in range(2):
        data(phone).add(product(phone).id, 1, "")
        pictures.append(phone.screen().tobytes())
    assert len(set(pictures)) == 3


def test_empty_lists_say_so(phone: Phone) -> None:
    data(phone).saved.clear()
    data(phone).orders.clear()
    for entry, text in (("menu.saved", "Nothing saved"), ("menu.orders", "No orders yet")):
        tap(phone, "page.more")
        tap(phone, entry)
        assert node(phone, "empty").text == text
        tap(phone, "page.back")


def test_wandering_breaks_nothing(phone: Phone) -> None:
    seen = wander(phone, "shop", seed=5, steps=300)
    assert len({page for app, page, _ in seen if app == "shop"}) >= 5
