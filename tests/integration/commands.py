"""The installed command, run as a user or a script runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SOPBENCH = Path(sys.executable).with_name("sopbench")
CLEAN = {"SOPBENCH_OFFLINE": "1"}
"""No test may depend on the web."""


def sopbench(*args: str | Path, env: dict[str, str] | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run `sopbench` with `args`; `env` is added to the environment, `more` goes to `subprocess.run`. Output is text, whatever its bytes are."""
    options: dict[str, Any] = {"text": True, "errors": "backslashreplace", "check": False, "timeout": 120} | more
    if "stdout" not in options and "stderr" not in options:
        options["capture_output"] = True
    return subprocess.run([SOPBENCH, *args], env=os.environ | CLEAN | (env or {}), **options)


def start(*args: str | Path) -> subprocess.Popen[str]:
    """Start `sopbench` with `args` and go on."""
    return subprocess.Popen(
        [SOPBENCH, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | CLEAN
    )


def assert_clear_error(done: subprocess.CompletedProcess[str], *says: str) -> None:
    """Exit status 2, and words for people on standard error."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert "error: " in done.stderr
    for words in says:
        assert words in done.stderr
