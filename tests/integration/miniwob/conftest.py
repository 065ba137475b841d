"""Browsers for the tests of MiniWoB++ (Chromium); the tests are skipped where Chromium or the package's pages are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sopbench.errors import UsageError
from sopbench.online.miniwob.browser import programs
from sopbench.online.miniwob.environment import MiniwobEnvironment
from sopbench.online.miniwob.pool import Browsers
from sopbench.online.miniwob.tasks import Instance, html_folder, instance_seed

Played = Callable[..., MiniwobEnvironment]


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    try:
        programs()
        html_folder()
    except UsageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def browsers(installed: None) -> Iterator[Browsers]:
    """Two browsers that all tests share."""
    with Browsers(2, html_folder()) as pool:
        yield pool


@pytest.fixture
def played(browsers: Browsers) -> Iterator[Played]:
    """`played(task, number=0)`: an environment, reset; its browser is given back at the end of the test."""
    open_ones: list[MiniwobEnvironment] = []

    def make(task: str, number: int = 0) -> MiniwobEnvironment:
        environment = MiniwobEnvironment(browsers, Instance(task, number, instance_seed(30, task, number)))
        open_ones.append(environment)
        environment.reset()
        return environment

    yield make
    for environment in open_ones:
        environment.close()
