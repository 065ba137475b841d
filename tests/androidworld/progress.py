"""How far a long check is: to stderr, with its rate and the time that is left."""

from __future__ import annotations

import sys
import time


class Progress:
    def __init__(self, total: int) -> None:
        self._total, self._done, self._began = total, 0, time.monotonic()

    def one(self, words: str) -> None:
        self._done += 1
        took = time.monotonic() - self._began
        left = took / self._done * (self._total - self._done)
        print(
            f"[{self._done}/{self._total}] {words}  ({self._done / took:.2f}/s, {left:.0f} s left)",
            file=sys.stderr,
            flush=True,
        )
