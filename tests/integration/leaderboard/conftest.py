"""One verified submission a session, whose copies tests change; and a real Chromium for the page."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from board_workshop import Workshop, make_workshop

if TYPE_CHECKING:
    from report_browser import Browser
    from selenium import webdriver

sys.path.append(str(Path(__file__).parents[1] / "report"))  # `report_browser`, which the report's tests made
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return make_workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("Chromium and its driver are not installed (Debian: apt-get install chromium chromium-driver)")
    options = Options()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def chromium(_driver: webdriver.Chrome) -> Iterator[Browser]:
    """The browser at desktop size in light colours. At the end of the test, nothing that a page did may have been an error."""
    from report_browser import Browser

    browser = Browser(_driver)
    browser.complaints()
    browser.emulate()
    yield browser
    assert browser.complaints() == []
