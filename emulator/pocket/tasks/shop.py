"""Tasks in Shop."""

from __future__ import annotations

import random
from typing import ClassVar

from emulator.pocket.apps.catalogue import CATEGORIES, SIZES, Product
from emulator.pocket.apps.shop_data import PAYMENTS, SPEEDS, Line, Order, ShopData
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered, same_stored
from emulator.pocket.tasks.expert import Expert, Hold, hop
from emulator.pocket.tasks.matching import ANY


def shop(state: PhoneState) -> ShopData:
    found = state.apps["shop"]
    assert isinstance(found, ShopData)
    return found


def product(state: PhoneState, name: str) -> Product:
    """The product with this name. Raises `LookupError` if there is none."""
    for candidate in shop(state).products:
        if candidate.name == name:
            return candidate
    raise LookupError(f"no product {name!r}")


def order(state: PhoneState, number: int) -> Order:
    """The order with this number. Raises `LookupError` if there is none."""
    for candidate in shop(state).orders:
        if candidate.number == number:
            return candidate
    raise LookupError(f"no order {number}")


def free_products(state: PhoneState, sized: bool) -> list[str]:
    """Names of products that are neither in the cart nor saved; with sizes or without."""
    data = shop(state)
    taken = {line.product for line in data.cart} | set(data.saved)
    return [item.name for item in data.products if item.id not in taken and bool(item.sizes) == sized]


def put_into_cart(x: Expert, id: str, count: int, size: str = "") -> Plan:
    """Have `count` pieces of a product in the cart; from its page if it is in front, else as `hops` of the caller lead there."""
    line = Line(id, count, size)
    there = [found for found in shop(x.state).cart if found.key == line.key]
    if there:
        yield from set_count(x, line.key, count)
        return
    if size and x.fields.get("option", "M") != size:
        yield from x.tap(f"size.{size}")
    shown = int(x.fields.get("count", "1"))
    if shown != count:
        yield from x.tap("count.plus" if shown < count else "count.minus")
    yield from x.tap("add")


def set_count(x: Expert, key: str, count: int) -> Plan:
    """Have so many pieces in a line of the cart."""
    line = next(found for found in shop(x.state).cart if found.key == key)
    if line.count != count:
        yield from x.go("shop", hop("cart", "cart"))
        button = "count.plus" if line.count < count else "count.minus"
        yield from x.tap(f"line.{key}", button, about={"line": key})


def in_cart(state: PhoneState, id: str) -> bool:
    return any(line.product == id for line in shop(state).cart)


class InShop(Template):
    apps: ClassVar[tuple[str, ...]] = ("shop",)


class Add(InShop):
    name = "shop.add"
    goals = (
        "Put {count} of the product {product} into the cart{in_app}",
        "Add {product} to the cart{in_app}, quantity {count}",
        "Open the page of {product}{in_app}, choose quantity {count} and add it to the cart",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice(free_products(state, sized=False)), "count": rng.randint(1, 4)}

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).cart.append(Line(product(state, p["product"]).id, p["count"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        if not in_cart(x.state, id):
            yield from x.go("shop", hop("product", f"item.{id}", product=id))
        yield from put_into_cart(x, id, p["count"])


class AddSize(InShop):
    name = "shop.add_size"
    goals = (
        "Put {product} in size {size} into the cart{in_app}, quantity {count}",
        "Add {count} of {product} to the cart{in_app}, size {size}",
        "Choose size {size} and quantity {count} of {product}{in_app} and add them to the cart",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        size = rng.choice(SIZES)
        return {"product": rng.choice(free_products(state, sized=True)), "size": size, "count": rng.randint(1, 3)}

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).cart.append(Line(product(state, p["product"]).id, p["count"], p["size"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        if not in_cart(x.state, id):
            yield from x.go("shop", hop("product", f"item.{id}", product=id))
        yield from put_into_cart(x, id, p["count"], p["size"])


class SearchAndAdd(InShop):
    name = "shop.search_add"
    goals = (
        "Search for {product}{in_app} and add {count} of it to the cart",
        "Find {product} with the search{in_app} and put it into the cart, quantity {count}",
        "Use the search{in_app} to find {product}, then add {count} to the cart",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice(free_products(state, sized=False)), "count": rng.randint(1, 3)}

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).cart.append(Line(product(state, p["product"]).id, p["count"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        if not in_cart(x.state, id):
            found = hop("product", f"item.{id}", product=id, fill={"query": p["product"]})
            yield from x.go("shop", hop("search", "search"), found)
        yield from put_into_cart(x, id, p["count"])


class Extreme(InShop):
    """Which product it is shows once the list is filtered and sorted."""

    name = "shop.extreme"
    goals = (
        "Find the {extreme} product of the category {category}{in_app} and add {count} of it to the cart",
        "Show only {category}{in_app}, sort by price, and put the {extreme} product into the cart, quantity {count}",
        "Add {count} of the {extreme} thing in the category {category}{in_app} to the cart",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        categories = [key for key in CATEGORIES if key != "clothes"]
        extreme = rng.choice(("cheapest", "most expensive"))
        return {"extreme": extreme, "category": rng.choice(categories), "count": rng.randint(1, 3)}

    def words(self, p: Params) -> Params:
        return p | {"category": CATEGORIES[p["category"]]}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        shop(state).cart = [line for line in shop(state).cart if line.product != self._chosen(state, p)]

    @staticmethod
    def _chosen(state: PhoneState, p: Params) -> str:
        return shop(state).listed(p["category"], "price")[0 if p["extreme"] == "cheapest" else -1].id

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).cart.append(Line(self._chosen(state, p), p["count"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = self._chosen(x.state, p)
        if not in_cart(x.state, id) and not x.at("shop", "product", product=id):
            yield from x.go("shop")
            if x.fields.get("category", "all") != p["category"]:
                yield from x.tap("filter", f"category.{p['category']}")
            if x.fields.get("sort", "popular") != "price":
                yield from x.tap("sort", "sort.price")
            yield from x.tap(f"item.{id}")
        yield from put_into_cart(x, id, p["count"])


class Save(InShop):
    name = "shop.save"
    goals = (
        "Save the product {product} for later{in_app}",
        "Press and hold {product} in the list{in_app} and save it",
        "Keep {product} among the saved items{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        data = shop(state)
        return {"product": rng.choice([item.name for item in data.products if item.id not in data.saved])}

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).saved.append(product(state, p["product"]).id)

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        yield from x.go("shop")
        yield from x.tap(Hold(f"item.{id}"), "sheet.save", about={"product": id})


class Unsave(InShop):
    name = "shop.unsave"
    goals = (
        "Open the saved items{in_app} and take {product} off them",
        "Remove {product} from the saved items{in_app}",
        "The product {product} need not be saved{in_app} any more: open the saved items and take it off",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice([item.name for item in shop(state).products])}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        data = shop(state)
        id = product(state, p["product"]).id
        data.saved = [*(saved for saved in data.saved if saved != id), id]
        rng.shuffle(data.saved)

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).saved.remove(product(state, p["product"]).id)

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        yield from x.go("shop", hop("saved", "page.more", "menu.saved"), hop("product", f"item.{id}", product=id))
        yield from x.tap("save")


class ChangeCount(InShop):
    name = "shop.change_count"
    goals = (
        "Change the quantity of {product} in the cart{in_app} to {count}",
        "Open the cart{in_app} and set {product} to quantity {count}",
        "There should be {count} of {product} in the cart{in_app}: change the quantity",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice(free_products(state, sized=False)), "count": rng.randint(1, 6)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        counts = [count for count in range(1, 7) if 0 < abs(count - p["count"]) <= 4]
        cart = shop(state).cart
        cart.insert(rng.randint(0, len(cart)), Line(product(state, p["product"]).id, rng.choice(counts)))

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).line(product(state, p["product"]).id).count = p["count"]

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        if not in_cart(x.state, id):
            raise LookupError(f"no {p['product']} in the cart")
        yield from set_count(x, id, p["count"])


class RemoveLine(InShop):
    name = "shop.remove"
    goals = (
        "Remove {product} from the cart{in_app}",
        "Open the cart{in_app}, press and hold {product} and remove it",
        "Take {product} out of the cart{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice(free_products(state, sized=False))}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        cart = shop(state).cart
        cart.insert(rng.randint(0, len(cart)), Line(product(state, p["product"]).id, rng.randint(1, 3)))

    def want(self, state: PhoneState, p: Params) -> None:
        cart = shop(state).cart
        cart.remove(shop(state).line(product(state, p["product"]).id))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        yield from x.go("shop", hop("cart", "cart"))
        yield from x.tap(Hold(f"line.{id}"), "remove.ok", about={"line": id})


def ordered(state: PhoneState, address: str, speed: str, payment: str) -> None:
    """What ordering the cart makes of the state."""
    data = shop(state)
    total = data.cost(data.cart) + SPEEDS[speed][1]
    data.orders.insert(0, Order(ANY, ANY, ANY, list(data.cart), total, speed, payment, address))
    data.cart.clear()


def check_out(x: Expert, choices: Params) -> Plan:
    """Order what is in the cart; `choices` are the settings of the checkout page by name."""
    yield from x.go("shop", hop("cart", "cart"), hop("checkout", "checkout"))
    defaults = {"address": "home", "speed": "standard", "payment": "card"}
    for id, chosen in choices.items():
        if x.fields.get(id, defaults[id]) != chosen:
            yield from x.tap(f"{id}.{chosen}")
    yield from x.tap("place", "place.ok")


class Checkout(InShop):
    name = "shop.checkout"
    goals = (
        "Order what is in the cart{in_app}: deliver to {address}, delivery {speed}, pay with {payment}",
        "Check out the cart{in_app} with delivery to {address}, {speed} delivery, and {payment} as payment",
        "Buy everything in the cart{in_app}, sent to {address} by {speed} delivery and paid with {payment}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {
            "address": rng.choice(("home", "work")),
            "speed": rng.choice(list(SPEEDS)),
            "payment": rng.choice(list(PAYMENTS)),
        }

    def words(self, p: Params) -> Params:
        return {"address": p["address"].title(), "speed": SPEEDS[p["speed"]][0], "payment": PAYMENTS[p["payment"]]}

    def want(self, state: PhoneState, p: Params) -> None:
        ordered(state, p["address"], p["speed"], p["payment"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from check_out(x, {key: p[key] for key in ("address", "speed", "payment")})


class CancelOrder(InShop):
    name = "shop.cancel"
    goals = (
        "Cancel the order No. {number}{in_app}",
        "Open the orders{in_app} and cancel No. {number}",
        "The order No. {number}{in_app} is not needed any more: cancel it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"number": rng.choice(shop(state).orders).number}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        order(state, p["number"]).status = rng.choice(("Placed", "On the way"))

    def want(self, state: PhoneState, p: Params) -> None:
        order(state, p["number"]).status = "Cancelled"

    def plan(self, x: Expert, p: Params) -> Plan:
        id = order(x.state, p["number"]).id
        yield from x.go("shop", hop("orders", "page.more", "menu.orders"), hop("order", f"order.{id}", order=id))
        yield from x.tap("page.more", "menu.cancel", "cancel.ok", about={"order": id})


class AskPrice(InShop):
    name = "shop.ask_price"
    goals = (
        "What does {product} cost{in_app}? Answer with the price",
        "Look up the price of {product}{in_app} and answer with it",
        "Find out{in_app} what {product} costs and tell me the price",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice([item.name for item in shop(state).products])}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        product(state, p["product"]).price += rng.randint(1, 7)

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        price = product(before, p["product"]).price
        return float(answered(before, state, f"${price}", f"{price}", f"{price} dollars", f"${price}.00"))

    def plan(self, x: Expert, p: Params) -> Plan:
        item = product(x.state, p["product"])
        if not x.visited("shop", "product", product=item.id):
            yield from x.go("shop", hop("product", f"item.{item.id}", product=item.id))
        yield x.answer(f"${item.price}")


class Reorder(InShop):
    name = "shop.reorder"
    heldout = True
    goals = (
        "Put everything of the order No. {number} into the empty cart once more{in_app} and order it with {speed} delivery",
        "Order again{in_app} what was in No. {number}, this time with {speed} delivery",
        "Use Order again on the order No. {number}{in_app}, then check out with {speed} delivery",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"number": rng.choice(shop(state).orders).number, "speed": rng.choice(list(SPEEDS))}

    def words(self, p: Params) -> Params:
        return p | {"speed": SPEEDS[p["speed"]][0]}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        shop(state).cart.clear()

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).cart = [Line(line.product, line.count, line.option) for line in order(state, p["number"]).lines]
        ordered(state, "home", p["speed"], "card")

    def plan(self, x: Expert, p: Params) -> Plan:
        found = order(x.state, p["number"])
        if not shop(x.state).cart:
            yield from x.go(
                "shop", hop("orders", "page.more", "menu.orders"), hop("order", f"order.{found.id}", order=found.id)
            )
            yield from x.tap("page.more", "menu.again", about={"order": found.id})
            return
        yield from check_out(x, {"speed": p["speed"]})


class SavedToCart(InShop):
    name = "shop.saved_to_cart"
    heldout = True
    goals = (
        "Open the saved items{in_app}, add {count} of {product} to the cart, and take it off the saved items",
        "Move {product} from the saved items{in_app} to the cart, quantity {count}: add it, then it is no longer saved",
        "Add the saved item {product} to the cart{in_app}, quantity {count}, then remove it from the saved items",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice(free_products(state, sized=False)), "count": rng.randint(1, 3)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        saved = shop(state).saved
        saved.insert(rng.randint(0, len(saved)), product(state, p["product"]).id)

    def want(self, state: PhoneState, p: Params) -> None:
        id = product(state, p["product"]).id
        shop(state).saved.remove(id)
        shop(state).cart.append(Line(id, p["count"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = product(x.state, p["product"]).id
        lines = [line for line in shop(x.state).cart if line.product == id]
        if not lines or id in shop(x.state).saved:
            yield from x.go("shop", hop("saved", "page.more", "menu.saved"), hop("product", f"item.{id}", product=id))
        if not lines:
            yield from put_into_cart(x, id, p["count"])
        if id in shop(x.state).saved:
            yield from x.tap("save")
        yield from set_count(x, id, p["count"])


class TwoThings(InShop):
    name = "shop.two_things"
    goals = (
        "Put one {first} and one {second} into the cart{in_app}",
        "Add two things to the cart{in_app}: {first} and {second}, one of each",
        "Press and hold {first} in the list{in_app} and add it to the cart; then do so with {second}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        first, second = rng.sample(free_products(state, sized=False), 2)
        return {"first": first, "second": second}

    def want(self, state: PhoneState, p: Params) -> None:
        shop(state).cart += [Line(product(state, p[key]).id) for key in ("first", "second")]

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        """Whichever of them comes first."""
        wanted = self.wanted(before, p)
        if same_stored(wanted, state):
            return 1.0
        cart = shop(wanted).cart
        cart[-2:] = cart[:-3:-1]
        return float(same_stored(wanted, state))

    def plan(self, x: Expert, p: Params) -> Plan:
        for key in ("first", "second"):
            id = product(x.state, p[key]).id
            if in_cart(x.state, id):
                yield from set_count(x, id, 1)
            else:
                yield from x.go("shop")
                yield from x.tap(Hold(f"item.{id}"), "sheet.add", about={"product": id})


TEMPLATES: tuple[type[Template], ...] = (
    Add,
    AddSize,
    SearchAndAdd,
    Extreme,
    Save,
    Unsave,
    ChangeCount,
    RemoveLine,
    Checkout,
    CancelOrder,
    AskPrice,
    TwoThings,
    Reorder,
    SavedToCart,
)
