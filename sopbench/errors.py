"""Errors that a user can act on: each says what was wrong, where, and what to do."""

from __future__ import annotations

import shlex
from reprlib import Repr

EXIT_COMPLETE = 0
EXIT_BAD_INPUT = 2
EXIT_UNSCORED = 3
EXIT_INTERRUPTED = 130


class SopbenchError(Exception):
    """Base of everything that sopbench raises on purpose. The CLI prints it without a traceback."""

    exit_code = EXIT_BAD_INPUT


class ActionError(SopbenchError):
    """A released-form action that is not one. `reason` is a stable code, `detail` is for people."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class DataError(SopbenchError):
    """A trajectory file, a screen or a run folder that cannot be read as what it should be."""


class UsageError(SopbenchError):
    """Options that contradict each other or name something that does not exist."""


class FingerprintMismatch(SopbenchError):
    """Two runs (or a run and its resumption) differ in a fact that changes what the numbers mean."""


class RunBusy(SopbenchError):
    """Another process holds the run folder."""


class CannotExpress(SopbenchError):
    """An adapter was asked to say an action that its family has no words for."""


class PromptError(SopbenchError):
    """A publisher's prompt text that cannot be had, or is not what was pinned."""


class Notice(UserWarning):
    """Something that takes a while, or that a user should know, without anything being wrong. The CLI prints it as a note."""


def command(*words: object) -> str:
    """A command line for a message, quoted as a shell wants it: it will be copied."""
    return shlex.join(map(str, words))


def shown(value: object) -> str:
    """`value` from a hostile file or reply, for a message: short, however large or deep it is."""
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = 100
    text = short.repr(value)
    return text if len(text) <= 160 else text[:157] + "..."
