"""A plain screen for phones whose apps are not drawn: it says which app is in front, and shows the few forms that tools wait for.

Any app that is installed can be brought to the front. What an app shows is a `Form`: lines of text and buttons; `FORMS` makes them from
intents, so a new one is a function and a line.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final, cast

from PIL import Image, ImageDraw, ImageFont

from emulator.sim.databases import Value, execute
from emulator.sim.packages import LAUNCHER, Package
from emulator.sim.pictures import png
from emulator.sim.screens.base import Intent, Reply, Screen
from emulator.sim.system_apps import CALLS, CONTACTS, TELEPHONY
from emulator.sim.ui import Bounds, Element
from sopbench.geometry import Size

if TYPE_CHECKING:
    from emulator.sim.android import Android

SIZE: Final = Size(1080, 2400)
MARGIN: Final = 60
ROW: Final = 160
TOP: Final = 240
CLIPPER: Final = "ca.zgrs.clipper"
"""Package of the clipboard helper that agents install; its broadcasts are answered here."""


LABELS: Final = ("Mobile", "Home", "Work")
"""What a number of a new contact is called, in the order that taps on it go round."""
_KINDS: Final = {"Home": 1, "Mobile": 2, "Work": 3}
"""ContactsContract.CommonDataKinds.Phone: TYPE_HOME, TYPE_MOBILE, TYPE_WORK."""
LONGEST: Final = 2000
"""Characters that a field keeps."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a form. `action` names what a tap does (see `DeskScreen._press`).

    `field`: it shows that value of its form, and what is typed after a tap on it is put there; `hint` is what it says while that is empty.
    """

    id: str
    text: str = ""
    action: str = ""
    field: str = ""
    hint: str = ""


@dataclass(slots=True)
class Form:
    title: str
    lines: list[Line] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    front: str = LAUNCHER
    form: Form = field(default_factory=lambda: Form("Home"))
    typed: str = ""
    focus: str = ""
    """The field of the form that typed words go to."""


def _contact(intent: Intent) -> Form:
    first, _, last = intent.text("name").strip().rpartition(" ")
    first, last = (first, last) if first else (last, "")
    values = {
        "first": first,
        "last": last,
        "phone": intent.text("phone"),
        "email": intent.text("email"),
        "label": LABELS[0],
    }
    lines = [
        Line("first_name", field="first", hint="First name"),
        Line("last_name", field="last", hint="Last name"),
        Line("phone", field="phone", hint="Phone"),
        Line("label", action="next_label"),
        Line("save", "SAVE", "save_contact"),
        Line("cancel", "Cancel", "home"),
    ]
    return Form("Create contact", lines, values)


def _call(intent: Intent) -> Form:
    number = intent.data.removeprefix("tel:")
    return Form("Calling", [Line("number", number), Line("end", "End call", "end_call")], {"number": number})


def _message(intent: Intent) -> Form:
    values = {"number": intent.data.partition(":")[2], "body": intent.text("sms_body")}
    lines = [
        Line("to", field="number", hint="To"),
        Line("body", field="body", hint="Text message"),
        Line("send", "Send SMS", "send_message"),
    ]
    return Form("New message", lines, values)


FORMS: Final[dict[tuple[str, str], tuple[str, Callable[[Intent], Form]]]] = {
    ("android.intent.action.INSERT", "vnd.android.cursor.dir/contact"): (
        "com.google.android.contacts/com.android.contacts.activities.ContactEditorActivity", _contact),
    ("android.intent.action.CALL", ""): ("com.google.android.dialer/com.android.incallui.InCallActivity", _call),
    ("android.intent.action.SENDTO", ""): ("com.google.android.apps.messaging/.conversation.screen.ConversationActivity", _message),
}  # fmt: skip
"""(action, type) of an intent -> the activity that it starts, and what that shows."""


class DeskScreen(Screen):
    name: ClassVar[str] = "desk"

    def __init__(self, packages: Sequence[Package] = ()) -> None:
        self.packages = packages
        self._state = _State()
        self._android: Android | None = None

    def attach(self, android: Android) -> None:
        self._android = android

    @property
    def android(self) -> Android:
        assert self._android is not None, "attach() first"
        return self._android

    # ---- looking
    @property
    def size(self) -> Size:
        return SIZE

    @property
    def foreground(self) -> str:
        return self._state.front

    def _rows(self) -> list[tuple[Line, Bounds]]:
        return [
            (line, (MARGIN, TOP + place * ROW, SIZE.width - MARGIN, TOP + (place + 1) * ROW - 20))
            for place, line in enumerate(self._state.form.lines[:12])
        ]

    def image(self) -> Image.Image:
        image = Image.new("RGB", (SIZE.width, SIZE.height), "#F4F4F8")
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0, SIZE.width, 200), "#33415C")
        draw.text((MARGIN, 110), _shown(self._state.form.title), "#FFFFFF", ImageFont.load_default(56))
        for line, box in self._rows():
            if line.action:
                draw.rounded_rectangle(box, 24, "#C9D3E8")
            if line.field:
                draw.line(
                    (box[0], box[3], box[2], box[3]), "#33415C" if line.field == self._state.focus else "#C9D3E8", 4
                )
            words, ink = (self._text(line), "#111111") if self._text(line) else (line.hint, "#777777")
            draw.text((box[0] + 30, box[1] + 45), _shown(words), ink, ImageFont.load_default(44))
        draw.text(
            (MARGIN, SIZE.height - 100),
            f"simulated phone: {_shown(self._state.front)}",
            "#777777",
            ImageFont.load_default(32),
        )
        return image

    def png(self) -> bytes:
        return png(self.image())

    def elements(self) -> list[Element]:
        package = self._state.front.partition("/")[0]
        title = Element(
            "title", "android.widget.TextView", (0, 0, SIZE.width, 200), self._state.form.title, package=package
        )
        return [title] + [self._element(line, box, package) for line, box in self._rows()]

    def _element(self, line: Line, box: Bounds, package: str) -> Element:
        kind = "EditText" if line.field else "Button" if line.action else "TextView"
        return Element(
            line.id,
            f"android.widget.{kind}",
            box,
            self._text(line),
            f"{self._text(line)} Phone" if line.action == "next_label" else "",
            line.hint,
            package,
            clickable=bool(line.action or line.field),
            editable=bool(line.field),
            focused=bool(line.field) and line.field == self._state.focus,
        )

    def _text(self, line: Line) -> str:
        values = self._state.form.values
        return values[line.field] if line.field else values["label"] if line.action == "next_label" else line.text

    # ---- touching
    def tap(self, x: float, y: float) -> None:
        for line, (left, top, right, bottom) in self._rows():
            if left <= x < right and top <= y < bottom:
                if line.field:
                    self._state.focus = line.field
                elif line.action:
                    self._press(line.action)
                return

    def hold(self, x: float, y: float, ms: float) -> None:
        self.tap(x, y)

    def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: float) -> None:
        return

    def text(self, text: str) -> None:
        focus, values = self._state.focus, self._state.form.values
        if focus:
            values[focus] = (values[focus] + text)[:LONGEST]
        else:
            self._state.typed = (self._state.typed + text)[-LONGEST:]

    def key(self, code: str) -> None:
        focus, values = self._state.focus, self._state.form.values
        if code in ("home", "3", "back", "4"):
            self._go_home()
        elif code in ("del", "67") and focus:
            values[focus] = values[focus][:-1]

    def _press(self, action: str) -> None:
        form, files = self._state.form, self.android.files
        if action == "save_contact":
            name = f"{form.values['first']} {form.values['last']}".strip()
            person: list[Value] = [name, form.values["phone"], form.values["email"], _KINDS[form.values["label"]]]
            execute(
                files, CONTACTS, "INSERT INTO phones (display_name, number, email, type) VALUES (?, ?, ?, ?)", person
            )
        elif action == "next_label":
            form.values["label"] = LABELS[(LABELS.index(form.values["label"]) + 1) % len(LABELS)]
            return
        elif action == "send_message":
            now = int(self.android.clock.now() * 1000)
            row: list[Value] = [form.values["number"], form.values["body"], now, now]
            statement = "INSERT INTO sms (address, body, date, date_sent, type, read, seen, thread_id) VALUES (?, ?, ?, ?, 2, 1, 1, 1)"
            execute(files, TELEPHONY, statement, row)
        elif action == "end_call":
            self.android.telephony.state = 0
        self._go_home()

    def _go_home(self) -> None:
        self._state = _State()

    # ---- apps
    def start(self, intent: Intent) -> bool:
        known = FORMS.get((intent.action, intent.type)) or FORMS.get((intent.action, ""))
        if known is not None and not intent.component:
            component, form = known
            self._state = _State(component, form(intent))
            if intent.action == "android.intent.action.CALL":
                self._begin_call(self._state.form.values["number"])
            return True
        if "android.intent.category.HOME" in intent.categories:
            self._go_home()
            return True
        package = intent.component.partition("/")[0] or intent.package
        if not package and intent.data:
            self._state = _State(
                "com.android.chrome/com.google.android.apps.chrome.Main",
                Form("Browser", [Line("address", intent.data)]),
            )
            return True
        found = self.android.packages.get(package)
        if found is None:
            return False
        found.wake(self.android.files)
        activity = intent.component.partition("/")[2] or ".Main"
        self._state = _State(f"{package}/{activity}", Form(self._label(package)))
        return True

    def _begin_call(self, number: str) -> None:
        self.android.telephony.state, self.android.telephony.number = 2, number
        now = int(self.android.clock.now() * 1000)
        execute(self.android.files, CALLS, "INSERT INTO calls (number, date, type) VALUES (?, ?, 2)", [number, now])

    def _label(self, package: str) -> str:
        found = self.android.packages.get(package)
        return (found.label if found else "") or package

    def launch(self, name: str) -> bool:
        for package in self.android.packages.installed.values():
            if package.component and name.casefold() in (package.name.casefold(), package.label.casefold()):
                package.wake(self.android.files)
                self._state = _State(package.component, Form(package.label or package.name))
                return True
        return False

    def stop(self, package: str) -> None:
        if self._state.front.partition("/")[0] == package:
            self._go_home()

    def receive(self, intent: Intent) -> Reply | None:
        """The clipboard helper (`clipper.set -e text T`, `clipper.get`), and a media scan, which wakes the apps that keep databases."""
        if intent.action == "android.intent.action.MEDIA_SCANNER_SCAN_FILE":
            for package in self.android.packages.installed.values():
                package.wake(self.android.files)
            return Reply()
        if intent.action == "clipper.set":
            self.android.clipboard = intent.text("text")
            return Reply(-1, "Text is copied into clipboard.")
        if intent.action == "clipper.get":
            return Reply(-1, self.android.clipboard)
        return None

    # ---- snapshots
    def save(self) -> object:
        return copy.deepcopy(self._state)

    def load(self, saved: object) -> None:
        self._state = copy.deepcopy(cast(_State, saved))


def _shown(text: str) -> str:
    """What the built-in font can draw."""
    return text[:60].encode("ascii", "replace").decode()
