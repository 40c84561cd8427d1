"""Those who wait for one key: that they go in their order, and that only the first of them asks.

No time is measured: what is waited for comes within milliseconds, or in hours.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ratecell import Decision, Limiter, _waiting
from test_together import in_a_child


class Counted(Limiter):
    """Counts how often it is asked."""

    asked = 0

    def decide(self, key: str | bytes, cost: int = 1, **options: Any) -> Decision:
        Counted.asked += 1
        return super().decide(key, cost, **options)


@pytest.fixture(autouse=True)
def nobody_is_left() -> Iterator[None]:
    yield
    assert not _waiting.THREADS._lines
    assert not _waiting.TASKS._lines


def started(limiter: Limiter, order: list[int], cost: int) -> threading.Thread:
    """A thread that waits for `cost` units of "k", which there are not, and then says so in `order`."""

    def work() -> None:
        assert limiter.wait("k", cost)
        order.append(cost)

    before = waiting(limiter)
    thread = threading.Thread(target=work)
    thread.start()
    while waiting(limiter) == before:
        time.sleep(0.001)
    return thread


def waiting(limiter: Limiter) -> int:
    line = _waiting.THREADS._lines.get((id(limiter), b"k"))
    return 0 if line is None else len(line.turns)


def test_threads_go_in_their_order() -> None:
    limiter = Limiter("20/s burst=8")
    assert limiter.check("k", 8)
    order: list[int] = []
    threads = [started(limiter, order, cost) for cost in (8, 1, 2, 1)]
    for thread in threads:
        thread.join()
    assert order == [8, 1, 2, 1]


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


def test_only_the_first_in_the_line_asks() -> None:
    limiter = Counted("2000/s burst=1")
    tasks = 300

    async def main() -> list[Decision]:
        return await asyncio.gather(*(limiter.acquire("k") for _ in range(tasks)))

    Counted.asked = 0
    assert all(asyncio.run(main()))
    # When they come, when it is their turn, and after that sleep; each unit waking all would make 45,000.
    assert Counted.asked < 10 * tasks


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


def test_a_task_whose_turn_comes_while_it_is_cancelled_passes_it_on() -> None:
    limiter = Limiter("5/h")
    assert limiter.check("k", 5)

    async def main() -> None:
        first, second, third = (asyncio.create_task(limiter.acquire("k")) for _ in range(3))
        await asyncio.sleep(0)
        limiter.forget("k")
        first.cancel()
        await asyncio.wait([first])
        # The second has been given its turn, and has not run since.
        second.cancel()
        assert await third

    asyncio.run(main())


def in_a_thread(limiter: Limiter, **timeout: Any) -> Decision:
    return limiter.wait("k", **timeout)


def in_a_task(limiter: Limiter, **timeout: Any) -> Decision:
    async def main() -> Decision:
        before = asyncio.create_task(limiter.acquire("k", 10))
        await asyncio.sleep(0)
        try:
            return await limiter.acquire("k", **timeout)
        finally:
            before.cancel()

    return asyncio.run(main())


def test_a_deadline_that_cannot_be_met_is_told_before_the_line() -> None:
    limiter = Limiter("10/h")
    assert limiter.check("k", 10)
    denied = in_a_task(limiter, timeout=60)
    assert not denied
    assert denied.remaining == 0


def test_who_has_no_time_for_the_line_asks_as_a_check_does() -> None:
    limiter = Limiter("10/h")
    assert limiter.check("k", 5)
    assert in_a_task(limiter, timeout=0)
    assert in_a_task(limiter, timeout=60).remaining == 3


def test_a_timeout_is_honoured_in_the_line() -> None:
    limiter = Limiter("10/h")
    assert limiter.check("k", 5)
    with _waiting.THREADS.place((id(limiter), b"k"), threading.Event()):
        # The first in the line has not said when it will ask again.
        assert in_a_thread(limiter, timeout=0.01).remaining == 4
        assert in_a_thread(limiter, timeout=0)


def test_nobody_waits_in_a_new_process() -> None:
    limiter = Limiter("10/h")

    def child() -> int:
        return 7 if waiting(limiter) == 0 else 8

    with _waiting.THREADS.place((id(limiter), b"k"), threading.Event()):
        assert waiting(limiter) == 1
        assert in_a_child(child) == 7
