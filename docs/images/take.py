"""Take the pictures of a report that the README shows: `python docs/images/take.py RUN/report.html` (needs Chromium and its driver).

Writes report.png, report-dark.png, report-list.png, report-step.png, report-step-dark.png and report-phone.png beside this file.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
FIND_TAP = """return [...document.querySelectorAll('.rows .row.failed')].find(row => /click outside/.test(row.innerText))?.getAttribute('href')
    ?? document.querySelector('.rows .row').getAttribute('href')"""


def main(page: Path, out: Path) -> None:
    with browser() as driver:
        shots(driver, page.resolve().as_uri(), out)


@contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """A headless Chromium with a profile that is thrown away."""
    with tempfile.TemporaryDirectory() as profile:
        options = Options()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def shots(driver: webdriver.Chrome, address: str, out: Path) -> None:
    emulate(driver, 1440, 1290)
    driver.get(address)
    step = driver.execute_script(FIND_TAP)
    save(driver, address, out / "report.png")
    emulate(driver, 1440, 1290, dark=True)
    save(driver, address, out / "report-dark.png")
    emulate(driver, 1440, 900)
    save(driver, address, out / "report-list.png", then="document.querySelector('#list').scrollIntoView()")
    save(driver, address + step, out / "report-step.png")
    emulate(driver, 1440, 900, dark=True)
    save(driver, address + step, out / "report-step-dark.png")
    emulate(driver, 390, 844, scale=2)
    save(driver, address, out / "report-phone.png")


def emulate(driver: webdriver.Chrome, width: int, height: int, *, dark: bool = False, scale: int = 1) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def save(driver: webdriver.Chrome, address: str, path: Path, then: str = "") -> None:
    driver.get("about:blank")
    driver.get(address)
    driver.execute_script(then)
    time.sleep(0.5)  # pictures decode asynchronously
    driver.save_screenshot(str(path))
    print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parent)
