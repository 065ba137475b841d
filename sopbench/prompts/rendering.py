"""Text that a publisher's code computes: its pinned files run once, in an interpreter that is shut off. See `render_child` for what it may do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sopbench.errors import PromptError, shown

LIMIT: Final = 30.0
"""Seconds. The work takes a fraction of one; a busy machine may need longer to start an interpreter."""
MAX_ANSWER: Final = 2 * 2**20
CHILD: Final = Path(__file__).with_name("render_child.py")


def render(job: Mapping[str, Any], limit: float = LIMIT) -> dict[str, str]:
    """The texts that the child makes of `job`. Raises `PromptError` where it fails, hangs or answers something else."""
    answer = _answer(json.dumps(job).encode(), limit)
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise PromptError("the publisher's code ended without a text") from error
    match said:
        case {"texts": dict(texts)} if all(isinstance(text, str) for text in texts.values()):
            return {str(name): text for name, text in texts.items()}
        case {"error": str(reason)}:
            raise PromptError(f"the publisher's code gave no text: {shown(reason)}")
    raise PromptError("the publisher's code answered something else than texts")


def _answer(job: bytes, limit: float) -> bytes:
    """At most `MAX_ANSWER` bytes of what the child writes; nothing where it took longer than `limit`."""
    with tempfile.TemporaryDirectory(prefix="sopbench-render-") as nowhere:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=nowhere,
            env={},
            start_new_session=True,
        )
        assert child.stdin is not None  # a pipe, as asked
        assert child.stdout is not None
        over = threading.Event()

        def stop() -> None:
            over.set()
            _kill(child)

        timer = threading.Timer(limit, stop)
        timer.start()
        try:
            try:
                child.stdin.write(job)
                child.stdin.close()
            except BrokenPipeError:  # it is gone: there will be no answer either
                pass
            answer = child.stdout.read(MAX_ANSWER + 1)
        finally:
            timer.cancel()
            _kill(child)
            child.stdout.close()
            child.wait()
    if over.is_set():
        raise PromptError(f"the publisher's code was stopped after {limit:g} s")
    if len(answer) > MAX_ANSWER:
        raise PromptError("the publisher's code answered too much")
    return answer


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Child and whatever it started (they have a session of their own)."""
    if child.poll() is not None:
        return
    if hasattr(os, "killpg"):
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:  # it ended just now
            return
    else:
        child.kill()
