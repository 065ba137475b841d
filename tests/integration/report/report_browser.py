"""What the report's tests do with a browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fixture_runs import FixtureRun
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains

DESKTOP = (1440, 900)
PHONE = (390, 844)


@dataclass
class Browser:
    """Chromium with what the tests ask of it again and again."""

    driver: webdriver.Chrome

    def emulate(self, size: tuple[int, int] = DESKTOP, *, dark: bool = False, print_: bool = False) -> None:
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        media = {"media": "print" if print_ else "", "features": [scheme]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def open(self, page: Path, address: str = "") -> None:
        self.driver.get("about:blank")  # else a changed fragment would not load the page anew
        self.driver.get(page.as_uri() + address)

    def js(self, code: str, *args: Any) -> Any:
        return self.driver.execute_script("return " + code, *args)

    def keys(self, *keys: str) -> None:
        """One after the other, each when the page is done with the last: a new address is routed in a task of its own."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.driver.execute_async_script("const done = arguments[0]; setTimeout(() => setTimeout(done))")

    def click(self, selector: str) -> None:
        self.driver.execute_script("document.querySelector(arguments[0]).click()", selector)

    def text(self, selector: str) -> str:
        found = self.js("document.querySelector(arguments[0])?.innerText", selector)
        assert isinstance(found, str), f"nothing fits {selector}"
        return found

    def texts(self, selector: str) -> list[str]:
        found = self.js("[...document.querySelectorAll(arguments[0])].map(node => node.innerText)", selector)
        assert isinstance(found, list)
        return found

    def count(self, selector: str) -> int:
        return int(self.js("document.querySelectorAll(arguments[0]).length", selector))

    def choose(self, label: str, value: str) -> None:
        code = "const s = document.querySelector(`select[aria-label='${arguments[0]}']`); s.value = arguments[1]; s.dispatchEvent(new Event('change'))"
        self.driver.execute_script(code, label, value)

    @property
    def address(self) -> str:
        return str(self.js("location.hash"))

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return int(self.js("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def complaints(self) -> list[str]:
        """What the browser logged since last asked: script errors, refused resources."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@dataclass(frozen=True)
class Report:
    run: FixtureRun
    page: Path


def address_of(episode: str, step: int = 1) -> str:
    return f"#{quote(episode, safe='')}/{step}"
