"""Agents that are scripts: one for a family of tasks, each carries its task out with adb and nothing else."""

from typing import Final

from tests.androidworld.solvers.files import FILES
from tests.androidworld.solvers.messages import MESSAGES
from tests.androidworld.solvers.questions import QUESTIONS
from tests.androidworld.solvers.rows import ROWS
from tests.androidworld.solvers.system import SYSTEM
from tests.androidworld.solvers.work import NotDone, Solver, Work

SOLVERS: Final[dict[str, Solver]] = {**FILES, **MESSAGES, **QUESTIONS, **ROWS, **SYSTEM}
"""Task class -> its agent."""

__all__ = ["SOLVERS", "NotDone", "Solver", "Work"]
