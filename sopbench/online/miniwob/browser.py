"""One Chromium that looks like a phone: 216x480 CSS pixels at scale 5, with touch, in English and UTC, without a way to any network.

It is driven through the system's chromedriver (selenium), and every call has a deadline. Whatever goes wrong is `EnvironmentFailed` with one of these kinds:

| kind | what happened |
|---|---|
| `browser_gone` | the browser or its driver ended, or the tab crashed |
| `browser_hung` | a call did not come back before its deadline |
| `browser_error` | it refused a call, or answered nonsense |
| `browser_no_start` | it did not start |
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from emulator.orphans import Process, descendants, identified, kill_all
from sopbench.errors import UsageError
from sopbench.geometry import Size
from sopbench.online.base import EnvironmentFailed

if TYPE_CHECKING:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

VIEWPORT: Final = Size(216, 480)
"""In CSS pixels."""
SCALE: Final = 5
SCREEN: Final = Size(VIEWPORT.width * SCALE, VIEWPORT.height * SCALE)
"""The screenshot: 1080x2400, as AndroidWorld's phone has it."""

START_SECONDS: Final = 60.0
CALL_SECONDS: Final = 20.0
MAX_SCREENSHOT: Final = 64 * 1024 * 1024

FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--disable-translate",
    "--hide-scrollbars",
    "--mute-audio",
    "--lang=en-US",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
"""`--no-sandbox`: a container's root cannot have one; the pages come from an installed package, and reach nothing else."""
BLOCKED: Final = ("http://*", "https://*", "ws://*", "wss://*", "ftp://*")
SCRIPTS: Final = ("prepare.js", "picker.js")
MISSING: Final = "Chromium and its driver are not installed (Debian: apt-get install chromium chromium-driver)"
_VERSION: Final = re.compile(r"\b(\d+)\.\d+\.\d+\.\d+\b")


def script(name: str) -> str:
    """The text of a packaged JavaScript file."""
    return resources.files("sopbench.online.miniwob").joinpath(name).read_text("utf-8")


def programs() -> tuple[str, str]:
    """The paths of Chromium and chromedriver. Raises `UsageError` that says what to install."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        raise UsageError(MISSING)
    try:
        import selenium  # noqa: F401
    except ImportError:
        raise UsageError("selenium is not installed: pip install 'sopbench[online]'") from None
    return browser, driver


def chromium_version() -> int:
    """Chromium's major version. Raises `UsageError`."""
    browser, _ = programs()
    try:
        told = subprocess.run([browser, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{browser} --version does not work: {type(error).__name__}") from error
    found = _VERSION.search(told.stdout[:1000])
    if found is None:
        raise UsageError(f"{browser} --version says no version: {told.stdout[:80]!r}")
    return int(found.group(1))


class Browser:
    """A running browser with one tab. Not for several threads at once. Raises `EnvironmentFailed` (see the module) from every call."""

    def __init__(self, folder: Path, seconds: float = CALL_SECONDS) -> None:
        """`folder`: whose pages may be opened. `seconds`: the deadline of each call."""
        self._folder = folder
        self._seconds = seconds
        self._profile = tempfile.mkdtemp(prefix="sopbench-miniwob-")
        self._driver: webdriver.Chrome | None = None
        self._service: Process | None = None
        self._below: list[Process] = []
        self.broken = False
        self.last_touch: tuple[float, float, float] | None = None
        """When and where (CSS pixels) the last finger was lifted."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        from selenium import webdriver
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service
        from selenium.webdriver.remote.remote_connection import RemoteConnection
        from urllib3.exceptions import HTTPError

        chromium, driver = programs()
        options = Options()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={self._profile}", f"--window-size={VIEWPORT.width},{VIEWPORT.height}"):
            options.add_argument(flag)
        options.unhandled_prompt_behavior = "dismiss"
        # a session of its own: Ctrl-C in the terminal is the run's to handle, which closes what it opened
        service = Service(driver, env={**os.environ, "TZ": "UTC"}, popen_kw={"start_new_session": True})
        too_late = threading.Timer(START_SECONDS, _end, [service])
        too_late.daemon = True
        too_late.start()
        try:
            self._driver = webdriver.Chrome(options=options, service=service)
        except (WebDriverException, HTTPError, OSError) as error:
            raise EnvironmentFailed("browser_no_start", f"Chromium did not start: {_said(error)}") from error
        finally:
            too_late.cancel()
            started = getattr(service, "process", None)
            self._service = next(iter(identified([started.pid])), None) if started is not None else None
            self._below = self._family()
        if isinstance(self._driver.command_executor, RemoteConnection):
            self._driver.command_executor.client_config.timeout = self._seconds
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=VIEWPORT.width,
            height=VIEWPORT.height,
            deviceScaleFactor=SCALE,
            mobile=False,
        )
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        self.cdp("Emulation.setTimezoneOverride", timezoneId="UTC")
        self.cdp("Emulation.setLocaleOverride", locale="en-US")
        self.cdp("Network.enable")
        self.cdp("Network.setBlockedURLs", urls=list(BLOCKED))
        self.cdp("Page.enable")
        for name in SCRIPTS:
            self.cdp("Page.addScriptToEvaluateOnNewDocument", source=script(name))

    @property
    def pid(self) -> int | None:
        """The browser's process: the first child of its driver."""
        return self._below[0].pid if self._below else None

    @property
    def processes(self) -> list[Process]:
        """The driver and all below it that are alive."""
        return [
            p
            for p in {*([self._service] if self._service is not None else []), *self._below, *self._family()}
            if p.alive
        ]

    def _family(self) -> list[Process]:
        """What the driver started, and what those started whom it started: they outlive it."""
        known = [p.pid for p in (self._service, *self._below) if p is not None and p.alive]
        return list(descendants(known))

    # ---- calls
    def cdp(self, method: str, /, **arguments: Any) -> dict[str, Any]:
        """One call of the DevTools protocol."""
        from selenium.common.exceptions import InvalidSessionIdException, NoSuchWindowException, WebDriverException
        from urllib3.exceptions import HTTPError, TimeoutError

        if self._driver is None:
            raise EnvironmentFailed("browser_gone", "the browser was stopped already")
        try:
            told = self._driver.execute_cdp_cmd(method, arguments)
        except TimeoutError as error:
            raise self._failed("browser_hung", f"{method} did not come back within {self._seconds:g} s") from error
        except (InvalidSessionIdException, NoSuchWindowException) as error:
            raise self._failed("browser_gone", f"{method}: {_said(error)}") from error
        except WebDriverException as error:
            words = _said(error)
            gone = any(word in words for word in ("disconnected", "crashed", "not reachable", "closed", "detached"))
            raise self._failed("browser_gone" if gone else "browser_error", f"{method}: {words}") from error
        except (HTTPError, OSError) as error:
            raise self._failed(
                "browser_gone", f"{method}: its driver does not answer ({type(error).__name__})"
            ) from error
        return told if isinstance(told, dict) else {}

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a JavaScript function (its source) in the page and give back what it returns (or promises), as JSON."""
        line = f"({function})({', '.join(json.dumps(a) for a in arguments)})"
        told = self.cdp("Runtime.evaluate", expression=line, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            what = told["exceptionDetails"].get("exception", {}).get("description") or "an exception"
            raise self._failed("browser_error", f"the page's script failed: {str(what)[:200]}")
        return told.get("result", {}).get("value")

    def open(self, page: str) -> None:
        """Load a page (a path inside the folder) and wait until it has loaded."""
        address = self._folder.joinpath(page).as_uri()
        self.cdp("Page.navigate", url="about:blank")
        told = self.cdp("Page.navigate", url=address)
        if told.get("errorText"):
            raise self._failed("browser_error", f"{page}: {str(told['errorText'])[:100]}")
        end = time.monotonic() + self._seconds
        ready = "(name) => location.pathname.endsWith(name) && document.readyState === 'complete'"
        while not self.call(ready, page):
            if time.monotonic() > end:
                raise self._failed("browser_hung", f"{page} did not load within {self._seconds:g} s")
            time.sleep(0.01)

    def screenshot(self) -> bytes:
        """A PNG of `SCREEN`'s size. A busy browser that has not drawn yet gives an empty one: it is asked again."""
        end = time.monotonic() + self._seconds
        while not (data := self.cdp("Page.captureScreenshot", format="png", optimizeForSpeed=True).get("data")):
            if time.monotonic() > end:
                break
            time.sleep(0.05)
        if not isinstance(data, str) or not 0 < len(data) <= MAX_SCREENSHOT:
            raise self._failed("browser_error", "no screenshot")
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise self._failed("browser_error", "a screenshot in no base64") from error

    def _failed(self, kind: str, detail: str) -> EnvironmentFailed:
        self.broken = True
        return EnvironmentFailed(kind, detail)

    # ---- its end
    def stop(self) -> None:
        """End the browser and its driver, whatever state they are in. May be called twice."""
        self._driver, driver = None, self._driver
        doomed = self.processes
        if driver is not None and not self._below:  # no /proc to find the browser in
            driver.quit()
        kill_all(doomed)
        started = getattr(driver.service, "process", None) if driver is not None else None
        if started is not None:
            with suppress(subprocess.TimeoutExpired):  # a process that cannot be killed is not ours to wait for
                started.wait(5)
        self._service, self._below = None, []
        shutil.rmtree(self._profile, ignore_errors=True)


def _end(service: Service) -> None:
    """End a driver that does not come to an end with its start: whoever waits for it gets an error."""
    end = time.monotonic() + CALL_SECONDS
    while (started := getattr(service, "process", None)) is None and time.monotonic() < end:
        time.sleep(0.02)
    if started is not None:
        kill_all((*descendants([started.pid]), *identified([started.pid])))


def _said(error: Exception) -> str:
    """The first line of what a driver said."""
    words = str(getattr(error, "msg", None) or error).strip() or type(error).__name__
    return words.splitlines()[0][:200]
