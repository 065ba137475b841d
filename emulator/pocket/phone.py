"""The phone: a state, a display, and what each action does to the state.

It is a pure function of its state: the same state on the same display is the same screen to the byte, and the same actions
from the same state end in the same state. There is no clock but the state's and no chance but the seed's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from PIL import Image

from emulator.pocket import png
from emulator.pocket.app import App, Ctx
from emulator.pocket.apps import all_apps
from emulator.pocket.canvas import Canvas
from emulator.pocket.keyboard import SoftKey
from emulator.pocket.palette import Colour, Palette
from emulator.pocket.scene import Op, Scene, Target, UiNode
from emulator.pocket.state import HOME, RECENTS, Device, OverlayState, PageState, PhoneState
from emulator.pocket.system import launcher_page, recents_page
from emulator.pocket.themes import THEMES, Display, Frame, View
from emulator.pocket.themes.base import Chrome
from emulator.pocket.widgets import Menu, Overlay, Page
from emulator.pocket.world import World
from sopbench.actions import (
    Action,
    Answer,
    Click,
    Key,
    LongPress,
    Open,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
)
from sopbench.geometry import Box, Point, Size

SYSTEM_ACCENT = "#4A5578"
MIN_SWIPE = 24
"""Pixels that a finger must travel to be a swipe; less is nothing."""
DRAWN = 2048
"""Screens whose PNG is kept (20 MB at most): agents on the same tasks mostly meet the same ones."""
MAX_FIELD = 2000
"""Characters that a field holds; more are dropped."""

KEYS = {
    "back": "back", "4": "back", "home": "home", "3": "home", "menu": "menu", "82": "menu",
    "enter": "enter", "66": "enter", "numpad_enter": "enter", "160": "enter", "app_switch": "recents", "187": "recents",
    "del": "backspace", "67": "backspace", "space": "space", "62": "space", "escape": "back", "111": "back",
    "volume_up": "volume_up", "24": "volume_up", "volume_down": "volume_down", "25": "volume_down",
    "volume_mute": "mute", "164": "mute",
}  # fmt: skip
"""adb key events (names without KEYCODE_, or numbers; android.view.KeyEvent) that do something here."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an action did. `done` is False when nothing was there to be acted on; `target` is the node that was touched."""

    done: bool
    what: str
    target: UiNode | None = None


def fresh_state(seed: int, apps: Iterable[App[Any]] | None = None) -> PhoneState:
    """A new phone's state: every app's content and the order of the icons follow from `seed`."""
    device = Device()
    world = World.of(seed, device.time)
    chosen = tuple(all_apps() if apps is None else apps)
    icons = [app.name for app in chosen]
    random.Random(f"icons/{seed}").shuffle(icons)
    data = {app.name: app.fresh(random.Random(f"{app.name}/{seed}"), world) for app in chosen}
    return PhoneState(device=device, apps=data, icons=icons)


@lru_cache(maxsize=DRAWN)
def _drawn(size: Size, background: Colour, ops: tuple[Op, ...]) -> bytes:
    """The PNG of a display list. Drawing takes some 25 ms, laying out 2 (`bench_phone`)."""
    canvas = Canvas(size.width, size.height, background)
    Scene(list(ops)).paint(canvas)
    return png.encode(canvas.image)


class Phone:
    """A simulated phone on one display, `regular` (540 x 1200) or `large` (504 x 1092, a grid of 84 pixels).

    `state` may be read and changed freely between actions; without one, `fresh_state(seed)` is used. `apps` are those installed
    (all of them if None).
    """

    def __init__(
        self,
        display: Display = "regular",
        state: PhoneState | None = None,
        seed: int = 0,
        apps: Iterable[App[Any]] | None = None,
    ) -> None:
        if display not in THEMES:
            raise ValueError(f"no display {display!r}; PocketPhone has {' and '.join(THEMES)}")
        installed = tuple(all_apps() if apps is None else apps)
        self.display: Display = display
        self.state = fresh_state(seed, installed) if state is None else state
        self.apps = {app.name: app for app in installed if app.name in self.state.apps}

    # ---- what can be seen
    @property
    def size(self) -> Size:
        """The display's size in pixels."""
        return THEMES[self.display].size

    def screen(self) -> Image.Image:
        """The screen as an "RGB" image of `size`."""
        canvas = Canvas(self.size.width, self.size.height, self._palette().background)
        self.frame().scene.paint(canvas)
        return canvas.image

    def png(self) -> bytes:
        """The screen as the bytes of a palette PNG: the same bytes for the same state."""
        return _drawn(self.size, self._palette().background, tuple(self.frame().scene.ops))

    def ui(self) -> tuple[UiNode, ...]:
        """The visible nodes, in drawing order; with an open dialog, menu or sheet only its own and the system's."""
        return tuple(target.public() for target in self.frame().scene.targets)

    def candidates(self, point: Point) -> tuple[Box, ...]:
        """Boxes, in pixels, of the clickable nodes that contain a unit point."""
        x, y = point.to_pixels(self.size)
        return tuple(node.box for node in self.ui() if node.clickable and node.contains(x, y))

    @property
    def foreground(self) -> tuple[str, str]:
        """(app, page) in front, such as ("notes", "main"); ("launcher", "main") at home."""
        nav = self.state.nav
        return nav.app, nav.stacks[nav.app][-1].name if nav.app in self.apps else "main"

    @property
    def answers(self) -> list[str]:
        return self.state.answers

    @property
    def finished(self) -> str | None:
        """`success` or `failure` once a terminate action came."""
        return self.state.finished

    # ---- laying out
    def frame(self) -> Frame:
        """The laid-out screen: the UI tree with its handlers, and how far things scroll."""
        page, overlay = self._content()
        nav, top = self.state.nav, self._top()
        view = View(
            page=page,
            overlay=overlay,
            palette=self._palette(),
            device=self.state.device,
            chrome=self._chrome(),
            can_back=nav.app in self.apps and len(nav.stacks[nav.app]) > 1,
            focus=nav.focus,
            layer=nav.layer,
            toast=nav.toast,
            scroll=top.scroll if top else None,
            overlay_scroll=top.overlay.scroll if top and top.overlay else 0,
        )
        return THEMES[self.display](view).compose()

    def _top(self) -> PageState | None:
        nav = self.state.nav
        return nav.stacks[nav.app][-1] if nav.app in self.apps else None

    def _content(self) -> tuple[Page, Overlay | None]:
        nav = self.state.nav
        if nav.app == RECENTS:
            return recents_page(self.state, self.apps, self._resume), None
        if nav.app not in self.apps:
            return launcher_page(self.state, self.apps, self._resume), None
        app, ctx = self.apps[nav.app], Ctx[Any](self.state, nav.app)
        page = app.build(ctx)
        if ctx.page.overlay is not None and ctx.page.overlay.name == "menu":
            return page, Menu(page.menu)
        return page, app.overlay(ctx)

    def _palette(self) -> Palette:
        app = self.apps.get(self.state.nav.app)
        return Palette.of(app.accent if app else SYSTEM_ACCENT, dark=self.state.device.dark)

    def _chrome(self) -> Chrome:
        return Chrome(
            back=self._back,
            home=self._home,
            recents=self._recents,
            menu=self._menu,
            close=self._close_overlay,
            focus=self._focus,
            key=self._soft_key,
            clear=self._clear,
        )

    # ---- acting
    def act(self, action: Action) -> Outcome:
        """Do one action. Points are unit coordinates. After `terminate` nothing has an effect any more.

        click: the topmost clickable node at the point; beside an open overlay it closes it.
        long_press: the node's long action; a node with only a short one gets that, as on Android.
        swipe: scrolls what lies under the path's start by the path (the large display by whole cells); a sideways one turns tabs and months.
        type: appends to the focused field; without one nothing happens. A newline at the end presses Enter; others become
        spaces unless the field takes several lines. open: brings an app to the front as it was left. key: see `KEYS`.
        wait: time passes for timers. answer and terminate are recorded.
        """
        if self.state.finished is not None:
            return Outcome(False, "the episode is over")
        self.state.nav.toast = None
        match action:
            case Click(point):
                return self._touch(point, long=False)
            case LongPress(point):
                return self._touch(point, long=True)
            case Swipe(start, end):
                return self._swipe(start, end)
            case Type(text):
                return self._type(text)
            case Open(name):
                return self._open(name)
            case SystemButton(button):
                return self._press(button.lower())
            case Key(code):
                return self._key(code)
            case Wait(seconds):
                for app in self.apps.values():
                    app.tick(Ctx(self.state, app.name), seconds)
                return Outcome(True, f"waited {seconds:g} s")
            case Answer(text):
                self.state.answers.append(text)
                return Outcome(True, "answered")
            case Terminate(status):
                self.state.finished = status
                return Outcome(True, f"ended with {status}")

    def _touch(self, point: Point, *, long: bool) -> Outcome:
        x, y = point.to_pixels(self.size)
        frame = self.frame()
        hit = _topmost(frame.scene.targets, x, y)
        if hit is None:
            panel, keys = frame.panel, frame.keyboard_top
            beside = panel is not None and not (panel[0] <= x < panel[2] and panel[1] <= y < panel[3])
            on_screen = 0 <= x < self.size.width and 0 <= y < self.size.height
            if beside and on_screen and (keys is None or y < keys):
                self._close_overlay()
                return Outcome(True, "closed what was open")
            return Outcome(False, "nothing there")
        run = hit.on_long if long and hit.on_long else hit.on_tap
        if run is None:
            return Outcome(False, "nothing happens on a tap", hit.public())
        before = self.state.nav.focus
        run()
        if self.state.nav.focus is not None and self.state.nav.focus != before:
            self._reveal()
        verb = "held" if long and hit.on_long else "tapped"
        return Outcome(True, f"{verb} {hit.id}", hit.public())

    def _swipe(self, start: Point, end: Point) -> Outcome:
        x1, y1 = start.to_pixels(self.size)
        x2, y2 = end.to_pixels(self.size)
        dx, dy = x2 - x1, y2 - y1
        frame, top = self.frame(), self._top()
        if max(abs(dx), abs(dy)) < MIN_SWIPE:
            return Outcome(False, "too short for a swipe")
        if top is None or (frame.keyboard_top is not None and y1 >= frame.keyboard_top):
            return Outcome(False, "nothing to scroll there")
        if abs(dx) > abs(dy):
            return self._sideways("right" if dx > 0 else "left", frame)
        if top.overlay is not None:
            offset, limit = frame.overlay_scroll, frame.overlay_limit
        else:
            offset, limit = frame.scroll, frame.scroll_limit
            if not frame.viewport[0] <= y1 < frame.viewport[1]:
                return Outcome(False, "nothing to scroll there")
        step = THEMES[self.display].step
        moved = min(max(0, offset - _round(dy / step) * step), limit)
        if moved == offset:
            return Outcome(False, "already at the end" if limit else "nothing to scroll there")
        if top.overlay is not None:
            top.overlay.scroll = moved
        else:
            top.scroll = moved
        return Outcome(True, f"scrolled by {moved - offset} pixels")

    def _sideways(self, direction: str, frame: Frame) -> Outcome:
        page, _ = self._content()
        if frame.panel is not None:
            return Outcome(False, "nothing to swipe there")
        if page.on_swipe is not None:
            page.on_swipe(direction)
            return Outcome(True, f"swiped {direction}")
        if page.tabs is not None:
            keys = list(page.tabs.options)
            place = keys.index(page.tabs.chosen) + (1 if direction == "left" else -1)
            if 0 <= place < len(keys):
                page.tabs.on_pick(keys[place])
                return Outcome(True, f"turned to {keys[place]}")
        return Outcome(False, "nothing to swipe there")

    def _type(self, text: str) -> Outcome:
        field = self.frame().focused
        if field is None:
            return Outcome(False, "no field has the cursor")
        body = text if field.kind == "multiline" else text.removesuffix("\n").replace("\n", " ")
        field.on_change((field.value + body)[:MAX_FIELD])
        if field.kind != "multiline" and text.endswith("\n"):
            self._enter()
        return Outcome(True, f"typed into {field.id}")

    def _open(self, name: str) -> Outcome:
        wanted = " ".join(name.split()).casefold()
        for app in self.apps.values():
            if wanted in (app.name.casefold(), app.title.casefold(), *(alias.casefold() for alias in app.aliases)):
                self._resume(app.name)
                return Outcome(True, f"opened {app.name}")
        return Outcome(False, f"no app {name[:40]!r}")

    def _press(self, button: str) -> Outcome:
        if button == "enter":
            return self._enter()
        if button == "menu" and self._has_menu():
            self._menu()
            return Outcome(True, "opened the menu")
        if button == "back" and self.state.nav.app == HOME:
            return Outcome(False, "nothing to go back to")
        {"back": self._back, "home": self._home, "menu": self._recents, "recents": self._recents}[button]()
        return Outcome(True, f"pressed {button}")

    def _key(self, code: str) -> Outcome:
        key = KEYS.get(code.strip().lower().removeprefix("keycode_"))
        device = self.state.device
        if key is None:
            return Outcome(False, f"the key {code[:40]!r} does nothing here")
        if key in ("backspace", "space"):
            if self.frame().focused is None:
                return Outcome(False, "no field has the cursor")
            self._soft_key(SoftKey(key))
        elif key in ("volume_up", "volume_down", "mute"):
            change = {"volume_up": device.volume + 1, "volume_down": device.volume - 1, "mute": 0}[key]
            device.volume = min(5, max(0, change))
            self.state.nav.toast = f"Volume {device.volume}"
        else:
            return self._press(key)
        return Outcome(True, f"pressed {key}")

    # ---- the phone's own buttons
    def _back(self) -> None:
        """Closes the keyboard, else the overlay, else the page, else leaves the app."""
        nav, top = self.state.nav, self._top()
        if nav.focus is not None and self.frame().focused is not None:
            nav.focus = None
        elif top is not None and top.overlay is not None:
            self._close_overlay()
        elif top is not None and len(nav.stacks[nav.app]) > 1:
            Ctx[Any](self.state, nav.app).pop()
        else:
            nav.stacks.pop(nav.app, None)
            self._home()

    def _home(self) -> None:
        self.state.nav.focus = None
        self.state.nav.app = HOME

    def _recents(self) -> None:
        self.state.nav.focus = None
        self.state.nav.app = RECENTS

    def _resume(self, app: str) -> None:
        """Bring an app to the front as it was left."""
        nav = self.state.nav
        nav.focus = None
        nav.app = app
        nav.stacks.setdefault(app, [PageState("main")])
        nav.recent = [app, *(other for other in nav.recent if other != app)]

    def _has_menu(self) -> bool:
        page, overlay = self._content()
        return self._top() is not None and overlay is None and bool(page.menu)

    def _menu(self) -> None:
        """Open the page's menu."""
        top = self._top()
        self.state.nav.focus = None
        if top is not None:
            top.overlay = OverlayState("menu")

    def _close_overlay(self) -> None:
        top = self._top()
        self.state.nav.focus = None
        if top is not None:
            top.overlay = None

    # ---- text
    def _focus(self, field: str) -> None:
        self.state.nav.focus = field
        self.state.nav.layer = "abc"

    def _reveal(self) -> None:
        """Scroll so that the field with the cursor is above the keyboard, as far as possible."""
        frame, top = self.frame(), self._top()
        if frame.focused is None or top is None or top.overlay is not None:
            return
        step = THEMES[self.display].step
        seen = [node for node in frame.scene.targets if node.id == frame.focused.id]
        top.scroll = frame.scroll
        for offset in range(0, frame.scroll_limit + 1, max(step, 24)):
            if seen and self._whole(frame, seen[0]):
                return
            top.scroll = offset
            frame = self.frame()
            seen = [node for node in frame.scene.targets if node.focused]

    @staticmethod
    def _whole(frame: Frame, node: Target) -> bool:
        """Whether a focused node is not cut by the keyboard (a footer's field stands outside the viewport)."""
        return node.box[3] < frame.viewport[1] or node.box[1] >= frame.viewport[1]

    def _enter(self) -> Outcome:
        field = self.frame().focused
        if field is None:
            return Outcome(False, "no field has the cursor")
        if field.kind == "multiline":
            field.on_change((field.value + "\n")[:MAX_FIELD])
            return Outcome(True, "new line")
        self.state.nav.focus = None
        if field.on_submit is not None:
            field.on_submit()
        return Outcome(True, f"submitted {field.id}")

    def _clear(self) -> None:
        field = self.frame().focused
        if field is not None:
            field.on_change("")

    def _soft_key(self, key: SoftKey) -> None:
        field, nav = self.frame().focused, self.state.nav
        if field is None:
            return
        typed: dict[str, Callable[[], str]] = {
            "backspace": lambda: field.value[:-1],
            "space": lambda: field.value + " ",
        }
        layers = {"shift": "abc" if nav.layer == "ABC" else "ABC", "symbols": "symbols", "letters": "abc"}
        if key.code == "enter":
            self._enter()
        elif key.code in layers:
            nav.layer = layers[key.code]
        else:
            text = typed[key.code]() if key.code in typed else field.value + key.code
            field.on_change(text[:MAX_FIELD])
            if nav.layer == "ABC":
                nav.layer = "abc"


def _topmost(targets: list[Target], x: float, y: float) -> Target | None:
    for target in reversed(targets):
        if (target.on_tap or target.on_long) and target.public().contains(x, y):
            return target
    return None


def _round(value: float) -> int:
    """To the nearest whole number, halves away from zero."""
    return math.floor(value + 0.5) if value >= 0 else -math.floor(-value + 0.5)
