"""What both displays share: how a page's parts stack on the screen, and how they scroll."""

from __future__ import annotations

import calendar
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from emulator.pocket.canvas import IntBox
from emulator.pocket.keyboard import SoftKey
from emulator.pocket.palette import Palette
from emulator.pocket.scene import Scene
from emulator.pocket.state import Device
from emulator.pocket.widgets import (
    Block,
    Composer,
    Dialog,
    Fab,
    Field,
    Launcher,
    MenuItem,
    Overlay,
    Page,
    Sheet,
    Tap,
)
from sopbench.geometry import Size

DIM = 45
"""Percent by which a page is darkened behind an overlay."""

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")  # fmt: skip
WEEKDAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


@dataclass(frozen=True, slots=True)
class Chrome:
    """What the phone itself does when its own buttons and keys are touched."""

    back: Tap
    home: Tap
    recents: Tap
    menu: Tap
    close: Tap
    focus: Callable[[str], None]
    key: Callable[[SoftKey], None]
    clear: Tap


@dataclass(frozen=True, slots=True)
class View:
    """One moment of the phone, ready to be laid out. Scroll offsets are pixels of the display."""

    page: Page
    overlay: Overlay | None
    palette: Palette
    device: Device
    chrome: Chrome
    can_back: bool
    focus: str | None
    layer: str
    toast: str | None
    scroll: int | None
    overlay_scroll: int


@dataclass(slots=True)
class Frame:
    """A laid-out screen and how far its parts can scroll."""

    scene: Scene
    scroll: int = 0
    scroll_limit: int = 0
    viewport: tuple[int, int] = (0, 0)
    overlay_scroll: int = 0
    overlay_limit: int = 0
    panel: IntBox | None = None
    """Where the open overlay lies; touching beside it closes it."""
    keyboard_top: int | None = None
    focused: Field | None = None


class Theme(ABC):
    """Lays out one view. A theme draws the widget class `Row` in its method `row(scene, widget, y, left, right)`,
    which returns the y where the next widget starts; so for every class of `widgets.Block`."""

    size: ClassVar[Size]
    step: ClassVar[int]
    """Scroll offsets are multiples of this many pixels."""
    inset: ClassVar[tuple[int, int]]
    """Left and right edge of a page's widgets."""
    body_pad: ClassVar[int]
    """Room above the first widget."""
    fab_height: ClassVar[int]
    """Rows at the bottom that the main action takes from the body; 0 where it floats."""
    toast_height: ClassVar[int]
    """Rows that a toast takes from the body."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.p = view.palette
        self._texts = 0

    # ---- parts that a display defines
    @abstractmethod
    def top_bar(self, s: Scene, page: Page) -> int:
        """Status bar, title bar, tabs; returns where the body starts."""

    @abstractmethod
    def nav_bar(self, s: Scene, over_panel: bool) -> int:
        """The three system buttons; returns their top."""

    @abstractmethod
    def keyboard(self, s: Scene, kind: str) -> int:
        """The on-screen keyboard; returns its top."""

    @abstractmethod
    def toast(self, s: Scene, text: str, top: int) -> None:
        """A short message in the `toast_height` rows below `top`."""

    @abstractmethod
    def fab(self, s: Scene, fab: Fab, bottom: int) -> int:
        """The main action above `bottom`; returns how much longer a list must be to be scrolled clear of it."""

    @abstractmethod
    def home(self, s: Scene, launcher: Launcher) -> None:
        """The launcher, but for the system buttons."""

    @abstractmethod
    def dialog(self, s: Scene, dialog: Dialog, frame: Frame, bottom: int) -> IntBox:
        """The dialog, in the middle of what is above `bottom`; returns its box."""

    @abstractmethod
    def sheet(self, s: Scene, title: str, items: Sequence[MenuItem], frame: Frame, bottom: int) -> IntBox:
        """The sheet, standing on `bottom`; returns its box."""

    @abstractmethod
    def menu(self, s: Scene, items: Sequence[MenuItem], frame: Frame) -> IntBox:
        """The page's menu, under the title bar; returns its box."""

    # ---- stacking
    def compose(self) -> Frame:
        """The whole screen."""
        view, scene, page = self.view, Scene(), self.view.page
        frame = Frame(scene)
        if page.blocks and isinstance(page.blocks[0], Launcher):
            self.home(scene, page.blocks[0])
            self.nav_bar(scene, over_panel=False)
            return frame
        kind = self._focused_kind()
        floor = self.nav_bar(Scene(), over_panel=False) if kind is None else self.keyboard(Scene(), kind)
        if view.overlay is None:
            self._body(scene, frame, floor, typing=kind is not None)
        else:  # the page behind does not move when a dialog's field brings the keyboard
            self._body(scene, frame, self.nav_bar(Scene(), over_panel=False), typing=False)
            scene.targets.clear()
            scene.dim(DIM)
            frame.panel = self._overlay(scene, view.overlay, frame, floor)
        if kind is not None and view.focus is not None:
            frame.focused = scene.fields.get(view.focus)
            frame.keyboard_top = self.keyboard(scene, kind)
        self.nav_bar(scene, over_panel=isinstance(view.overlay, Sheet))
        check_unique(scene)
        return frame

    def _body(self, scene: Scene, frame: Frame, floor: int, *, typing: bool) -> None:
        page, view = self.view.page, self.view
        bars, body, footer, fab = Scene(), Scene(), Scene(), Scene()
        top = self.top_bar(bars, page)
        end = self.blocks(body, page.blocks, self.body_pad)
        check_unique(body)
        footer_top = floor - (self.blocks(footer, page.footer, 0) if page.footer else 0)
        bottom = footer_top
        if view.toast:
            bottom -= self.toast_height
            self.toast(bars, view.toast, bottom)
        if page.fab is not None and not typing:
            end += self.fab(fab, page.fab, bottom)
            bottom -= self.fab_height
        frame.viewport = (top, bottom)
        frame.scroll_limit = -(-max(0, end - (bottom - top)) // self.step) * self.step
        wanted = view.scroll
        if wanted is None:
            wanted = frame.scroll_limit if page.anchor == "bottom" else 0
        frame.scroll = min(max(0, wanted // self.step * self.step), frame.scroll_limit)
        if frame.scroll_limit:
            scene.node("page.scroll", "scroll", "", (0, top, self.size.width, bottom), scrollable=True)
        scene.place(body, top - frame.scroll, top, bottom)
        if fab.targets:
            scene.width_limit(fab.targets[0].box)
        scene.fill((0, bottom, self.size.width, self.size.height), self.p.background)
        scene.place(fab, 0, 0, self.size.height)
        scene.place(footer, footer_top, 0, self.size.height)
        scene.place(bars, 0, 0, self.size.height)

    def _overlay(self, scene: Scene, overlay: Overlay, frame: Frame, floor: int) -> IntBox:
        if isinstance(overlay, Dialog):
            return self.dialog(scene, overlay, frame, floor)
        if isinstance(overlay, Sheet):
            return self.sheet(scene, overlay.title, overlay.items, frame, floor)
        return self.menu(scene, overlay.items, frame)

    def blocks(self, s: Scene, blocks: Sequence[Block], y: int, inset: tuple[int, int] | None = None) -> int:
        """Lay out widgets one below the other from `y`; returns where they end."""
        left, right = inset or self.inset
        for block in blocks:
            y = self.block(s, block, y, left, right)
        return y

    def block(self, s: Scene, block: Block, y: int, left: int, right: int) -> int:
        """Lay out one widget by the method that bears its class's name."""
        draw: Callable[[Scene, Block, int, int, int], int] = getattr(self, type(block).__name__.lower())
        return draw(s, block, y, left, right)

    def scrolled(self, s: Scene, content: Scene, height: int, area: tuple[int, int], frame: Frame) -> None:
        """Place an overlay's `content` of `height` into the rows `area`, scrolled by the overlay's offset."""
        top, bottom = area
        frame.overlay_limit = -(-max(0, height - (bottom - top)) // self.step) * self.step
        wanted = self.view.overlay_scroll // self.step * self.step
        frame.overlay_scroll = min(max(0, wanted), frame.overlay_limit)
        if frame.overlay_limit:
            s.node("overlay.scroll", "scroll", "", (0, top, self.size.width, bottom), scrollable=True)
        s.place(content, top - frame.overlay_scroll, top, bottom)

    # ---- small common things
    def closing(self, tap: Tap | None) -> Tap | None:
        """A handler that first closes the overlay."""
        if tap is None:
            return None

        def run() -> None:
            self.view.chrome.close()
            tap()

        return run

    def text_id(self, given: str) -> str:
        """The id of a text: the one given, else a running one."""
        if given:
            return given
        self._texts += 1
        return f"text.{self._texts}"

    def focused(self, widget: Field) -> bool:
        return self.view.focus == widget.id

    def _focused_kind(self) -> str | None:
        """The kind of the field that has the cursor: the overlay's, else the page's."""
        view = self.view
        blocks: Sequence[Block] = (*view.page.blocks, *view.page.footer)
        if view.overlay is not None:
            blocks = view.overlay.blocks if isinstance(view.overlay, Dialog) else ()
        for block in blocks:
            candidate = block.field if isinstance(block, Composer) else block
            if isinstance(candidate, Field) and candidate.id == view.focus:
                return candidate.kind
        return None


def month_shape(year: int, month: int) -> tuple[int, int]:
    """(weekday of the first, Monday being 0; number of days)."""
    return calendar.monthrange(year, month)


def initials(name: str) -> str:
    """Up to two letters that stand for a name."""
    return "".join(word[0] for word in name.split()[:2]).upper()


def check_unique(scene: Scene) -> None:
    """Raise `ValueError` if two nodes share an id: a mistake of the app's author."""
    seen: set[str] = set()
    for target in scene.targets:
        if target.id in seen:
            raise ValueError(f"two widgets of one page have the id {target.id!r}; ids must be unique on a page")
        seen.add(target.id)
