"""A page of Chromium as the screen of a simulated phone: 1080 x 2400 pixels, touched by real touch events of the browser."""

from __future__ import annotations

import base64
import io
import queue
import time
from typing import Any, ClassVar, Final

from PIL import Image

from emulator.sim.cdp import Browser, BrowserFailed
from emulator.sim.packages import LAUNCHER, Package
from emulator.sim.screens.base import Intent, Screen
from emulator.sim.ui import Element
from sopbench.geometry import Size

SIZE: Final = Size(1080, 2400)
SCALE: Final = 5.0
"""Pixels of the screen to one of CSS: a page of 216 x 480."""
BROWSER: Final = "com.android.chrome"
STEPS: Final = 10
LOAD_SECONDS: Final = 15.0
SCHEMES: Final = ("http://", "https://", "data:", "about:", "file:")
HOME: Final = (
    "data:text/html,<body style='background:%23224;color:%23fff;font:14px sans-serif'><p>Simulated phone</p></body>"
)
_ELEMENTS: Final = """(() => {
  const found = [], focus = document.activeElement;
  for (const e of document.querySelectorAll('body *')) {
    const r = e.getBoundingClientRect();
    if (!r.width || !r.height || r.bottom <= 0 || r.right <= 0 || r.top >= innerHeight || r.left >= innerWidth) continue;
    const style = getComputedStyle(e);
    if (style.visibility === 'hidden' || style.display === 'none') continue;
    const own = [...e.childNodes].filter(n => n.nodeType === 3).map(n => n.textContent.trim()).join(' ').trim();
    const acts = /^(BUTTON|INPUT|SELECT|TEXTAREA|A|LABEL|OPTION)$/.test(e.tagName) || e.onclick !== null;
    if (!own && !acts) continue;
    found.push([e.tagName, (own || e.value || e.getAttribute('aria-label') || '').slice(0, 500), r.left, r.top, r.right, r.bottom, acts,
      e.id || '', !!e.checked, e === focus, e.type || '', e.placeholder || '']);
    if (found.length >= 1000) break;
  }
  return found;
})()"""
_CLASSES: Final = {
    "BUTTON": "android.widget.Button", "INPUT": "android.widget.EditText", "TEXTAREA": "android.widget.EditText", "SELECT": "android.widget.Spinner",
}  # fmt: skip
_KEYS: Final = {
    "enter": ("Enter", 13, "\r"), "66": ("Enter", 13, "\r"), "del": ("Backspace", 8, ""), "67": ("Backspace", 8, ""), "tab": ("Tab", 9, ""),
    "61": ("Tab", 9, ""), "escape": ("Escape", 27, ""), "111": ("Escape", 27, ""), "space": (" ", 32, " "), "62": (" ", 32, " "),
    "dpad_up": ("ArrowUp", 38, ""), "19": ("ArrowUp", 38, ""), "dpad_down": ("ArrowDown", 40, ""), "20": ("ArrowDown", 40, ""),
    "dpad_left": ("ArrowLeft", 37, ""), "21": ("ArrowLeft", 37, ""), "dpad_right": ("ArrowRight", 39, ""), "22": ("ArrowRight", 39, ""),
    "move_end": ("End", 35, ""), "123": ("End", 35, ""), "move_home": ("Home", 36, ""), "122": ("Home", 36, ""),
}  # fmt: skip


class ChromiumScreen(Screen):
    """One tab. `url` is shown first; Home goes to a plain page, Back through the history."""

    name: ClassVar[str] = "chromium"
    packages = (Package(BROWSER, "com.google.android.apps.chrome.Main", "Chrome"),)

    def __init__(self, url: str = "about:blank") -> None:
        self._browser = Browser()
        try:
            target = self._browser.call("Target.createTarget", None, url="about:blank")["targetId"]
            self._session = self._browser.call("Target.attachToTarget", None, targetId=target, flatten=True)[
                "sessionId"
            ]
            self._call("Page.enable")
            width, height = round(SIZE.width / SCALE), round(SIZE.height / SCALE)
            self._call(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=SCALE, mobile=False
            )
            self._call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
            self._home = url == "about:blank"
            self.goto(HOME if self._home else url)
        except BaseException:
            self._browser.close()
            raise

    def _call(self, method: str, /, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)

    # ---- pages
    def goto(self, url: str) -> None:
        """Show a page and wait until it has loaded. Raises `BrowserFailed`."""
        if not url.startswith(SCHEMES):
            raise BrowserFailed(f"no address of a page: {url[:80]!r}")
        while not self._browser.events.empty():
            self._browser.events.get_nowait()
        self._call("Page.navigate", url=url)
        try:
            self._browser.events.get(timeout=LOAD_SECONDS)
        except queue.Empty:
            raise BrowserFailed(f"{url[:80]} did not load within {LOAD_SECONDS:g} s") from None

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page. Raises `BrowserFailed` where it throws."""
        reply = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise BrowserFailed(f"the page's script failed: {str(reply['exceptionDetails'].get('text'))[:200]}")
        return reply["result"].get("value")

    # ---- looking
    @property
    def size(self) -> Size:
        return SIZE

    def png(self) -> bytes:
        return base64.b64decode(self._call("Page.captureScreenshot", format="png", optimizeForSpeed=True)["data"])

    def image(self) -> Image.Image:
        return Image.open(io.BytesIO(self.png())).convert("RGB")

    def elements(self) -> list[Element]:
        package = self.foreground.partition("/")[0]
        return [_element(place, facts, package) for place, facts in enumerate(self.evaluate(_ELEMENTS))]

    @property
    def foreground(self) -> str:
        return LAUNCHER if self._home else f"{BROWSER}/com.google.android.apps.chrome.Main"

    # ---- touching
    def _touch(self, kind: str, points: list[tuple[float, float]]) -> None:
        touches = [{"x": x / SCALE, "y": y / SCALE} for x, y in points]
        self._call("Input.dispatchTouchEvent", type=kind, touchPoints=touches)

    def tap(self, x: float, y: float) -> None:
        self.hold(x, y, 0.0)

    def hold(self, x: float, y: float, ms: float) -> None:
        self._touch("touchStart", [(x, y)])
        time.sleep(ms / 1000)
        self._touch("touchEnd", [])

    def swipe(self, x1: float, y1: float, x2: float, y2: float, ms: float) -> None:
        self._touch("touchStart", [(x1, y1)])
        for step in range(1, STEPS + 1):
            time.sleep(ms / 1000 / STEPS)
            part = step / STEPS
            self._touch("touchMove", [(x1 + (x2 - x1) * part, y1 + (y2 - y1) * part)])
        self._touch("touchEnd", [])

    def text(self, text: str) -> None:
        body = text.removesuffix("\n")
        if body:
            self._call("Input.insertText", text=body)
        if body != text:
            self.key("enter")

    def key(self, code: str) -> None:
        if code in ("home", "3"):
            self._home = True
            self.goto(HOME)
        elif code in ("back", "4"):
            self.evaluate("history.back()")
        elif code == "select_all":
            self.evaluate("document.activeElement && document.activeElement.select && document.activeElement.select()")
        elif code in _KEYS:
            name, number, text = _KEYS[code]
            facts: dict[str, Any] = {
                "key": name,
                "code": name,
                "windowsVirtualKeyCode": number,
                "nativeVirtualKeyCode": number,
            }
            self._call("Input.dispatchKeyEvent", type="keyDown", **facts, **({"text": text} if text else {}))
            self._call("Input.dispatchKeyEvent", type="keyUp", **facts)

    def wait(self, seconds: float) -> None:
        """A page's own clock cannot be turned: it is really waited for, up to ten seconds."""
        time.sleep(min(seconds, 10.0))

    # ---- apps
    def start(self, intent: Intent) -> bool:
        if intent.data.startswith(("http://", "https://")):
            self._home = False
            self.goto(intent.data)
            return True
        return self.launch(intent.component.partition("/")[0] or intent.package)

    def launch(self, name: str) -> bool:
        if name not in (BROWSER, "Chrome", "chrome"):
            return False
        if self._home:
            self._home = False
            self.goto("about:blank")
        return True

    def close(self) -> None:
        self._browser.close()


def _element(place: int, facts: list[Any], package: str) -> Element:
    tag, text, left, top, right, bottom, acts, id, checked, focused, kind, hint = facts
    box = [round(value * SCALE) for value in (left, top, right, bottom)]
    checkable = kind in ("checkbox", "radio")
    name = "android.widget.CheckBox" if checkable else _CLASSES.get(tag, "android.view.View")
    return Element(
        id=str(id) or f"node{place}",
        class_name="android.widget.Button" if kind in ("button", "submit") else name,
        bounds=(max(0, box[0]), max(0, box[1]), min(SIZE.width, box[2]), min(SIZE.height, box[3])),
        text=str(text),
        hint=str(hint),
        package=package,
        clickable=bool(acts),
        editable=name == "android.widget.EditText" and kind not in ("button", "submit"),
        checkable=checkable,
        checked=bool(checked),
        focused=bool(focused),
    )
