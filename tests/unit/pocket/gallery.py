"""An app that shows every widget once: what the tests of the toolkit drive."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.widgets import (
    Art,
    Avatar,
    Block,
    Bubble,
    Button,
    Buttons,
    Choice,
    Composer,
    Controls,
    Dialog,
    Empty,
    Fab,
    Glyph,
    Group,
    Hero,
    IconButton,
    Key,
    Keypad,
    Levels,
    MenuItem,
    MiniBar,
    Month,
    Options,
    Overlay,
    Page,
    Picture,
    Progress,
    Row,
    Stepper,
    Switch,
    SwitchRow,
    Tabs,
    Text,
    Tile,
    Tiles,
)
from emulator.pocket.world import World

PAGES = (
    "chat", "grid", "month", "pad", "tiles", "player", "form", "rows", "empty", "number", "profile", "text", "shelf",
)  # fmt: skip


@dataclass(slots=True)
class GalleryData:
    picked: list[str] = field(default_factory=list)
    count: int = 2
    level: int = 3
    tab: str = "a"
    month: int = 3
    on: bool = True


Gallery = Ctx[GalleryData]


class GalleryApp(App[GalleryData]):
    name = "gallery"
    title = "Gallery"
    icon = "image"
    accent = "#1F8A70"
    aliases = ("widgets",)

    def fresh(self, rng: random.Random, world: World) -> GalleryData:
        return GalleryData()

    def pick(self, ctx: Gallery, what: str) -> None:
        ctx.data.picked.append(what)

    def page_main(self, ctx: Gallery) -> Page:
        rows = [Row(f"page.{name}", name.title(), chevron=True, on_tap=partial(ctx.push, name)) for name in PAGES]
        return Page("Gallery", [Group(rows)], fab=Fab("fab", "Add one", partial(self.pick, ctx, "fab")))

    def page_chat(self, ctx: Gallery) -> Page:
        words = (
            ("Are you at the station already?", False),
            ("Yes, platform 6", True),
            ("Good. I bring the tickets and some tea for the long way to the coast.", False),
            ("Thanks!", True),
            ("See you", False),
            ("Bring the blue bag too, please", True),
            ("Will do", False),
            ("And the map", True),
        )
        bubbles: list[Block] = [
            Bubble(f"msg.{i}", text, mine, f"9:3{i}", partial(ctx.open, "menu_of")) for i, (text, mine) in enumerate(words)
        ]  # fmt: skip
        composer = Composer(ctx.field("text", hint="Message"), partial(self.pick, ctx, "send"))
        return Page(
            "Nora Lund", bubbles, footer=[composer], anchor="bottom", leading=Avatar("Nora Lund"), subtitle="Mobile"
        )

    def overlay_menu_of(self, ctx: Gallery) -> Overlay:
        return Dialog("Message", "What now?", buttons=[Button("ok", "Fine", partial(self.pick, ctx, "ok"))])

    def page_grid(self, ctx: Gallery) -> Page:
        chosen = frozenset(ctx.data.picked)
        return Page(
            "Alarm",
            [
                Hero("07:30", "Rings in 21 h 49 min"),
                Options("hour", {str(h): f"{h:02d}" for h in range(24)}, chosen, partial(self.pick, ctx), "Hour", 6),
                Options("minute", {f"{m:02d}": f"{m:02d}" for m in range(0, 60, 5)}, chosen, partial(self.pick, ctx), "Minute", 6),
                Options("size", {"s": "Small", "m": "Medium", "l": "Large", "x": "Extra large"}, frozenset("m"), partial(self.pick, ctx), "Size"),
                Buttons([Button("cancel", "Cancel", ctx.pop, "tonal"), Button("save", "Save", ctx.pop)]),
            ],
        )  # fmt: skip

    def turn(self, ctx: Gallery, by: int) -> None:
        ctx.data.month = min(12, max(1, ctx.data.month + by))

    def page_month(self, ctx: Gallery) -> Page:
        month = Month(
            "month", 2025, ctx.data.month, lambda day: self.pick(ctx, str(day)), partial(self.turn, ctx, -1),
            partial(self.turn, ctx, 1), chosen=19, today=14, marked=frozenset({3, 14, 19, 27}),
        )  # fmt: skip
        events = Group(
            [
                Row("event.1", "Dentist", "10:00", leading=Glyph("clock"), on_tap=ctx.pop, tall=True),
                Row("event.2", "Choir", "19:30", leading=Glyph("clock"), on_tap=ctx.pop, tall=True),
            ],
            "Wednesday 19 March",
        )
        return Page(
            "Calendar",
            [month, events],
            fab=Fab("new", "Event", ctx.pop),
            on_swipe=lambda way: self.turn(ctx, 1 if way == "left" else -1),
        )

    def page_pad(self, ctx: Gallery) -> Page:
        def key(label: str, icon: str = "", span: int = 1, style: str = "plain") -> Key:
            return Key(f"pad.{label}", label, partial(self.pick, ctx, label), icon, span, style)  # type: ignore[arg-type]

        def digits(text: str, span: int) -> list[Key]:
            return [key(char, span=span) for char in text]

        def ops(span: int) -> list[Key]:
            signs = {"/": "divide", "*": "multiply", "-": "minus", "+": "plus"}
            return [key(sign, icon, span, "tonal") for sign, icon in signs.items()]

        def clear(span: int) -> list[Key]:
            return [
                key("C", span=span, style="soft"),
                key("%", "percent", span, "soft"),
                key("<", "backspace", span, "soft"),
            ]

        one, two = ops(1), ops(2)
        rows = [
            [*clear(1), one[0]],
            [*digits("789", 1), one[1]],
            [*digits("456", 1), one[2]],
            [*digits("123", 1), one[3]],
            [key("0", span=2), key("."), key("=", "equals", style="filled")],
        ]
        large = [
            clear(2),
            digits("789", 2),
            digits("456", 2),
            digits("123", 2),
            [key("0", span=2), key(".", span=2), two[0]],
            two[1:],
            [key("=", "equals", 6, "filled")],
        ]
        return Page("Calculator", [Hero("1,284.5", "1200 + 84.5", align="right"), Keypad(rows, large)])

    def page_tiles(self, ctx: Gallery) -> Page:
        goods = {"Tea pot": "cup", "Desk lamp": "lamp", "Sneakers": "shoe", "Shirt": "shirt", "Fern": "plant"}
        tiles = Tiles(
            [
                Tile(f"item.{name}", name, Art(icon), partial(self.pick, ctx, name), "EUR 24.00")
                for name, icon in goods.items()
            ]
        )
        tabs = Tabs("tab", {"a": "New", "b": "Sale", "c": "All"}, ctx.data.tab, partial(setattr, ctx.data, "tab"))
        cart = IconButton("cart", "cart", "Cart", ctx.pop, badge=3)
        menu = [MenuItem("menu.sort", "Sort", ctx.pop, "sort"), MenuItem("menu.filter", "Filter", ctx.pop, "filter")]
        return Page("Shop", [tiles], tabs=tabs, actions=[cart], menu=menu)

    def page_player(self, ctx: Gallery) -> Page:
        controls = Controls([
            IconButton("shuffle", "shuffle", "Shuffle", ctx.pop, active=True),
            IconButton("prev", "prev", "Previous", ctx.pop),
            IconButton("play", "pause", "Pause", ctx.pop, style="filled"),
            IconButton("next", "next", "Next", ctx.pop),
            IconButton("like", "heart", "Like", ctx.pop),
        ])  # fmt: skip
        bar = MiniBar(
            "bar",
            "Salt Roads",
            ctx.pop,
            "Ida Berg",
            Art("music", "#B0479B"),
            [IconButton("bar.play", "play", "Play", ctx.pop)],
        )
        return Page(
            "Playing",
            [Picture(Art("music", "#B0479B"), "Salt Roads", "Ida Berg"), Progress(40, "1:24", "3:30"), controls],
            footer=[bar],
        )

    def page_form(self, ctx: Gallery) -> Page:
        return Page(
            "New contact",
            [
                ctx.field("name", "Name"),
                ctx.field("phone", "Phone", kind="number"),
                ctx.field("mail", "Email"),
                ctx.field("about", "Notes", kind="multiline"),
                Button("save", "Save contact", ctx.pop, icon="check"),
                Button("off", "Not now", None),
                Button("drop", "Delete contact", partial(ctx.open, "drop"), "danger", "trash"),
                Button("plain", "Show more", ctx.pop, "text"),
            ],
        )

    def overlay_drop(self, ctx: Gallery) -> Overlay:
        return Dialog(
            "Rename",
            blocks=[
                ctx.field("new", "New name"),
                *(Choice(f"kind.{i}", f"Kind {i}", i == 1, partial(self.pick, ctx, str(i))) for i in range(12)),
            ],
            buttons=[
                Button("no", "Cancel", ctx.close, "tonal"),
                Button("yes", "Rename", partial(self.pick, ctx, "yes")),
            ],
        )

    def page_rows(self, ctx: Gallery) -> Page:
        data = ctx.data
        return Page(
            "Rows",
            [
                Group([
                    Row("thread", "Nora Lund", "See you at eight then", "09:12", Avatar("Nora Lund"), on_tap=ctx.pop, badge=2, strong=True),
                    Row("thread2", "Otto Vega", "Thanks", "Mon", Avatar("Otto Vega"), on_tap=ctx.pop),
                ]),
                Group([
                    Row("alarm", "07:30", "Weekdays", trailing=Switch("alarm.on", data.on, partial(setattr, data, "on", not data.on), "07:30"), on_tap=ctx.pop, tall=True),
                    Row("file", "Report.pdf", "1.2 MB", leading=Glyph("file"), trailing=IconButton("file.more", "more", "More", ctx.pop), on_tap=ctx.pop),
                    Row("long", "A rather long title for a row of a list", value="and value", on_tap=ctx.pop),
                    Row("danger", "Sign out", danger=True, on_tap=ctx.pop),
                ], "Mixed"),
                Group([
                    SwitchRow("switch", "Use it", data.on, partial(setattr, data, "on", not data.on), "For this phone"),
                    Choice("radio", "Radio", True, ctx.pop, subtitle="The chosen one"),
                    Choice("box", "Box", False, ctx.pop, "box"),
                    Stepper("count", "Quantity", str(data.count), None, partial(setattr, data, "count", data.count + 1)),
                    Levels("level", "Level", data.level, partial(setattr, data, "level"), caption="60%"),
                ], "Inputs"),
            ],
        )  # fmt: skip

    def page_empty(self, ctx: Gallery) -> Page:
        return Page(
            "Cart", [Empty("cart", "Your cart is empty", "Things that you add are kept here until you order them.")]
        )

    def page_number(self, ctx: Gallery) -> Page:
        return Page("Timer", [ctx.field("minutes", "Minutes", kind="number", on_submit=partial(self.pick, ctx, "set"))])

    def page_profile(self, ctx: Gallery) -> Page:
        return Page(
            "Contact",
            [
                Picture(Avatar("Nora Lund"), "Nora Lund", "Friend"),
                Controls([
                    IconButton("call", "phone", "Call", ctx.pop, style="tonal"),
                    IconButton("text", "chat", "Message", ctx.pop, style="tonal"),
                    IconButton("mail", "mail", "Email", ctx.pop, style="tonal"),
                ]),
                Group([Row("phone", "555-0123", "Mobile", leading=Glyph("phone")), Row("email", "nora.lund@mail.test", "Email", leading=Glyph("mail"))]),
            ],
            actions=[IconButton("star", "star_full", "Favourite", ctx.pop, active=True)],
        )  # fmt: skip

    def page_text(self, ctx: Gallery) -> Page:
        return Page(
            "Text",
            [
                Text("A title", "title"),
                Text("Body text that is long enough to be broken into a few lines on either display.", card=True),
                Text("Muted words", "muted"),
                Text("42", "display", "center"),
                Text("A caption", "caption"),
            ],
        )

    def page_shelf(self, ctx: Gallery) -> Page:
        rows = [Row(f"shelf.{i}", f"Book {i}", on_tap=partial(self.pick, ctx, str(i))) for i in range(40)]
        return Page("Shelf", [Group(rows)])
