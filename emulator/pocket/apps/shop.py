"""Shop: a catalogue to search and filter, a page for each product, a cart, a checkout that asks first, and orders.

Prices are whole dollars. What is bought goes nowhere; this is a simulated phone.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.apps.catalogue import BLURBS, CATEGORIES, HUES, Product, pick_products
from emulator.pocket.apps.shop_data import MAX_COUNT, PAYMENTS, SPEEDS, Line, Order, ShopData, money, pieces
from emulator.pocket.widgets import (
    Art,
    Block,
    Button,
    Buttons,
    Choice,
    Dialog,
    Empty,
    Group,
    IconButton,
    MenuItem,
    Options,
    Overlay,
    Page,
    Picture,
    Row,
    Sheet,
    Stepper,
    Text,
    Tile,
    Tiles,
)
from emulator.pocket.world import World

SORTS = {"popular": "Popular", "price": "Price", "name": "Name"}

Shop = Ctx[ShopData]


class ShopApp(App[ShopData]):
    """Filter and order of the list are the page's, not stored: they are gone when the app is left by Back."""

    name = "shop"
    title = "Shop"
    icon = "bag"
    accent = "#A8418E"
    aliases = ("store", "shopping", "amazon")

    def fresh(self, rng: random.Random, world: World) -> ShopData:
        data = ShopData(pick_products(rng))
        ids = [product.id for product in data.products]
        data.saved = rng.sample(ids, 2)
        for id in rng.sample(ids, 2):
            data.cart.append(Line(id, rng.randint(1, 3), _first_size(data.get(id))))
        numbers = sorted(rng.sample(range(1100, 1999), 3), reverse=True)
        days = sorted(rng.sample(range(1, 14), 3), reverse=True)
        states = ("On the way", "Delivered", "Delivered")
        for number, day, status in zip(numbers, days, states, strict=True):
            lines = [
                Line(id, rng.randint(1, 2), _first_size(data.get(id))) for id in rng.sample(ids, rng.randint(1, 3))
            ]
            total = data.cost(lines) + SPEEDS["standard"][1]
            data.orders.append(
                Order(f"o{number}", number, f"{day} March", lines, total, "standard", "card", "home", status)
            )
        streets = rng.sample(("Mill Lane", "Oak Street", "Hill Road", "Bay Walk", "Elm Court", "Park Row"), 2)
        data.addresses = {
            key: f"{rng.randint(1, 89)} {street}" for key, street in zip(("home", "work"), streets, strict=True)
        }
        return data  # fmt: skip

    # ---- browsing
    def page_main(self, ctx: Shop) -> Page:
        category, sort = ctx.value("category", "all"), ctx.value("sort", "popular")
        label = "All" if category == "all" else CATEGORIES[category]
        return Page(
            "Shop",
            [
                Buttons(
                    [
                        Button("filter", label, partial(ctx.open, "filter"), "tonal", "filter"),
                        Button("sort", SORTS[sort], partial(ctx.open, "sort"), "tonal", "sort"),
                    ]
                ),
                self._tiles(ctx, ctx.data.listed(category, sort)),
            ],
            actions=[IconButton("search", "search", "Search", partial(self._search, ctx)), self._cart_button(ctx)],
            menu=[
                MenuItem("menu.saved", "Saved items", partial(ctx.push, "saved"), "heart"),
                MenuItem("menu.orders", "Orders", partial(ctx.push, "orders"), "box"),
            ],
        )

    def page_search(self, ctx: Shop) -> Page:
        query = ctx.field("query", hint="Search the shop", kind="search")
        wanted = query.value.strip().casefold()
        if not wanted:
            return Page("Search", [query])
        found = [
            product
            for product in ctx.data.listed("all", "name")
            if wanted in product.name.casefold() or wanted in CATEGORIES[product.category].casefold()
        ]
        rows = [
            Row(
                f"item.{product.id}",
                product.name,
                value=money(product.price),
                leading=Art(product.icon, HUES[product.category]),
                on_tap=partial(ctx.push, "product", {"product": product.id}),
                on_long=partial(ctx.open, "actions", {"product": product.id}),
            )
            for product in found
        ]
        return Page("Search", [query, Group(rows) if rows else Empty("search", "Nothing found")])

    def page_saved(self, ctx: Shop) -> Page:
        saved = [ctx.data.get(id) for id in ctx.data.saved]
        nothing = Empty("heart", "Nothing saved", "Touch the heart of a product to keep it here.")
        return Page("Saved items", [self._tiles(ctx, saved) if saved else nothing], actions=[self._cart_button(ctx)])

    def page_product(self, ctx: Shop) -> Page:
        product = ctx.data.get(ctx.arg("product"))
        count, option = int(ctx.value("count", "1")), ctx.value("option", _first_size(product))
        saved = product.id in ctx.data.saved
        heart = IconButton(
            "save",
            "heart_full" if saved else "heart",
            "Saved" if saved else "Save",
            partial(self._save, ctx, product.id),
            active=saved,
        )
        price = f"{money(product.price)} · {product.rating // 10}.{product.rating % 10} stars"
        pick = partial(ctx.set_value, "option")
        blocks: list[Block] = [Picture(Art(product.icon, HUES[product.category]), product.name, price)]
        if product.sizes:
            blocks.append(
                Options("size", {size: size for size in product.sizes}, frozenset((option,)), pick, columns=3)
            )
        blocks += [
            Stepper(
                "count",
                "Quantity",
                str(count),
                partial(ctx.set_value, "count", str(count - 1)) if count > 1 else None,
                partial(ctx.set_value, "count", str(count + 1)) if count < MAX_COUNT else None,
            ),
            Text(BLURBS[product.name], "muted", id="blurb"),
        ]
        return Page(
            CATEGORIES[product.category],
            blocks,
            actions=[heart, self._cart_button(ctx)],
            footer=[Button("add", "Add to cart", partial(self._add, ctx, product.id, count, option), icon="cart")],
        )  # fmt: skip

    # ---- buying
    def page_cart(self, ctx: Shop) -> Page:
        data = ctx.data
        if not data.cart:
            nothing = Empty("cart", "Your cart is empty", "What you add is kept here until you order it.")
            return Page("Cart", [nothing])
        rows = [
            Row(
                f"line.{line.key}",
                data.title(line),
                f"{money(data.get(line.product).price)} each",
                value=f"x {line.count}",
                leading=Art(data.get(line.product).icon, HUES[data.get(line.product).category]),
                on_tap=partial(ctx.open, "line", {"line": line.key}),
                on_long=partial(ctx.open, "remove", {"line": line.key}),
            )
            for line in data.cart
        ]
        return Page(
            "Cart",
            [Group(rows), Row("sum", "Total", value=money(data.cost(data.cart)), strong=True)],
            menu=[MenuItem("menu.clear", "Empty cart", partial(ctx.open, "clear"), "trash", danger=True)],
            footer=[Button("checkout", "Checkout", partial(ctx.push, "checkout"), icon="card")],
        )

    def page_checkout(self, ctx: Shop) -> Page:
        data = ctx.data
        address, speed, payment = self._chosen(ctx)

        def choices(id: str, options: dict[str, tuple[str, str]], chosen: str) -> list[Choice]:
            return [
                Choice(f"{id}.{key}", label, key == chosen, partial(ctx.set_value, id, key), subtitle=below)
                for key, (label, below) in options.items()
            ]

        speeds = {key: (label, money(price) if price else "Free") for key, (label, price) in SPEEDS.items()}
        return Page(
            "Checkout",
            [
                Group(choices("address", {key: (key.title(), text) for key, text in data.addresses.items()}, address), "Deliver to"),
                Group(choices("speed", speeds, speed), "Delivery"),
                Group(choices("payment", {key: (label, "") for key, label in PAYMENTS.items()}, payment), "Pay with"),
            ],
            footer=[Button("place", f"Order · {money(data.cost(data.cart) + SPEEDS[speed][1])}", partial(ctx.open, "place"))],
        )  # fmt: skip

    def page_orders(self, ctx: Shop) -> Page:
        rows = [
            Row(
                f"order.{order.id}",
                f"No. {order.number}",
                f"{order.day} · {pieces(order.lines)} · {order.status}",
                value=money(order.total),
                leading=self._status_art(order),
                chevron=True,
                on_tap=partial(ctx.push, "order", {"order": order.id}),
            )
            for order in ctx.data.orders
        ]
        return Page("Orders", [Group(rows)] if rows else [Empty("box", "No orders yet")])

    def page_order(self, ctx: Shop) -> Page:
        data = ctx.data
        order = data.order(ctx.arg("order"))
        lines = [
            Row(
                f"line.{line.key}",
                data.title(line),
                value=f"x {line.count}",
                leading=Art(data.get(line.product).icon, HUES[data.get(line.product).category]),
                on_tap=partial(ctx.push, "product", {"product": line.product}),
            )
            for line in order.lines
        ]
        facts = {
            "Status": order.status,
            "Ordered": order.day,
            "Deliver to": order.address.title(),
            "Delivery": SPEEDS[order.delivery][0],
            "Paid with": PAYMENTS[order.payment],
            "Total": money(order.total),
        }
        cancel = MenuItem(
            "menu.cancel", "Cancel order", partial(ctx.open, "cancel", {"order": order.id}), "close", danger=True
        )
        again = MenuItem("menu.again", "Order again", partial(self._again, ctx, order.id), "repeat")
        return Page(
            f"No. {order.number}",
            [Group(lines), Group([Row(f"fact.{key.lower().replace(' ', '_')}", key, value=value) for key, value in facts.items()])],
            menu=[again, *([cancel] if order.status in ("Placed", "On the way") else [])],
        )  # fmt: skip

    # ---- overlays
    def overlay_filter(self, ctx: Shop) -> Overlay:
        return self._chooser(ctx, "Show", "category", {"all": "All", **CATEGORIES}, "all")

    def overlay_sort(self, ctx: Shop) -> Overlay:
        return self._chooser(ctx, "Sort by", "sort", SORTS, "popular")

    def overlay_actions(self, ctx: Shop) -> Overlay:
        product = ctx.data.get(ctx.arg("product"))
        saved = product.id in ctx.data.saved
        save = "Unsave" if saved else "Save"
        add = partial(self._add, ctx, product.id, 1, _first_size(product))
        return Sheet(
            product.name,
            [
                MenuItem("sheet.add", "Add to cart", add, "cart"),
                MenuItem("sheet.save", save, partial(self._save, ctx, product.id), "heart"),
            ],
        )

    def overlay_line(self, ctx: Shop) -> Overlay:
        """Changes a line's count at once; the dialog stays open."""
        line = ctx.data.line(ctx.arg("line"))
        stepper = Stepper(
            "count",
            "Quantity",
            str(line.count),
            partial(self._count, ctx, line.key, line.count - 1) if line.count > 1 else None,
            partial(self._count, ctx, line.key, line.count + 1) if line.count < MAX_COUNT else None,
        )
        return Dialog(
            ctx.data.title(line),
            blocks=[stepper],
            buttons=[
                Button("line.remove", "Remove", partial(self._remove, ctx, line.key), "danger"),
                Button("line.done", "Done", ctx.close),
            ],
        )

    def overlay_remove(self, ctx: Shop) -> Overlay:
        line = ctx.data.line(ctx.arg("line"))
        remove = partial(self._remove, ctx, line.key)
        return self._question(
            ctx, "Remove item?", f"{ctx.data.title(line)} leaves the cart.", "remove", "Remove", remove
        )

    def overlay_clear(self, ctx: Shop) -> Overlay:
        text = f"{pieces(ctx.data.cart)} will be removed."
        return self._question(ctx, "Empty the cart?", text, "clear", "Empty", partial(self._clear, ctx))

    def overlay_cancel(self, ctx: Shop) -> Overlay:
        order = ctx.data.order(ctx.arg("order"))
        cancel = partial(self._cancel, ctx, order.id)
        return self._question(
            ctx, "Cancel order?", f"No. {order.number} will not be sent.", "cancel", "Cancel it", cancel, "Keep"
        )

    def overlay_place(self, ctx: Shop) -> Overlay:
        address, speed, payment = self._chosen(ctx)
        total = ctx.data.cost(ctx.data.cart) + SPEEDS[speed][1]
        return Dialog(
            "Place order?",
            f"{pieces(ctx.data.cart)} for {money(total)}.",
            buttons=[
                Button("place.cancel", "Cancel", ctx.close, "tonal"),
                Button("place.ok", "Order", partial(self._place, ctx, address, speed, payment)),
            ],
        )

    # ---- parts
    def _tiles(self, ctx: Shop, products: Sequence[Product]) -> Tiles:
        return Tiles(
            [
                Tile(
                    f"item.{product.id}",
                    product.name,
                    Art(product.icon, HUES[product.category]),
                    partial(ctx.push, "product", {"product": product.id}),
                    money(product.price),
                    partial(ctx.open, "actions", {"product": product.id}),
                )
                for product in products
            ]
        )

    @staticmethod
    def _cart_button(ctx: Shop) -> IconButton:
        count = sum(line.count for line in ctx.data.cart)
        return IconButton("cart", "cart", "Cart", partial(ctx.push, "cart"), badge=count)

    @staticmethod
    def _status_art(order: Order) -> Art:
        icon, hue = {
            "Placed": ("box", "#C8922A"),
            "On the way": ("truck", "#3A7FC4"),
            "Delivered": ("check", "#2E8B57"),
        }.get(order.status, ("close", "#8A8F9C"))
        return Art(icon, hue)

    @staticmethod
    def _chooser(ctx: Shop, title: str, name: str, options: dict[str, str], default: str) -> Dialog:
        """A dialog that sets one of the page's values."""

        def choose(key: str) -> None:
            ctx.set_value(name, key)
            ctx.page.scroll = 0
            ctx.close()

        chosen = ctx.value(name, default)
        rows = [Choice(f"{name}.{key}", label, key == chosen, partial(choose, key)) for key, label in options.items()]
        return Dialog(title, blocks=rows, buttons=[Button(f"{name}.cancel", "Cancel", ctx.close, "tonal")])

    @staticmethod
    def _question(
        ctx: Shop, title: str, text: str, id: str, label: str, run: partial[None], keep: str = "Cancel"
    ) -> Dialog:
        return Dialog(
            title,
            text,
            buttons=[Button(f"{id}.cancel", keep, ctx.close, "tonal"), Button(f"{id}.ok", label, run, "danger")],
        )

    @staticmethod
    def _chosen(ctx: Shop) -> tuple[str, str, str]:
        """Address, delivery and payment as chosen on the checkout page."""
        return ctx.value("address", "home"), ctx.value("speed", "standard"), ctx.value("payment", "card")

    # ---- changes
    @staticmethod
    def _search(ctx: Shop) -> None:
        ctx.push("search")
        ctx.focus("query")

    @staticmethod
    def _save(ctx: Shop, id: str) -> None:
        if id in ctx.data.saved:
            ctx.data.saved.remove(id)
            ctx.toast("Removed from saved")
        else:
            ctx.data.saved.append(id)
            ctx.toast("Saved")

    @staticmethod
    def _add(ctx: Shop, id: str, count: int, option: str) -> None:
        ctx.data.add(id, count, option)
        ctx.toast("Added to cart")

    @staticmethod
    def _count(ctx: Shop, key: str, count: int) -> None:
        ctx.data.line(key).count = count

    @staticmethod
    def _remove(ctx: Shop, key: str) -> None:
        ctx.data.cart.remove(ctx.data.line(key))
        ctx.toast("Removed")

    @staticmethod
    def _clear(ctx: Shop) -> None:
        ctx.data.cart.clear()
        ctx.toast("Cart is empty")

    @staticmethod
    def _place(ctx: Shop, address: str, speed: str, payment: str) -> None:
        data = ctx.data
        number = max([order.number for order in data.orders], default=1000) + 1
        now = ctx.device.time
        total = data.cost(data.cart) + SPEEDS[speed][1]
        lines = list(data.cart)
        data.orders.insert(0, Order(f"o{number}", number, f"{now.day} {now:%B}", lines, total, speed, payment, address))
        data.cart.clear()
        ctx.root()
        ctx.push("orders")
        ctx.toast("Order placed")

    @staticmethod
    def _cancel(ctx: Shop, id: str) -> None:
        ctx.data.order(id).status = "Cancelled"
        ctx.toast("Order cancelled")

    @staticmethod
    def _again(ctx: Shop, id: str) -> None:
        """Everything of an order goes into the cart once more."""
        for line in ctx.data.order(id).lines:
            ctx.data.add(line.product, line.count, line.option)
        ctx.toast("Added to cart")


def _first_size(product: Product) -> str:
    """The size that a product's page starts with."""
    return "" if not product.sizes else "M" if "M" in product.sizes else product.sizes[0]
