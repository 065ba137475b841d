"""Waiting for a coroutine, with and without an event loop around it, and stopping it."""

from __future__ import annotations

import asyncio
import signal
import threading
import time

import pytest

from sopbench.waiting import interrupts_held, wait_for


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_the_result_comes_back() -> None:
    assert wait_for(answer()) == 42
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


async def test_it_works_inside_a_running_loop() -> None:
    assert wait_for(answer()) == 42


def test_an_error_comes_out_as_itself() -> None:
    async def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        wait_for(fail())


def test_ctrl_c_lets_it_clean_up_and_a_second_one_does_not_disturb_that() -> None:
    steps = []

    async def work() -> None:
        steps.append("begun")
        try:
            await asyncio.sleep(60)
        finally:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0.01)
            steps.append("cleaned up")

    def press() -> None:
        while not steps:
            time.sleep(0.001)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        wait_for(work())
    assert steps == ["begun", "cleaned up"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


async def test_an_interrupt_in_a_notebook_stops_the_work_too() -> None:
    """There the work has a thread of its own, which the notebook's interrupt does not reach."""
    ended = threading.Event()

    async def work() -> None:
        try:
            threading.Timer(
                0.05, lambda: signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            ).start()
            await asyncio.sleep(60)
        finally:
            ended.set()

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            wait_for(work())
    finally:
        signal.signal(signal.SIGINT, usual)
    assert ended.is_set()


def test_a_cancellation_from_within_stays_one() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        wait_for(work())


def test_ctrl_c_that_comes_too_late_to_stop_the_work_is_not_lost() -> None:
    async def work() -> int:
        signal.raise_signal(signal.SIGINT)
        return 42

    with pytest.raises(KeyboardInterrupt):
        wait_for(work())


def test_ctrl_c_is_held_back_until_it_is_asked_for() -> None:
    steps = []

    def work() -> None:
        with interrupts_held() as release:
            release()
            signal.raise_signal(signal.SIGINT)
            steps.append("went on")
            release()
            steps.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_nobody_asked_for_comes_out_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        signal.raise_signal(signal.SIGINT)
