"""What an app is: its data, and pages built from the state. See README.md for a walk through one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

from emulator.pocket.state import HOME, Device, OverlayState, PageState, PhoneState
from emulator.pocket.widgets import Field, Overlay, Page, Tap
from emulator.pocket.world import World

D = TypeVar("D")


class Ctx(Generic[D]):
    """An app's view of the phone while a page is built and while a handler runs.

    It always speaks of the page that is on top *now*: after `push` its `args` and fields are the new page's.
    """

    def __init__(self, state: PhoneState, app: str) -> None:
        self.state = state
        self.app = app

    # ---- reading
    @property
    def data(self) -> D:
        """The app's own data, to be changed in place."""
        return cast(D, self.state.apps[self.app])

    @property
    def device(self) -> Device:
        return self.state.device

    @property
    def page(self) -> PageState:
        return self.state.nav.stacks[self.app][-1]

    def arg(self, name: str) -> str:
        """An argument of the open overlay, else of the page."""
        overlay = self.page.overlay
        if overlay is not None and name in overlay.args:
            return overlay.args[name]
        return self.page.args[name]

    def value(self, field: str, default: str = "") -> str:
        """What a field of this page holds."""
        return self.page.fields.get(field, default)

    # ---- moving about
    def push(self, name: str, args: dict[str, str] | None = None, fields: dict[str, str] | None = None) -> None:
        """Open a page on top; `fields` are the texts that its fields start with."""
        self.state.nav.focus = None
        self.state.nav.stacks[self.app].append(PageState(name, dict(args or {}), dict(fields or {})))

    def pop(self, count: int = 1) -> None:
        """Go back `count` pages, to the first page at most."""
        self.state.nav.focus = None
        stack = self.state.nav.stacks[self.app]
        del stack[max(1, len(stack) - count) :]

    def replace(self, name: str, args: dict[str, str] | None = None, fields: dict[str, str] | None = None) -> None:
        """Put another page in this page's place."""
        self.state.nav.focus = None
        self.state.nav.stacks[self.app][-1] = PageState(name, dict(args or {}), dict(fields or {}))

    def root(self) -> None:
        """Back to the app's first page."""
        self.pop(len(self.state.nav.stacks[self.app]))

    def launch(
        self, app: str, name: str, args: dict[str, str] | None = None, fields: dict[str, str] | None = None
    ) -> None:
        """Bring another app to the front with a page on top of its stack (a contact's *Message* button)."""
        nav = self.state.nav
        nav.focus = None
        nav.app = app
        stack = nav.stacks.setdefault(app, [PageState("main")])
        stack.append(PageState(name, dict(args or {}), dict(fields or {})))
        nav.recent = [app, *(other for other in nav.recent if other != app)]

    def open(self, name: str, args: dict[str, str] | None = None, fields: dict[str, str] | None = None) -> None:
        """Open the overlay that `overlay_<name>` builds, over this page."""
        self.state.nav.focus = None
        self.page.overlay = OverlayState(name, dict(args or {}))
        self.page.fields.update(fields or {})

    def close(self) -> None:
        """Close the overlay."""
        self.state.nav.focus = None
        self.page.overlay = None

    def forget(self, name: str, value: str) -> None:
        """Close each page and overlay of this app whose argument `name` is `value`: what it is about is gone."""
        stack = self.state.nav.stacks[self.app]
        self.state.nav.focus = None
        stack[1:] = [page for page in stack[1:] if page.args.get(name) != value]
        for page in stack:
            if page.overlay is not None and page.overlay.args.get(name) == value:
                page.overlay = None

    # ---- text
    def field(
        self,
        id: str,
        label: str = "",
        hint: str = "",
        kind: Literal["text", "number", "multiline", "search"] = "text",
        on_submit: Tap | None = None,
    ) -> Field:
        """A text field whose text lives in this page's state under `id`."""
        fields = self.page.fields

        def change(text: str) -> None:
            fields[id] = text

        return Field(id, fields.get(id, ""), change, label, hint, kind, on_submit)

    def set_value(self, field: str, text: str) -> None:
        self.page.fields[field] = text

    def focus(self, field: str) -> None:
        """Put the cursor into a field of the page that is on top now."""
        self.state.nav.focus = field
        self.state.nav.layer = "abc"

    def blur(self) -> None:
        """Take the cursor away; the keyboard closes."""
        self.state.nav.focus = None

    # ---- the rest
    def toast(self, text: str) -> None:
        """Show a short message until the next action."""
        self.state.nav.toast = text

    def new_id(self, prefix: str) -> str:
        """An id that no other thing on this phone has."""
        self.state.serial += 1
        return f"{prefix}{self.state.serial}"

    def home(self) -> None:
        self.state.nav.focus = None
        self.state.nav.app = HOME


class App(Generic[D]):
    """Base of all apps. A subclass is stateless: all that it knows is in `ctx`.

    It defines `page_main(ctx) -> Page`, a `page_<name>` for each further page, `overlay_<name>(ctx) -> Overlay` for each
    overlay, and `fresh(rng, world) -> D`, the data that a new phone has.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    icon: ClassVar[str]
    accent: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()

    def fresh(self, rng: random.Random, world: World) -> D:
        raise NotImplementedError

    def tick(self, ctx: Ctx[D], seconds: float) -> None:
        """Time passes; only the `wait` action makes it pass. Called for every app, in front or not."""

    def build(self, ctx: Ctx[D]) -> Page:
        """The page on top of the app's stack."""
        builder = cast(Callable[[Ctx[D]], Page], self._method(f"page_{ctx.page.name}"))
        return builder(ctx)

    def overlay(self, ctx: Ctx[D]) -> Overlay | None:
        """The open overlay. The page's menu is none of the app's business."""
        state = ctx.page.overlay
        if state is None or state.name == "menu":
            return None
        builder = cast(Callable[[Ctx[D]], Overlay], self._method(f"overlay_{state.name}"))
        return builder(ctx)

    def _method(self, name: str) -> Any:
        method = getattr(self, name, None)
        if method is None:
            raise LookupError(f"{type(self).__name__} has no {name}; every page and overlay needs a builder")
        return method
