"""The shop's data: products, what is saved, the cart and the orders. Prices are whole dollars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emulator.pocket.apps.catalogue import Product

SPEEDS = {"standard": ("Standard", 5), "express": ("Express", 12), "pickup": ("Pick up", 0)}
"""Ways of delivery: label and price."""
PAYMENTS = {"card": "Card", "cash": "Cash", "voucher": "Gift card"}
MAX_COUNT = 9


@dataclass(slots=True)
class Line:
    """Some pieces of one product, in the cart or in an order. `option` is a size, or empty."""

    product: str
    count: int = 1
    option: str = ""

    @property
    def key(self) -> str:
        """What tells the lines of a cart apart."""
        return f"{self.product}.{self.option}" if self.option else self.product


@dataclass(slots=True)
class Order:
    """`total` is in dollars and includes the delivery."""

    id: str
    number: int
    day: str
    lines: list[Line]
    total: int
    delivery: str
    payment: str
    address: str
    status: str = "Placed"


@dataclass(slots=True)
class ShopData:
    """The catalogue, what the owner saved, the cart, and the orders (the latest first)."""

    products: list[Product] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    cart: list[Line] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)

    def get(self, id: str) -> Product:
        """The product with this id. Raises `StopIteration` if there is none."""
        return next(product for product in self.products if product.id == id)

    def named(self, name: str) -> Product:
        """The product with this name. Raises `StopIteration` if there is none."""
        return next(product for product in self.products if product.name == name)

    def line(self, key: str) -> Line:
        """The line of the cart with this key. Raises `StopIteration` if there is none."""
        return next(line for line in self.cart if line.key == key)

    def order(self, id: str) -> Order:
        """The order with this id. Raises `StopIteration` if there is none."""
        return next(order for order in self.orders if order.id == id)

    def title(self, line: Line) -> str:
        """A line's product with its size."""
        name = self.get(line.product).name
        return f"{name}, {line.option}" if line.option else name

    def cost(self, lines: Sequence[Line]) -> int:
        """What some lines cost, in dollars, without delivery."""
        return sum(self.get(line.product).price * line.count for line in lines)

    def listed(self, category: str, sort: str) -> list[Product]:
        """The products of a category ("all": every one): by rating, by price (the cheapest first) or by name."""
        chosen = [product for product in self.products if category in ("all", product.category)]
        by_name = sorted(chosen, key=lambda product: product.name)
        if sort == "price":
            return sorted(by_name, key=lambda product: product.price)
        return by_name if sort == "name" else sorted(by_name, key=lambda product: -product.rating)

    def add(self, product: str, count: int, option: str) -> None:
        """Put pieces into the cart, onto the line that has the same product and size; at most `MAX_COUNT` a line."""
        new = Line(product, count, option)
        for line in self.cart:
            if line.key == new.key:
                line.count = min(MAX_COUNT, line.count + count)
                return
        self.cart.append(new)


def money(dollars: int) -> str:
    return f"${dollars}"


def pieces(lines: Sequence[Line]) -> str:
    """How many things some lines are, in words."""
    count = sum(line.count for line in lines)
    return "1 item" if count == 1 else f"{count} items"
