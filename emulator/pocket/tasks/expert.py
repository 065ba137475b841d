"""The expert's eyes and hands. A template's plan uses them; they look at the phone now, and yield a move only where one is needed.

A plan is run anew before every step, and only its first move is made. So each of these methods reads "unless it is so already,
do what brings it about", and a plan recovers from whatever happened since the last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from emulator.pocket.phone import Phone
from emulator.pocket.scene import UiNode
from emulator.pocket.state import HOME, PageState, PhoneState
from emulator.pocket.tasks import words
from sopbench.actions import Action, Answer, Button, Click, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.geometry import Point

Style = Literal["open", "icon"]
"""How apps are entered: by the `open` action, or by their icons on the home screen. The goal's wording tells which."""

ENOUGH = 90
"""Pixels of a cut node's height that must show before it is touched; less is scrolled into view first."""

LOOK = 84
"""Pixels between the offsets at which a page is looked at to find what is off the screen (a cell row of the large display)."""


@dataclass(frozen=True, slots=True)
class Move:
    """One step of the expert: the action (unit coordinates, on whole pixels), in words, why, and the node that it touches."""

    action: Action
    instruction: str
    thought: str
    target: UiNode | None = None


class Hold(str):
    """An id to be held, not tapped: `Hold("note.n3")`."""

    __slots__ = ()


@dataclass(frozen=True)
class Hop:
    """A page on the way and how to get there from the one before: tap the last of `taps` that is on the screen.

    `args`: the page's arguments, as far as they matter. `fill`: fields of the page before to be typed first (a search).
    """

    page: str
    taps: tuple[str, ...]
    args: Mapping[str, str] = field(default_factory=dict)
    fill: Mapping[str, str] = field(default_factory=dict)


def hop(page: str, *taps: str, fill: Mapping[str, str] | None = None, **args: str) -> Hop:
    """`hop("note", "note.n3", note="n3")`: tapping `note.n3` leads to page `note` with that argument."""
    return Hop(page, taps, args, fill or {})


@dataclass
class Memory:
    """What the expert has seen in this episode. Pages are (app, page, arguments)."""

    pages: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)


class Expert:
    """One look at the phone. `nodes`: what is on the screen, by id. `app`, `page`, `overlay`: where the user is."""

    def __init__(self, phone: Phone, style: Style, memory: Memory) -> None:
        self.phone = phone
        self.style = style
        self.memory = memory
        self.state: PhoneState = phone.state
        self._frame = phone.frame()
        self.nodes: dict[str, UiNode] = {target.id: target.public() for target in self._frame.scene.targets}
        self._remember()

    # ---- looking
    @property
    def app(self) -> str:
        """The app in front; `launcher` at home."""
        return self.state.nav.app

    @property
    def page(self) -> str:
        """The page in front; empty outside apps."""
        top = self._top()
        return top.name if top else ""

    @property
    def overlay(self) -> str | None:
        """The open dialog, sheet or menu by name."""
        top = self._top()
        return top.overlay.name if top and top.overlay else None

    def data(self, app: str) -> Any:
        """What an app stores."""
        return self.state.apps[app]

    def value(self, id: str) -> str | None:
        """The text of a field on this page or overlay; None if there is no such field."""
        found = self._frame.scene.fields.get(id)
        return found.value if found else None

    @property
    def fields(self) -> dict[str, str]:
        """All that the page in front holds until it is saved: texts of fields, and choices by name."""
        top = self._top()
        return top.fields if top else {}

    def at(self, app: str, page: str, **args: str) -> bool:
        """Whether this page is in front, with at least these arguments."""
        top = self._top()
        return self.app == app and top is not None and _fits(top, page, args)

    def visited(self, app: str, page: str, **args: str) -> bool:
        """Whether the expert has stood before this page in this episode: what it must read there, it knows."""
        return any(
            (app, page) == (a, p) and args.items() <= known.items() for a, p, known in self.memory.pages
        )  # fmt: skip

    def saw(self, id: str) -> bool:
        """Whether a node with this id was on a screen of this episode, whole or most of it."""
        return id in self.memory.nodes

    # ---- going
    def go(self, app: str, *hops: Hop) -> Iterator[Move]:
        """Be on the page that `hops` lead to from the app's first page. Goes back from wherever else the user is."""
        yield from self.enter(app)
        if self.app != app:
            return
        stack = self.state.nav.stacks[app][1:]
        good = 0
        for page, wanted in zip(stack, hops, strict=False):
            if not _fits(page, wanted.page, wanted.args):
                break
            good += 1
        if good < len(stack):
            yield self.press("Back")
        elif good < len(hops):
            for id, text in hops[good].fill.items():
                yield from self.type(id, text)
            yield from self.tap(*hops[good].taps)

    def enter(self, app: str) -> Iterator[Move]:
        """Have this app in front, as it was left."""
        if self.app == app:
            return
        title = self.phone.apps[app].title
        if self.style == "open":
            yield Move(Open(title), *words.opening(title), self.nodes.get(f"app.{app}"))
        elif self.app == HOME:
            yield from self.tap(f"app.{app}")
        else:
            yield self.press("Home")

    # ---- touching
    def tap(self, *ids: str, about: Mapping[str, str] | None = None) -> Iterator[Move]:
        """Tap the last of `ids` that is on the screen: a chain such as `"page.more", "menu.delete", "delete.ok"`.

        One that is off the screen is scrolled to; an overlay that holds none of them is closed, and so is one whose arguments differ
        from `about` (the question whether to delete something else). Raises `LookupError` if the page has none of them.
        """
        top = self._top()
        args = top.overlay.args if top and top.overlay else {}
        if args and about and any(args.get(key, value) != value for key, value in about.items()):
            yield self.press("Back")
            return
        for id in reversed(ids):
            node = self.nodes.get(id)
            if node is not None and self._touchable(node) and self._shown(node):
                yield self._touch(node, isinstance(id, Hold))
                return
        for id in reversed(ids):
            if (place := self._find(id)) is not None:
                yield from self._scroll(*place)
                return
        if self.overlay is not None or self._frame.focused is not None:
            yield self.press("Back")
            return
        raise LookupError(f"none of {', '.join(ids)} on page {self.page} of {self.app}: {', '.join(self.nodes)}")

    def show(self, id: str) -> Iterator[Move]:
        """Have a node on the screen, whole or nearly so; nothing is touched."""
        node = self.nodes.get(id)
        if node is not None and self._shown(node):
            return
        place = self._find(id)
        if place is not None:
            yield from self._scroll(*place)
        elif self.overlay is not None or self._frame.focused is not None:
            yield self.press("Back")
        else:
            raise LookupError(f"no {id} on page {self.page} of {self.app}")

    def type(self, id: str, text: str) -> Iterator[Move]:
        """Have exactly `text` in the field: puts the cursor there, types what is missing, clears what is wrong."""
        value = self.value(id)
        if value == text:
            return
        focused = self._frame.focused
        if focused is None or focused.id != id:
            yield from self.tap(id)
        elif value is not None and text.startswith(value):
            yield Move(Type(text[len(value) :]), *words.typing(text[len(value) :]), self.nodes.get(id))
        else:
            yield from self.tap(Hold("key.backspace"), f"{id}.clear")

    def turn(self, direction: Literal["left", "right"]) -> Move:
        """Swipe sideways; `left` is the way the finger goes."""
        width, height = self.phone.size.width, self.phone.size.height
        top, bottom = self._frame.viewport
        y = (top + bottom) // 2 if bottom > top else height // 2
        near, far = width * 4 // 5, width // 5
        x1, x2 = (near, far) if direction == "left" else (far, near)
        return Move(Swipe(self._point(x1, y), self._point(x2, y)), *words.turn(direction))

    # ---- without a place
    def press(self, button: Button) -> Move:
        return Move(SystemButton(button), *words.button(button), self.nodes.get(f"nav.{button.lower()}"))

    def wait(self, seconds: float) -> Move:
        return Move(Wait(seconds), *words.waiting(seconds))

    def answer(self, text: str) -> Move:
        return Move(Answer(text), *words.answering(text))

    @staticmethod
    def end(status: Literal["success", "failure"]) -> Move:
        return Move(Terminate(status), *words.ending(status))

    # ---- how it is done
    def _top(self) -> PageState | None:
        nav = self.state.nav
        return nav.stacks[nav.app][-1] if nav.app in self.phone.apps else None

    def _remember(self) -> None:
        top = self._top()
        if top is not None and top.overlay is None:
            here = (self.app, top.name, dict(top.args))
            if here not in self.memory.pages:
                self.memory.pages.append(here)
        self.memory.nodes.update(id for id, node in self.nodes.items() if not self._cut(node))

    def _touchable(self, node: UiNode) -> bool:
        return node.clickable or node.long_clickable

    def _touch(self, node: UiNode, hold: bool) -> Move:
        point = self._point(int(node.box.x1 + node.box.x2) // 2, int(node.box.y1 + node.box.y2) // 2)
        if hold:
            return Move(LongPress(point), *words.hold(node, self._name(node)), node)
        return Move(Click(point), *words.tap(node, self._name(node)), node)

    def _name(self, node: UiNode) -> str:
        return words.label(node, self.nodes, self._frame.scene.fields)

    def _point(self, x: int, y: int) -> Point:
        return Point.from_pixels(x, y, self.phone.size)

    def _cut(self, node: UiNode) -> bool:
        """Whether the node may go on beyond the edge of what scrolls. Of one that is `ENOUGH` high, enough shows."""
        if node.box.y2 - node.box.y1 >= ENOUGH:
            return False
        if self.overlay is not None:
            return self._frame.overlay_limit > 0
        top, bottom = self._frame.viewport
        return self._frame.scroll_limit > 0 and (node.box.y1 <= top or node.box.y2 >= bottom)

    def _shown(self, node: UiNode) -> bool:
        """Whether so much of the node shows that a person would touch it."""
        return not self._cut(node) or node.box.y2 - node.box.y1 >= self._heights().get(node.id, 0) * 0.6

    def _heights(self) -> dict[str, float]:
        """The height of each node of this page where it is seen best."""
        best: dict[str, float] = {}
        for _, nodes in self._looks():
            for id, node in nodes.items():
                best[id] = max(best.get(id, 0.0), node.box.y2 - node.box.y1)
        return best

    def _looks(self) -> list[tuple[int, dict[str, UiNode]]]:
        """The page (or its overlay) at every offset to which it can be scrolled, about a row apart. The phone stays as it is."""
        top = self._top()
        if top is None:
            return []
        if self._offsets is None:
            self._offsets = []
            holder: Any = top.overlay or top
            limit = self._frame.overlay_limit if top.overlay else self._frame.scroll_limit
            kept = holder.scroll
            try:
                for offset in [*range(0, limit, LOOK), limit]:
                    holder.scroll = offset
                    self._offsets.append((offset, {node.id: node for node in self.phone.ui()}))
            finally:
                holder.scroll = kept
        return self._offsets

    _offsets: list[tuple[int, dict[str, UiNode]]] | None = None

    def _find(self, id: str) -> tuple[Literal["up", "down"], UiNode] | None:
        """Where to scroll to have a node on the screen: to the nearest offset at which it is seen best."""
        here = self._frame.overlay_scroll if self.overlay is not None else self._frame.scroll
        best = self._heights().get(id)
        if best is None:
            return None
        good = [
            (abs(offset - here), offset, nodes[id])
            for offset, nodes in self._looks()
            if id in nodes and (nodes[id].box.y2 - nodes[id].box.y1) >= best * 0.9
        ]
        distance, offset, node = min(good, key=lambda place: place[:2])
        return ("down" if offset > here else "up", node) if distance else None

    def _scroll(self, direction: Literal["up", "down"], node: UiNode) -> Iterator[Move]:
        """Scroll by half of what shows; down means that the finger goes up."""
        frame = self._frame
        if self.overlay is not None and frame.panel is not None:
            top, bottom = frame.panel[1], min(frame.panel[3], frame.keyboard_top or frame.panel[3])
        else:
            top, bottom = frame.viewport
        reach = (bottom - top) // 4
        x, middle = self.phone.size.width // 2, (top + bottom) // 2
        start, end = (middle + reach, middle - reach) if direction == "down" else (middle - reach, middle + reach)
        yield Move(Swipe(self._point(x, start), self._point(x, end)), *words.scroll(direction, self._name(node)))


def _fits(page: PageState, name: str, args: Mapping[str, str]) -> bool:
    return page.name == name and args.items() <= page.args.items()
