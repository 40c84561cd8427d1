"""Waiting until a limiter allows, in a thread and in asyncio.

The limiter's line, which is native, says who asks when. Here is the sleeping, and nothing is decided.
"""

from __future__ import annotations

import asyncio
import contextlib
import numbers
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from ratecell import _native
from ratecell._exceeded import TooManyWaiting
from ratecell._native import Decision

if TYPE_CHECKING:
    from ratecell._limiter import Limiter

MAX_TIMEOUT = threading.TIMEOUT_MAX
"""The longest that Python waits for anything."""

LONGEST_SLEEP = 86400.0
"""Seconds after which a turn is taken anyway."""


def wait(limiter: Limiter, key: str | bytes, cost: int, timeout: float | None) -> Decision:
    """What `Limiter.wait` does."""
    thread = _Thread()
    place = _Place(limiter, key, cost, timeout, thread.wake)
    try:
        while (seconds := place.turn()) is not None:
            thread.sleep(seconds)
    except BaseException:
        place.leave()
        raise
    return place.result()


async def acquire(limiter: Limiter, key: str | bytes, cost: int, timeout: float | None) -> Decision:
    """What `Limiter.acquire` does."""
    task = _Task()
    place = _Place(limiter, key, cost, timeout, task.wake)
    try:
        while (seconds := place.turn()) is not None:
            await task.sleep(seconds)
    except BaseException:
        place.leave()
        raise
    return place.result()


class _Thread:
    """What a thread sleeps on."""

    def __init__(self) -> None:
        self._turn = threading.Event()
        self.wake = self._turn.set

    def sleep(self, seconds: float) -> None:
        self._turn.wait(seconds)
        self._turn.clear()


class _Task:
    """What a task sleeps on."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._turn = self._loop.create_future()

    def wake(self) -> None:
        # Of a loop that is closed, which takes no call, the tasks leave when they are collected.
        with contextlib.suppress(RuntimeError):
            if threading.get_ident() == self._thread:
                self._come()
            else:
                self._loop.call_soon_threadsafe(self._come)

    def _come(self) -> None:
        if not self._turn.done():
            self._turn.set_result(None)

    async def sleep(self, seconds: float) -> None:
        await asyncio.wait([self._turn], timeout=seconds)
        if self._turn.done():
            self._turn = self._loop.create_future()


class _Place:
    """The place in line of one who waits."""

    def __init__(
        self,
        limiter: Limiter,
        key: str | bytes,
        cost: int,
        timeout: float | None,
        wake: Callable[[], object],
    ) -> None:
        if timeout is not None:
            if not isinstance(timeout, (float, int, numbers.Real)):
                raise TypeError(f"timeout is of type {type(timeout).__name__}: expected seconds, or None")
            if not 0 <= timeout < MAX_TIMEOUT:
                raise ValueError(
                    f"timeout is {timeout!r}: expected seconds from 0 to {MAX_TIMEOUT:.0f}, or None"
                )
        self.limiter = limiter
        self.key = key
        self.cost = cost
        self.timeout = timeout
        self.end: tuple[str, Decision] | None = None
        # The first turn is at the instant of the arrival: a timeout of 0 leaves no other.
        self.now: int | None = limiter.now_ns()
        # Whole nanoseconds, as in the decisions: a sum of floats could miss what is just in time.
        deadline = None if timeout is None else self.now + round(timeout * 1e9)
        self.id = _native.arrive(limiter, key, cost, self.now, deadline, wake)

    def turn(self) -> float | None:
        """Takes a turn: seconds to sleep unless woken, or None where `end` is there."""
        now = self.limiter.now_ns() if self.now is None else self.now
        self.now = None
        self.end, until = _native.turn(self.limiter, self.id, self.key, now)
        if self.end is not None:
            return None
        return LONGEST_SLEEP if until is None else min(LONGEST_SLEEP, max(0, until - now) / 1e9)

    def leave(self) -> None:
        _native.leave(self.limiter, self.id, self.limiter.now_ns())

    def result(self) -> Decision:
        """The decision; without a timeout, what has none is an error."""
        assert self.end is not None, "its turn has come"
        outcome, decision = self.end
        if self.timeout is None and not decision:
            self._raise(outcome, decision)
        return decision

    def _raise(self, outcome: str, decision: Decision) -> NoReturn:
        if outcome == "never":
            capacity = decision.limit
            raise ValueError(
                f"cost is {self.cost}: expected at most the capacity, {capacity}; more is never allowed"
            )
        if outcome == "clock_range":
            raise ValueError(
                "the clock is past what the policy can tell: expected a policy with a longer horizon"
            )
        raise TooManyWaiting(self.key)
