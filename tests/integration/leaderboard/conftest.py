"""One verified submission a session, whose copies tests change; and a real Chromium for the page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from board_workshop import Workshop, make_workshop

from tests.integration.chromium import headless

if TYPE_CHECKING:
    from report_browser import Browser
    from selenium import webdriver

sys.path.append(str(Path(__file__).parents[1] / "report"))  # `report_browser`, which the report's tests made


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return make_workshop(tmp_path_factory.mktemp("workshop"))


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    yield from headless(tmp_path_factory.mktemp("chromium"))


@pytest.fixture
def chromium(_driver: webdriver.Chrome) -> Iterator[Browser]:
    """The browser at desktop size in light colours. At the end of the test, nothing that a page did may have been an error."""
    from report_browser import Browser

    browser = Browser(_driver)
    browser.complaints()
    browser.emulate()
    yield browser
    assert browser.complaints() == []
