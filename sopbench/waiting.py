"""Waiting for a coroutine from ordinary code, so that Ctrl-C ends it in good order."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def wait_for(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run to the end. Works where an event loop is running already (notebooks): then in a thread of its own.

    Ctrl-C cancels the coroutine, waits until it has cleaned up, and raises `KeyboardInterrupt`. A second one changes nothing; a third ends the
    process. (asyncio raises at the second, wherever the program happens to be: tasks are torn, and a loop may wait for them for ever.)
    """
    work = _Work(coroutine)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with _interrupts_stop(work):
            return work.run()
    with ThreadPoolExecutor(1, thread_name_prefix="sopbench") as thread:
        done = thread.submit(work.run)
        try:
            return done.result()
        except KeyboardInterrupt:
            work.stop()
            raise


@contextmanager
def interrupts_held() -> Iterator[Callable[[], None]]:
    """Ctrl-C is held back in the block, and raised where the block calls what it is given, or at its end. A second one ends the process.

    For work that hands tasks to threads: a KeyboardInterrupt between taking and releasing one of their locks comes out as something else.
    """
    pressed = False

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(number, signal.SIG_DFL)

    def release() -> None:
        if pressed:
            raise KeyboardInterrupt

    with _handling(hold):
        yield release
    release()


class _Work(Generic[T]):
    """A coroutine that can be stopped from a signal handler or another thread."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._stopped = False

    def run(self) -> T:
        try:
            result = asyncio.run(self._held())
        except asyncio.CancelledError:
            if self._stopped:
                raise KeyboardInterrupt from None
            raise
        if self._stopped:
            raise KeyboardInterrupt  # it came too late to stop the work, and still means that nothing more is wanted
        return result

    def stop(self) -> None:
        self._stopped = True
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _held(self) -> T:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        if self._stopped:
            self._coroutine.close()
            raise asyncio.CancelledError
        return await self._coroutine


@contextmanager
def _interrupts_stop(work: _Work[Any]) -> Iterator[None]:
    """Ctrl-C stops `work`."""
    presses = 0

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses == 1:
            work.stop()
        else:
            signal.signal(number, signal.SIG_DFL)

    with _handling(press):
        yield


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """`handler` has Ctrl-C, where it would otherwise raise KeyboardInterrupt; elsewhere (other threads, other handlers) nothing changes."""
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or usual is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
