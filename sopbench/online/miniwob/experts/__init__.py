"""Scripted experts: for a task, a function that looks at the page and says what to do next (`builtin:oracle-dom`).

An expert reads the goal and the shown elements (`look.Page`), answers with a touch or with text, and returns None where it is at a loss. Each call looks
anew, so that an expert goes on from wherever the page is; the little that no page shows is in `page.memory`. None of them knows a page's solution or
calls its functions: what the reader of a page's source would know of the reward, they do not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sopbench.actions import Action
from sopbench.online.miniwob.look import Page

Expert: TypeAlias = Callable[[Page], Action | None]


def experts() -> Mapping[str, Expert]:
    """Every expert, by task."""
    from sopbench.online.miniwob.experts import calendars, choosing, clicking, dragging, mail, typing

    return clicking.EXPERTS | typing.EXPERTS | choosing.EXPERTS | mail.EXPERTS | calendars.EXPERTS | dragging.EXPERTS


def expert_for(task: str) -> Expert | None:
    return experts().get(task)
