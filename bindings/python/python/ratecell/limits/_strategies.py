"""Strategies in place of those of the package `limits`."""

from __future__ import annotations

import time
from os import PathLike
from typing import ClassVar

from limits import RateLimitItem, WindowStats
from limits.storage import MemoryStorage

from ratecell._limiter import Limiter
from ratecell.limits._tables import Rate, Tables


class RateLimiter:
    """Limits by `limits.RateLimitItem`s; the subclasses say how a period is counted.

    This one spaces what comes evenly, by GCRA: the whole amount may come at once, and then as much as has
    leaked away.

    A `storage` is accepted where it is the `MemoryStorage` that the program had, but not used: its `reset`
    forgets nothing here, that of the strategy does. With `path`, a folder, the limits are in files that all
    processes which name it share. `max_keys` is how many keys have room, for each rate.
    """

    _algorithm: ClassVar[str] = "gcra"

    def __init__(
        self,
        storage: MemoryStorage | None = None,
        *,
        max_keys: int | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        if not isinstance(storage, MemoryStorage | None):
            raise TypeError(
                f"storage is of type {type(storage).__name__}: expected None, a MemoryStorage, or path=FOLDER"
            )
        self.storage = storage
        self._tables = Tables(max_keys, path)

    def hit(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        """Takes `cost` of the limit, if that much is left; whether it was. If not, nothing is taken."""
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

    def reset(self) -> int:
        """Forgets everything; how many keys there were. NotImplementedError with `path`, for it is shared."""
        return self._tables.reset()

    def _limiter(self, item: RateLimitItem) -> Limiter:
        return self._tables.limiter(Rate(self._algorithm, item.amount, item.get_expiry()))


class FixedWindowRateLimiter(RateLimiter):
    """A window opens at the first hit, and takes the amount."""

    _algorithm = "fixed_window"


class MovingWindowRateLimiter(RateLimiter):
    """At most the amount in any window, exactly: 8 bytes a unit, at most 65,536, and in one process only."""

    _algorithm = "sliding_log"

    def __init__(
        self,
        storage: MemoryStorage | None = None,
        *,
        max_keys: int | None = None,
        path: str | PathLike[str] | None = None,
    ) -> None:
        if path is not None:
            raise ValueError("a moving window cannot be shared: expected another strategy, or no path")
        super().__init__(storage, max_keys=max_keys)


class SlidingWindowCounterRateLimiter(RateLimiter):
    """At most the amount by the weighted count of two windows."""

    _algorithm = "sliding_window"
