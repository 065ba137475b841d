"""`uis1-train` in this process: `call(...)` gives exit status, standard output and standard error."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest


@dataclass(frozen=True, slots=True)
class Done:
    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Call:
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: object) -> Done:
        from uis1_train.cli import main

        self.monkeypatch.setattr(sys, "argv", ["uis1-train", *map(str, arguments)])
        self.capsys.readouterr()
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0
        out, err = self.capsys.readouterr()
        return Done(status, out, err)
