"""The limiter: the native one, which decides, and what waits for its decisions."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, NoReturn, TypeVar

from ratecell import _native, _queue
from ratecell._decorator import limited
from ratecell._native import Decision
from ratecell._outcome import Outcome

MAX_TIMEOUT = threading.TIMEOUT_MAX
"""The longest that Python waits for anything."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Limiter(_native.Limiter):
    """Decides, for any number of keys, whether a request may go now.

    `policy` is text such as "100/s burst=200"; `max_keys` how many keys have room at once (default 100,000;
    about 25 bytes each, taken here); `when_full` what becomes of a new key without room: "evict" (default),
    "share", "deny" or "allow". With `path`, a file that is made or attached to, every process that opens it
    shares the same limits; without, the limiter is this process's alone.

    Keys are str, known by their UTF-8, or bytes. Threads may share a limiter.

    Raises PolicyError, a ValueError, for a policy that is refused; ValueError for a file that holds something
    else or another policy, or a `max_keys` of 0; OSError for a file that cannot be used; MemoryError where
    there is too little for `max_keys`. The calls that decide raise TypeError for a key that is neither str
    nor bytes, and ValueError for a cost that is not from 0 to 2**32-1, or a str that has no UTF-8; nothing is
    charged then. A denial is an answer, never an exception.
    """

    __slots__ = ()

    def __init__(
        self,
        policy: str,
        *,
        max_keys: int | None = None,
        when_full: Literal["evict", "share", "deny", "allow"] | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        """Is made by `__new__`, as immutable objects are."""
        super().__init__()

    def with_policy(self, policy: str) -> Limiter:
        """Another limiter on the same keys, in the same memory, with another policy: a tier, or a new rate.

        The policy must have the same algorithms and windows; rate and capacity may differ. Raises ValueError
        where it does not.
        """
        return _native.Limiter.__new__(type(self), policy, _beside=self)

    def wait(self, key: str | bytes, cost: int = 1, timeout: float | None = None) -> Decision:
        """Waits until `cost` units of `key` are allowed, and charges them; other threads run meanwhile.

        Sleeps as long as the decisions say, which is exact, and also the `delay` of a leaky_queue. Nothing is
        charged before it is allowed. Where `timeout` seconds are not enough, the denial is returned at once,
        without sleeping; so look at what is returned where there is a timeout. Without one, what can never be
        allowed raises ValueError.
        """
        wait = _Wait(self, key, cost, timeout)
        while (pause := wait.next()) is not None:
            time.sleep(pause)
        return wait.decision

    async def acquire(self, key: str | bytes, cost: int = 1, timeout: float | None = None) -> Decision:
        """Does as `wait` does, in asyncio: other tasks run meanwhile.

        A task cancelled while it waits to be allowed has taken nothing. (The place in a leaky_queue is taken
        when the `delay` begins.)
        """
        wait = _Wait(self, key, cost, timeout)
        while (pause := wait.next()) is not None:
            await asyncio.sleep(pause)
        return wait.decision

    def limit(
        self,
        key: str | bytes | Callable[..., str | bytes] | None = None,
        *,
        cost: int = 1,
        timeout: float | None = 0,
    ) -> Callable[[_Function], _Function]:
        """Decorates a function, or a coroutine function, with this limit.

        `key` is a key or a function of the call's arguments that returns one; by default the function's name.
        A call that is denied raises RateLimitExceeded, after up to `timeout` seconds of waiting; None waits
        as long as it takes.
        """
        return limited(self, key, cost, timeout)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a limiter cannot be pickled or copied: expected Limiter(policy, path=FILE) in each process"
        )

    def __repr__(self) -> str:
        return f"<Limiter {self.policy!r}>"


_native.give_check(Limiter)


class _Wait:
    """One wait, whose sleeping is its caller's."""

    def __init__(self, limiter: Limiter, key: str | bytes, cost: int, timeout: float | None) -> None:
        if timeout is not None and not 0 <= timeout < MAX_TIMEOUT:
            raise ValueError(f"timeout is {timeout!r}: expected seconds from 0 to {MAX_TIMEOUT:.0f}, or None")
        self.limiter = limiter
        self.key = key
        self.cost = cost
        # Whole nanoseconds, as in the decisions: a sum of floats could miss a place that is just in time.
        self.deadline = None if timeout is None else time.monotonic_ns() + round(timeout * 1e9)
        self.admitted = False
        self.decision: Decision

    def next(self) -> float | None:
        """Asks once: how long to sleep before the next time, or None where `decision` is the answer."""
        if self.admitted:
            return None
        left = None if self.deadline is None else max(0, self.deadline - time.monotonic_ns())
        limiter, in_time = self.limiter, True
        if left is not None:
            limiter, in_time = _queue.within(limiter, left)
        self.decision = limiter.check(self.key, self.cost)
        if self.decision:
            self.admitted = True
            return self.decision.delay or None
        after = self.decision.retry_after_ns
        if left is not None and (after is None or after > left or not in_time):
            return None
        if after is None:
            raise ValueError(self._never())
        return after / 1e9

    def _never(self) -> str:
        if self.decision.outcome is Outcome.NEVER:
            capacity = self.decision.limit
            return f"cost is {self.cost}: expected at most the capacity, {capacity}; more is never allowed"
        return "the clock is past what the policy can tell: expected a policy with a longer horizon"
