"""A real Chromium for the report's tests, and run folders made up once a session."""

from __future__ import annotations

from collections.abc import Iterator

import fixture_runs
import pytest
from report_browser import Browser, Report
from selenium import webdriver

from sopbench.report import write_report
from tests.integration.chromium import headless


@pytest.fixture(scope="session")
def _driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    yield from headless(tmp_path_factory.mktemp("chromium"))


@pytest.fixture
def chromium(_driver: webdriver.Chrome) -> Iterator[Browser]:
    """The browser at desktop size in light colours. At the end of the test, nothing that a page did may have been an error."""
    browser = Browser(_driver)
    browser.complaints()
    browser.emulate()
    yield browser
    assert browser.complaints() == []


def _report(run: fixture_runs.FixtureRun) -> Report:
    return Report(run, write_report(run.path, trajectories=run.trajectories))


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """A complete run of 120 trajectories."""
    return _report(fixture_runs.semi_online_run(tmp_path_factory.mktemp("plain") / "run", n=120))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Replies, goals and ids that attack the page, in an incomplete run with two repeats."""
    path = tmp_path_factory.mktemp("hostile") / "run"
    return _report(fixture_runs.semi_online_run(path, n=20, hostile=True, not_scored=0.03, repeats=2, pending=3))


@pytest.fixture(scope="session")
def online(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return _report(fixture_runs.online_run(tmp_path_factory.mktemp("online") / "run"))


@pytest.fixture(scope="session")
def whole_sop(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """As many trajectories as the released SOP file has."""
    return _report(fixture_runs.semi_online_run(tmp_path_factory.mktemp("sop") / "run", n=1543))
