"""Who solves what: the scripted experts their tasks, nobody a task without doing anything."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import pytest

from sopbench.online.miniwob.environment import MiniwobEnvironment
from sopbench.online.miniwob.experts import experts
from sopbench.online.miniwob.pool import Browsers
from sopbench.online.miniwob.tasks import BUDGET, TASKS, Instance, instances

pytestmark = [pytest.mark.chromium, pytest.mark.slow]

SEEDS = 3
QUICK = (
    "choose-list",
    "click-button",
    "click-button-sequence",
    "click-checkboxes",
    "click-collapsible",
    "click-collapsible-2",
    "click-color",
    "click-dialog",
    "click-dialog-2",
    "click-link",
    "click-menu-2",
    "click-option",
    "click-shape",
    "click-tab",
    "click-tab-2",
    "click-test",
    "click-test-2",
    "click-widget",
    "count-shape",
    "drag-box",
    "email-inbox-delete",
    "enter-date",
    "enter-password",
    "enter-text",
    "enter-time",
    "find-word",
    "focus-text",
    "grid-coordinate",
    "highlight-text",
    "identify-shape",
    "login-user",
    "login-user-popup",
    "navigate-tree",
    "read-table",
    "simple-algebra",
    "terminal",
    "text-transform",
    "visual-addition",
)
"""Tasks of few steps, of every kind. `sopbench run --suite miniwob --model builtin:oracle-dom` plays all that have an expert."""


def each(browsers: Browsers, todo: list[Instance], play: Callable[[MiniwobEnvironment], None]) -> list[str]:
    """Play the instances, two at once; the ids of those that were solved."""
    solved: list[str] = []
    lock = Lock()

    def one(instance: Instance) -> None:
        environment = MiniwobEnvironment(browsers, instance)
        try:
            environment.reset()
            play(environment)
            if environment.score() == 1:
                with lock:
                    solved.append(instance.id)
        finally:
            environment.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(one, todo))
    return solved


def expert(environment: MiniwobEnvironment) -> None:
    for _ in range(BUDGET):
        action = environment.expert()
        if action is None or action.kind == "terminate":
            return
        environment.perform(action)


def test_experts_solve_their_tasks_from_what_the_page_shows(browsers: Browsers) -> None:
    todo = [i for i in instances(SEEDS) if i.task in QUICK]
    assert len(todo) == SEEDS * len(QUICK) >= SEEDS * 30
    solved = each(browsers, todo, expert)
    assert sorted({i.id for i in todo} - set(solved)) == []


def test_no_task_is_solved_by_doing_nothing(browsers: Browsers) -> None:
    assert each(browsers, instances(), lambda environment: None) == []
    assert len(TASKS) == 91


def test_experts_are_for_tasks_that_exist() -> None:
    assert set(QUICK) <= set(experts()) <= set(TASKS)
    assert len(experts()) >= 70
