"""The gate: slots in order, safe under cancellation, and the AIMD rule."""

from __future__ import annotations

import asyncio

from sopbench.clients.gate import Gate


async def enter(gate: Gate, times: int) -> list[int]:
    return [await gate.acquire() for _ in range(times)]


async def test_slots_are_given_in_order_and_a_retry_goes_first():
    gate = Gate(1)
    await gate.acquire()
    order: list[str] = []

    async def wait(name: str, *, retry: bool = False) -> None:
        await gate.acquire(retry=retry)
        order.append(name)
        gate.release()

    tasks = [asyncio.create_task(wait("first")), asyncio.create_task(wait("second"))]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(wait("again", retry=True)))
    await asyncio.sleep(0)
    assert gate.waiting == 3
    gate.release()
    await asyncio.gather(*tasks)
    assert order == ["again", "first", "second"]
    assert (gate.taken, gate.waiting) == (0, 0)


async def test_a_cancelled_waiter_loses_nothing():
    gate = Gate(1)
    await gate.acquire()
    waiting = asyncio.create_task(gate.acquire())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert gate.waiting == 0
    gate.release()
    assert gate.taken == 0


async def test_a_slot_given_to_a_waiter_that_is_cancelled_at_the_same_moment_goes_on():
    gate = Gate(1)
    await gate.acquire()
    first, second = asyncio.create_task(gate.acquire()), asyncio.create_task(gate.acquire())
    await asyncio.sleep(0)
    gate.release()  # the slot is the first's now
    first.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    assert first.cancelled()
    assert not second.cancelled()
    assert gate.taken == 1


async def test_a_fixed_gate_never_changes():
    gate = Gate(8)
    await enter(gate, 8)
    for _ in range(20):
        gate.succeeded()
        gate.overloaded(0)
    assert gate.limit == 8


async def test_slow_start_grows_by_one_a_success_up_to_the_bound():
    gate = Gate(6, adaptive=True)
    assert gate.limit == 4
    await enter(gate, 4)
    gate.succeeded()
    assert gate.limit == 5
    await enter(gate, 1)
    gate.succeeded()
    await enter(gate, 1)
    gate.succeeded()
    assert gate.limit == 6


async def test_a_gate_that_holds_nobody_back_does_not_grow():
    gate = Gate(100, adaptive=True)
    await enter(gate, 3)
    for _ in range(10):
        gate.succeeded()
    assert gate.limit == 4


async def test_after_a_halving_a_round_of_successes_adds_one():
    gate = Gate(100, adaptive=True)
    (*_, epoch) = await enter(gate, 4)
    for _ in range(12):
        gate.succeeded()
        await enter(gate, 1)
    assert gate.limit == 16
    gate.overloaded(epoch)
    assert gate.limit == 8
    for _ in range(7):
        gate.succeeded()
    assert gate.limit == 8
    gate.succeeded()
    assert gate.limit == 9


async def test_one_burst_of_429s_halves_once_and_never_below_one():
    gate = Gate(16, adaptive=True)
    epochs = await enter(gate, 4)
    for epoch in epochs:
        gate.overloaded(epoch)
    assert gate.limit == 2
    for _ in range(4):
        gate.release()
    for _ in range(5):
        epoch = await gate.acquire()
        gate.overloaded(epoch)
        gate.release()
    assert gate.limit == 1
