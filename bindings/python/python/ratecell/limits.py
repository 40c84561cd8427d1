"""The strategies of the package `limits`, decided by ratecell.

Where a program has

    from limits.strategies import MovingWindowRateLimiter
    limiter = MovingWindowRateLimiter(MemoryStorage())

one line is enough:

    from ratecell.limits import MovingWindowRateLimiter

`hit`, `test`, `get_window_stats` and `clear` are as they were, on the same `RateLimitItem`. A storage that is
given is not used: the limits are kept in this process, or with `path=`, a folder, in files that all processes
which name it share. Memory is bounded: `max_keys` for each kind of item.
"""

from __future__ import annotations

import time
from os import PathLike
from pathlib import Path
from typing import ClassVar

from limits import RateLimitItem, WindowStats

from ratecell._limiter import Limiter


class RateLimiter:
    """Limits by `limits.RateLimitItem`s; the subclasses say how a period is counted.

    This one spaces what comes evenly, by GCRA: the whole amount may come at once, and then as much as has
    leaked away.
    """

    _policy: ClassVar[str] = "gcra {amount}/{seconds}s"

    def __init__(
        self,
        storage: object = None,
        *,
        max_keys: int | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        self.storage = storage
        self._max_keys = max_keys
        self._folder = None if path is None else Path(path)
        self._limiters: dict[tuple[int, int], Limiter] = {}

    def hit(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        """Takes `cost` of the limit, if that much is left; whether it was."""
        return bool(self._limiter(item).check(item.key_for(*identifiers), cost))

    def test(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        """Whether `cost` is left of the limit; takes nothing."""
        return self._limiter(item).peek(item.key_for(*identifiers)).remaining >= cost

    def get_window_stats(self, item: RateLimitItem, *identifiers: str) -> WindowStats:
        """When the limit is as good as never used, in seconds since 1970, and how much is left of it."""
        decision = self._limiter(item).peek(item.key_for(*identifiers))
        return WindowStats(time.time() + decision.reset_after, decision.remaining)

    def clear(self, item: RateLimitItem, *identifiers: str) -> None:
        """Forgets what was taken."""
        self._limiter(item).forget(item.key_for(*identifiers))

    def _limiter(self, item: RateLimitItem) -> Limiter:
        rate = (item.amount, item.get_expiry())
        limiter = self._limiters.get(rate)
        # Two threads may make one each: the first that is kept is everyone's.
        return limiter or self._limiters.setdefault(rate, self._made(*rate))

    def _made(self, amount: int, seconds: int) -> Limiter:
        policy = self._policy.format(amount=amount, seconds=seconds)
        path = None
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{policy.split()[0]}-{amount}-{seconds}s"
        return Limiter(policy, max_keys=self._max_keys, path=path)


class FixedWindowRateLimiter(RateLimiter):
    """A window opens at the first hit, and takes the amount."""

    _policy = "fixed_window {amount}/{seconds}s start=first"


class MovingWindowRateLimiter(RateLimiter):
    """At most the amount in any window, exactly: 8 bytes a unit, at most 65,536, and in one process only."""

    _policy = "sliding_log {amount}/{seconds}s"


class SlidingWindowCounterRateLimiter(RateLimiter):
    """At most the amount by the weighted count of two windows."""

    _policy = "sliding_window {amount}/{seconds}s"
