"""Those who wait for one key: that they go in their order, and that only the first of them asks.

No time is measured: what is waited for comes within milliseconds, or in hours.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ratecell import Limiter, Outcome, TooManyWaiting, _native
from test_together import in_a_child


def waiting(limiter: Limiter) -> int:
    return _native.waits(limiter)[0]


def asked(limiter: Limiter) -> int:
    return _native.waits(limiter)[1]


def started(limiter: Limiter, order: list[int], cost: int) -> threading.Thread:
    """A thread that waits for `cost` units of "k", which there are not, and then says so in `order`."""

    def work() -> None:
        assert limiter.wait("k", cost)
        order.append(cost)

    before = waiting(limiter)
    # One that fails waits for hours: the process does not wait for it.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while waiting(limiter) == before:
        time.sleep(0.001)
    return thread


def test_threads_go_in_their_order() -> None:
    limiter = Limiter("20/s burst=8")
    assert limiter.check("k", 8)
    order: list[int] = []
    threads = [started(limiter, order, cost) for cost in (8, 1, 2, 1)]
    for thread in threads:
        thread.join()
    assert order == [8, 1, 2, 1]
    assert waiting(limiter) == 0


def test_tasks_go_in_their_order() -> None:
    limiter = Limiter("100/s burst=8")
    assert limiter.check("k", 8)
    order: list[int] = []

    async def one(cost: int) -> None:
        assert await limiter.acquire("k" if cost > 1 else b"k", cost)
        order.append(cost)

    async def main() -> None:
        await asyncio.gather(*(one(cost) for cost in (8, 1, 2, 1)))

    asyncio.run(main())
    assert order == [8, 1, 2, 1]


def test_threads_and_tasks_stand_in_one_line() -> None:
    limiter = Limiter("100/s burst=8")
    assert limiter.check("k", 8)
    order: list[int] = []

    async def main() -> None:
        first = asyncio.create_task(limiter.acquire("k", 8))
        await asyncio.sleep(0)
        thread = started(limiter, order, 1)
        last = asyncio.create_task(limiter.acquire("k", 2))
        for task in (first, last):
            order.append((await task).limit)
        thread.join()

    asyncio.run(main())
    assert sorted(order) == [1, 8, 8]
    # The thread went between the two, or was appending while the last went.
    assert order[0] == 8
    assert asked(limiter) <= 6


def test_only_the_first_in_the_line_asks() -> None:
    limiter = Limiter("2000/s burst=1")
    tasks = 300

    async def main() -> list[Any]:
        return await asyncio.gather(*(limiter.acquire("k") for _ in range(tasks)))

    assert all(asyncio.run(main()))
    # When it is their turn, and after that sleep, which may be some nanoseconds too short.
    assert asked(limiter) <= 2 * tasks


def test_newcomers_with_little_time_do_not_pass() -> None:
    limiter = Limiter("10/h burst=10")
    assert limiter.check("k", 5)

    async def main() -> None:
        large = asyncio.create_task(limiter.acquire("k", 10))
        await asyncio.sleep(0)
        # There are units, and they are not theirs.
        for timeout in (0, 0.001, 60):
            denied = await limiter.acquire("k", 1, timeout)
            assert denied.outcome is Outcome.DENIED
            assert denied.remaining == 5
            assert denied.retry_after is not None
            assert denied.retry_after > 1800
            assert not limiter.wait("k", 1, timeout)
        assert asked(limiter) == 1
        large.cancel()
        await asyncio.wait([large])
        assert await limiter.acquire("k", 5, timeout=0)

    asyncio.run(main())


def test_who_cannot_go_behind_the_others_is_told_at_once() -> None:
    limiter = Limiter("2/h burst=2")
    assert limiter.check("k")

    async def main() -> None:
        first = asyncio.create_task(limiter.acquire("k", 2))
        await asyncio.sleep(0)
        # By itself it could go in half an hour.
        denied = await limiter.acquire("k", 2, timeout=80 * 60)
        assert denied.retry_after is not None
        assert denied.retry_after > 89 * 60
        assert asked(limiter) == 1
        first.cancel()

    asyncio.run(main())


def test_other_keys_and_limiters_have_lines_of_their_own() -> None:
    limiter, other = Limiter("1/h"), Limiter("1/h")
    assert limiter.check("k")

    async def main() -> None:
        first = asyncio.create_task(limiter.acquire("k"))
        await asyncio.sleep(0)
        assert await limiter.acquire("j")
        assert await other.acquire("k")
        first.cancel()

    asyncio.run(main())


def test_whoever_gives_up_lets_the_next_go_on() -> None:
    limiter = Limiter("100/s burst=5")
    assert limiter.check("k", 5)

    async def main() -> None:
        tasks = [asyncio.create_task(limiter.acquire("k", cost)) for cost in (5, 4, 2, 3)]
        await asyncio.sleep(0)
        for given_up in (1, 0):
            tasks[given_up].cancel()
        assert await tasks[2]
        assert await tasks[3]
        assert [task.cancelled() for task in tasks] == [True, True, False, False]

    asyncio.run(main())
    assert waiting(limiter) == 0


def test_a_task_whose_turn_comes_while_it_is_cancelled_has_taken_nothing() -> None:
    limiter = Limiter("5/h")
    assert limiter.check("k", 5)

    async def main() -> None:
        first, second = (asyncio.create_task(limiter.acquire("k")) for _ in range(2))
        await asyncio.sleep(0)
        limiter.forget("k")
        # The first has been given its turn, and has not run since.
        first.cancel()
        assert (await second).remaining == 4
        assert first.cancelled()

    asyncio.run(main())
    assert waiting(limiter) == 0


def test_forgotten_units_are_taken_at_once() -> None:
    limiter = Limiter("1/h")
    assert limiter.check("k")
    order: list[int] = []
    thread = started(limiter, order, 1)
    assert limiter.forget("k")
    thread.join()
    assert order == [1]


def test_a_line_has_an_end() -> None:
    limiter = Limiter("1/h")
    assert limiter.check("k")

    async def main() -> None:
        tasks = [asyncio.create_task(limiter.acquire("k")) for _ in range(1000)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyWaiting, match="too many wait for 'k' already"):
            await limiter.acquire("k")
        denied = await limiter.acquire("k", timeout=86400)
        assert denied.outcome is Outcome.DENIED
        assert denied.retry_after is None
        for task in tasks:
            task.cancel()

    asyncio.run(main())
    assert waiting(limiter) == 0


def test_nobody_waits_in_a_new_process() -> None:
    limiter = Limiter("10/h")
    assert limiter.check("k", 10)
    order: list[int] = []
    thread = started(limiter, order, 1)

    def child() -> int:
        empty = waiting(limiter) == 0
        # The limiter is in memory: the new process has one of its own.
        with pytest.warns(RuntimeWarning, match="used across a fork"):
            denied = not limiter.wait("k", timeout=1)
        return 7 if empty and denied and waiting(limiter) == 0 else 8

    assert in_a_child(child) == 7
    assert waiting(limiter) == 1
    limiter.forget("k")
    thread.join()


def test_a_waiter_of_the_old_process_is_nobody_in_the_new_one(tmp_path: Path) -> None:
    limiter = Limiter("10/h", path=tmp_path / "limits")
    assert limiter.check("k", 10)
    loop = asyncio.new_event_loop()
    task = loop.create_task(limiter.acquire("k"))
    loop.run_until_complete(asyncio.sleep(0))
    other = _native.arrive(limiter, "j", 1, limiter.now_ns(), None, lambda: None)
    assert waiting(limiter) == 2

    def child() -> int:
        with pytest.raises(RuntimeError, match="expected one that begins there"):
            _native.turn(limiter, other, "j", limiter.now_ns())
        order: list[int] = []
        started(limiter, order, 2)
        # It leaves, and has the number that the thread has here.
        task.get_coro().close()
        return 7 if waiting(limiter) == 1 and order == [] else 8

    assert in_a_child(child) == 7
    assert waiting(limiter) == 2
    _native.leave(limiter, other, limiter.now_ns())
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))
    loop.close()
    assert waiting(limiter) == 0


def test_a_waiter_of_a_loop_that_is_gone_holds_up_nobody() -> None:
    limiter = Limiter("5/h")
    assert limiter.check("k", 5)
    loop = asyncio.new_event_loop()
    task = loop.create_task(limiter.acquire("k"))
    loop.run_until_complete(asyncio.sleep(0))
    assert waiting(limiter) == 1
    loop.close()
    limiter.forget("k")
    # It is first, and has not its turn: whoever is behind it gives up in time.
    assert not limiter.wait("k", timeout=0.001)
    task.get_coro().close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    assert waiting(limiter) == 0
    assert limiter.wait("k", timeout=0)
