"""Waiting until a limiter allows, in a thread and in asyncio."""

from __future__ import annotations

import asyncio
import numbers
import threading
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from ratecell import _native
from ratecell._line import Lines
from ratecell._native import Decision
from ratecell._outcome import Outcome

if TYPE_CHECKING:
    from ratecell._limiter import Limiter

MAX_TIMEOUT = threading.TIMEOUT_MAX
"""The longest that Python waits for anything."""

THREADS: Lines[threading.Event] = Lines(threading.Event.set)


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


TASKS: Lines[asyncio.Future[None]] = Lines(_wake)
"""A line of tasks is of one event loop."""


def wait(limiter: Limiter, key: str | bytes, cost: int, timeout: float | None) -> Decision:
    """What `Limiter.wait` does."""
    attempt = _Attempt(limiter, key, cost, timeout)
    if attempt.must_stand_in_line(THREADS.ready_ns(attempt.name)):
        turn = threading.Event()
        with THREADS.place(attempt.name, turn) as line:
            if turn.wait(attempt.left()):
                while (pause := attempt.ask()) is not None:
                    line.ready_ns = time.monotonic_ns() + pause
                    time.sleep(pause / 1e9)
            else:
                attempt.ask_finally()
    if attempt.decision and attempt.decision.delay:
        time.sleep(attempt.decision.delay)
    return attempt.decision


async def acquire(limiter: Limiter, key: str | bytes, cost: int, timeout: float | None) -> Decision:
    """What `Limiter.acquire` does."""
    attempt = _Attempt(limiter, key, cost, timeout)
    loop = asyncio.get_running_loop()
    name = (loop, attempt.name)
    if attempt.must_stand_in_line(TASKS.ready_ns(name)):
        turn = loop.create_future()
        with TASKS.place(name, turn) as line:
            if not turn.done():
                await asyncio.wait([turn], timeout=attempt.left())
            if turn.done():
                while (pause := attempt.ask()) is not None:
                    line.ready_ns = time.monotonic_ns() + pause
                    await asyncio.sleep(pause / 1e9)
            else:
                attempt.ask_finally()
    if attempt.decision and attempt.decision.delay:
        await asyncio.sleep(attempt.decision.delay)
    return attempt.decision


class _Attempt:
    """One who waits, without the sleeping."""

    def __init__(self, limiter: Limiter, key: str | bytes, cost: int, timeout: float | None) -> None:
        if timeout is not None:
            if not isinstance(timeout, (float, int, numbers.Real)):
                raise TypeError(f"timeout is of type {type(timeout).__name__}: expected seconds, or None")
            if not 0 <= timeout < MAX_TIMEOUT:
                raise ValueError(
                    f"timeout is {timeout!r}: expected seconds from 0 to {MAX_TIMEOUT:.0f}, or None"
                )
        if not isinstance(key, str | bytes):
            raise TypeError(f"key is of type {type(key).__name__}: expected str or bytes")
        self.limiter = limiter
        self.key = key
        self.cost = cost
        # Whole nanoseconds, as in the decisions: a sum of floats could miss what is just in time.
        self.deadline = None if timeout is None else time.monotonic_ns() + round(timeout * 1e9)
        # By its number, for two limiters may be equal: whoever waits keeps the limiter, and so the number.
        self.name = id(limiter), key if isinstance(key, bytes) else key.encode()
        self.max_delay_ns = 0
        self.decision: Decision

    def left_ns(self) -> int | None:
        """Nanoseconds until the deadline, if there is one."""
        return None if self.deadline is None else max(0, self.deadline - time.monotonic_ns())

    def left(self) -> float | None:
        """`left_ns` in seconds."""
        ns = self.left_ns()
        return None if ns is None else ns / 1e9

    def must_stand_in_line(self, ready_ns: int | None) -> bool:
        """Asks, unless that could take what those in line wait for; whether there is still no answer.

        `ready_ns` is that of the line, if there is one.
        """
        if ready_ns is None or self.left_ns() == 0:
            return self.ask() is not None
        if self.deadline is not None and ready_ns > self.deadline:
            self.ask_finally()
            return False
        # More than is there is denied, and nothing is taken; but it may be told that the time is too short.
        too_much = self.limiter.peek(self.key).remaining < self.cost
        return not too_much or self.ask() is not None

    def ask(self) -> int | None:
        """Asks once: nanoseconds until it may be asked again, or None where `decision` is the answer."""
        left = self.left_ns()
        self._check(left)
        if self.decision:
            return None
        after = self.decision.retry_after_ns
        if left is not None and (after is None or after + self.max_delay_ns > left):
            return None
        if after is None:
            raise ValueError(self._never())
        return after

    def ask_finally(self) -> None:
        """Asks once: `decision` is the answer, whatever it is."""
        self._check(0)

    def _check(self, left: int | None) -> None:
        in_time = left is None or self.max_delay_ns <= left
        self.decision = self.limiter.decide(
            self.key, self.cost, within_ns=self.max_delay_ns if in_time else 0
        )
        if not self.decision and self.cost > 1 and not self.max_delay_ns:
            # The units of one cost follow each other through a queue: even an empty one delays the last.
            self.max_delay_ns = _own_delay_ns(self.limiter.policy, self.cost)
            if self.max_delay_ns:
                self._check(left)

    def _never(self) -> str:
        if self.decision.outcome is Outcome.NEVER:
            capacity = self.decision.limit
            return f"cost is {self.cost}: expected at most the capacity, {capacity}; more is never allowed"
        return "the clock is past what the policy can tell: expected a policy with a longer horizon"


@lru_cache(maxsize=1024)
def _own_delay_ns(policy: str, cost: int) -> int:
    """The delay of `cost` units where nobody is before them."""
    return _native.Limiter(policy, max_keys=1).check("", cost, at_ns=0).delay_ns
