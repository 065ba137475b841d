"""Submissions that anyone can re-score, and the board made from them. `submit` makes one, `verify` says whether its numbers are its replies'."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sopbench.leaderboard.submitting import submit
    from sopbench.leaderboard.verifying import Verification, verify

__all__ = ["Verification", "submit", "verify"]


def __getattr__(name: str) -> object:
    if name == "submit":
        from sopbench.leaderboard.submitting import submit

        return submit
    if name in ("verify", "Verification"):
        from sopbench.leaderboard import verifying as module

        return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
