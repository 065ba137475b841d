"""PocketPhone as the screen of a simulated phone, and the receiver through which its tasks are started and scored by adb.

    am broadcast -a org.sopbench.pocket.START --es template notes.pin --ei seed 3     begin a task: the phone becomes the task's phone
    am broadcast -a org.sopbench.pocket.SCORE                                         data: the verdict of the task's own check, 0..1
    am broadcast -a org.sopbench.pocket.EXPERT                                        data: the expert's next action (released JSON), or null
    am broadcast -a org.sopbench.pocket.ANSWER --es text "..."                        what the agent tells the user
    am broadcast -a org.sopbench.pocket.FINISH --es status success                    what `terminate` means
    am broadcast -a org.sopbench.pocket.STATE                                         data: the whole state as JSON

Texts may be given in base64 (`--es text64`), as the answers' data are where they hold more than plain letters: a broadcast's result
is one line between quotes.
"""

from __future__ import annotations

import base64
import binascii
import copy
import json
from typing import ClassVar, Final, cast

from PIL import Image

from emulator.pocket.phone import Phone
from emulator.pocket.scene import UiNode
from emulator.pocket.state import HOME, RECENTS
from emulator.pocket.tasks import PocketSession, TaskError, start
from emulator.pocket.themes import Display
from emulator.sim.packages import LAUNCHER, Package
from emulator.sim.screens.base import Intent, Reply, Screen
from emulator.sim.ui import Element
from sopbench.actions import (
    Action,
    Answer,
    Click,
    Key,
    LongPress,
    Open,
    Status,
    Swipe,
    Terminate,
    Type,
    Wait,
    to_released,
)
from sopbench.geometry import Point, Size

PREFIX: Final = "org.sopbench.pocket"
_CLASSES: Final = {
    "button": "android.widget.Button", "field": "android.widget.EditText", "switch": "android.widget.Switch", "checkbox": "android.widget.CheckBox",
    "radio": "android.widget.RadioButton", "icon": "android.widget.ImageButton", "key": "android.inputmethodservice.Keyboard$Key",
    "scroll": "android.widget.ScrollView", "list": "android.widget.ListView", "tab": "android.widget.TextView", "image": "android.widget.ImageView",
}  # fmt: skip


class PocketScreen(Screen):
    """A `Phone` of its own; `START` puts another in its place."""

    name: ClassVar[str] = "pocket"

    def __init__(self, display: Display = "regular", seed: int = 0) -> None:
        self.phone = Phone(display, seed=seed)
        self._session: PocketSession | None = None
        self.packages = [Package(f"{PREFIX}.{name}", ".Main", app.title) for name, app in self.phone.apps.items()]

    # ---- looking
    @property
    def size(self) -> Size:
        return self.phone.size

    def png(self) -> bytes:
        return self.phone.png()

    def image(self) -> Image.Image:
        return self.phone.screen()

    def elements(self) -> list[Element]:
        package = self.foreground.partition("/")[0]
        return [_element(node, package) for node in self.phone.ui()]

    @property
    def foreground(self) -> str:
        app, page = self.phone.foreground
        if app in (HOME, RECENTS):
            return LAUNCHER
        return f"{PREFIX}.{app}/.{page.title()}"

    # ---- touching
    def _act(self, action: Action) -> None:
        self.phone.act(action)

    def _point(self, x: float, y: float) -> Point:
        return Point.from_pixels(x, y, self.size)

    def tap(self, x: float, y: float) -> None:
        self._act(Click(self._point(x, y)))

    def hold(self, x: float, y: float, ms: float) -> None:
        self._act(LongPress(self._point(x, y), ms / 1000))

    def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: float) -> None:
        self._act(Swipe(self._point(x1, y1), self._point(x2, y2)))

    def text(self, text: str) -> None:
        self._act(Type(text))

    def key(self, code: str) -> None:
        if code == "select_all":
            return
        self._act(Key(code))

    def wait(self, seconds: float) -> None:
        self._act(Wait(seconds))

    # ---- apps
    def start(self, intent: Intent) -> bool:
        package = intent.component.partition("/")[0] or intent.package
        if "android.intent.category.HOME" in intent.categories:
            self._act(Key("home"))
            return True
        return self.launch(package)

    def launch(self, name: str) -> bool:
        """By package or by name. An unknown one is asked of the phone, too: it is an `open` that does nothing."""
        return self.phone.act(Open(name.removeprefix(f"{PREFIX}."))).done

    def stop(self, package: str) -> None:
        name = package.removeprefix(f"{PREFIX}.")
        nav = self.phone.state.nav
        if package != name and nav.stacks.pop(name, None) is not None:
            nav.recent = [other for other in nav.recent if other != name]
            if nav.app == name:
                nav.app, nav.focus = HOME, None

    # ---- tasks
    def receive(self, intent: Intent) -> Reply | None:
        if not intent.action.startswith(f"{PREFIX}."):
            return None
        try:
            return self._order(intent.action.removeprefix(f"{PREFIX}."), intent)
        except (TaskError, ValueError) as error:
            return Reply(1, _plain(f"error: {error}"))

    def _order(self, verb: str, intent: Intent) -> Reply:
        if verb == "START":
            seed = intent.extras.get("seed")
            if not isinstance(seed, int) or isinstance(seed, bool):
                raise ValueError("START needs --ei seed NUMBER")
            self._session = start(intent.text("template"), seed, intent.text("display") or self.phone.display)
            self.phone = self._session.phone
            return Reply(-1, _plain(self._session.goal))
        if verb == "STATE":
            return Reply(-1, _sent(self.phone.state.to_json()))
        if verb == "ANSWER":
            self._act(Answer(_told(intent, "text")))
            return Reply(-1, "ok")
        if verb == "FINISH":
            status = intent.text("status")
            if status not in ("success", "failure"):
                raise ValueError("FINISH needs --es status success|failure")
            self._act(Terminate(cast(Status, status)))
            return Reply(-1, "ok")
        if self._session is None:
            raise ValueError("no task: START first")
        if verb == "SCORE":
            return Reply(-1, repr(self._session.score()))
        if verb == "EXPERT":
            action = self._session.expert()
            told = None if action is None else to_released(action, self.size)
            return Reply(-1, _sent(json.dumps(told)))
        raise ValueError(f"unknown order {verb[:40]}")

    # ---- snapshots
    def save(self) -> object:
        """A session holds the phone, the state at its start and what its expert remembers: all of it is kept."""
        return copy.deepcopy(
            (self._session, self.phone) if self._session is None else (self._session, self._session.phone)
        )

    def load(self, saved: object) -> None:
        self._session, self.phone = copy.deepcopy(cast("tuple[PocketSession | None, Phone]", saved))


def _told(intent: Intent, name: str) -> str:
    """A text that came as it is, or in base64."""
    if f"{name}64" not in intent.extras:
        return intent.text(name)
    try:
        return base64.b64decode(intent.text(f"{name}64"), validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError):
        raise ValueError(f"{name}64 is no text in base64") from None


def _sent(text: str) -> str:
    return "base64:" + base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def _plain(text: str) -> str:
    return text if text.isascii() and text.isprintable() and '"' not in text else _sent(text)


def _element(node: UiNode, package: str) -> Element:
    box = node.box
    return Element(
        id=node.id,
        class_name="android.widget.EditText" if node.editable else _CLASSES.get(node.role, "android.widget.TextView"),
        bounds=(int(box.x1), int(box.y1), int(box.x2), int(box.y2)),
        text=node.text,
        package=package,
        clickable=node.clickable,
        long_clickable=node.long_clickable,
        scrollable=node.scrollable,
        editable=node.editable,
        checkable=node.checked is not None,
        checked=bool(node.checked),
        focused=node.focused,
        parent=node.parent,
    )
