"""Storages for the strategies of the package `limits`."""

from __future__ import annotations

import time
from urllib.parse import unquote, urlsplit

from limits.errors import ConfigurationError
from limits.storage import MovingWindowSupport, SlidingWindowCounterSupport, Storage

from ratecell._limiter import Limiter
from ratecell._native import Decision, PolicyError
from ratecell.limits._tables import Rate, Tables

_COUNT_BITS = range(32, 15, -1)
"""How wide a fixed window's count may be: the shorter the window, the more of a word its start needs."""


class _CounterStorage(Storage, SlidingWindowCounterSupport):
    """What is kept in words, in memory or in files."""

    def __init__(self, tables: Tables, uri: str | None, wrap_exceptions: bool) -> None:
        super().__init__(uri, wrap_exceptions=wrap_exceptions)
        self._tables = tables
        self._counters: dict[int, Limiter] = {}

    @property
    def base_exceptions(self) -> type[Exception] | tuple[type[Exception], ...]:
        """What the system refuses."""
        return (OSError, MemoryError)

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Counts `amount` of `key`, in a window that opens with its first and takes `expiry` seconds."""
        decision = self._counter(int(expiry)).check(key, amount)
        counted = decision.limit - decision.remaining
        return counted if decision else counted + amount

    def get(self, key: str) -> int:
        """What was counted of `key` in the window that is open."""
        return self._open_window(key)[0]

    def get_expiry(self, key: str) -> float:
        """When the window of `key` ends, in seconds since 1970; now, where none is open."""
        return time.time() + self._open_window(key)[1]

    def check(self) -> bool:
        """Whether the storage can be used."""
        return self._tables.usable()

    def reset(self) -> int | None:
        """Forgets everything; how many keys there were. NotImplementedError of files, for they are shared."""
        keys = self._tables.reset()
        self._counters = {}
        return keys

    def clear(self, key: str) -> None:
        """Forgets what was counted of `key`."""
        for _, limiter in self._tables.made("fixed_window"):
            limiter.forget(key)

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Counts `amount` of `key`, if the weighted count of two windows stays within `limit`."""
        return bool(self._tables.limiter(Rate("sliding_window", limit, expiry)).check(key, amount))

    def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """The weighted count of `key`, as if all of it were of the current window."""
        for rate, limiter in self._tables.made("sliding_window"):
            if rate.seconds == expiry and (used := _used(seen := limiter.peek(key))):
                return 0, 0.0, used, seen.reset_after
        return 0, 0.0, 0, float(expiry)

    def clear_sliding_window(self, key: str, expiry: int) -> None:
        """Forgets both windows of `key`."""
        for rate, limiter in self._tables.made("sliding_window"):
            if rate.seconds == expiry:
                limiter.forget(key)

    def _counter(self, seconds: int) -> Limiter:
        """The limiter that counts in windows of so many seconds, as far as its policy can."""
        counter = self._counters.get(seconds)
        return counter or self._counters.setdefault(seconds, self._widest(seconds))

    def _widest(self, seconds: int) -> Limiter:
        for bits in _COUNT_BITS:
            try:
                return self._tables.limiter(Rate("fixed_window", 2**bits - 1, seconds))
            except PolicyError as error:
                refused = error
        raise refused

    def _open_window(self, key: str) -> tuple[int, float]:
        """How much was counted, and for how many seconds the window stays open."""
        # The key is of one item, and so in one limiter; which, the caller does not say.
        seen = (limiter.peek(key) for _, limiter in self._tables.made("fixed_window"))
        return max(((_used(decision), decision.reset_after) for decision in seen), default=(0, 0.0))


class RatecellStorage(_CounterStorage, MovingWindowSupport):
    """`ratecell://`: a storage in the memory of this process, in place of `memory://`.

    Decides as `limits.storage.MemoryStorage`; only a fixed window may end later by a thousandth of itself. A
    moving window takes 8 bytes a unit, and at most 65,536 units.

    `max_keys` is how many keys have room, for each rate.
    """

    STORAGE_SCHEME = ["ratecell"]  # noqa: RUF012 - as the package limits has it

    def __init__(
        self, uri: str | None = None, wrap_exceptions: bool = False, max_keys: int | str | None = None
    ) -> None:
        if uri is not None and urlsplit(uri)[1:] != ("", "", "", ""):
            raise ConfigurationError(f"{uri}: expected ratecell:// or ratecell+file:///FOLDER")
        super().__init__(Tables(_number(max_keys), None), uri, wrap_exceptions)

    def clear(self, key: str) -> None:
        """Forgets what was counted of `key`."""
        super().clear(key)
        for _, limiter in self._tables.made("sliding_log"):
            limiter.forget(key)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Takes `amount` of `key`, if that makes no more than `limit` in the last `expiry` seconds."""
        return bool(self._tables.limiter(Rate("sliding_log", limit, expiry)).check(key, amount))

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest unit of `key` in the window was taken, in seconds since 1970, and their number."""
        limiter = self._tables.limiter(Rate("sliding_log", limit, expiry))
        used = _used(seen := limiter.decide(key, 0, with_next=True))
        if not used:
            return time.time(), 0
        # One more than remains has room when the oldest unit goes.
        return time.time() + (seen.next_after or 0.0) - expiry, used


class RatecellFileStorage(_CounterStorage):
    """`ratecell+file:///FOLDER`: a storage in the files of a folder, shared by all processes that name it.

    Decides as `RatecellStorage`, but for moving windows, which cannot be shared: `limits` refuses to make
    that strategy with this storage.
    """

    STORAGE_SCHEME = ["ratecell+file"]  # noqa: RUF012

    def __init__(self, uri: str, wrap_exceptions: bool = False, max_keys: int | str | None = None) -> None:
        _, host, path, query, fragment = urlsplit(uri)
        if not path.startswith("/") or (host, query, fragment) != ("", "", ""):
            raise ConfigurationError(f"{uri}: expected ratecell+file:///FOLDER")
        super().__init__(Tables(_number(max_keys), unquote(path)), uri, wrap_exceptions)


def _used(decision: Decision) -> int:
    return decision.limit - decision.remaining


def _number(max_keys: int | str | None) -> int | None:
    # The options of a configuration are text, often.
    return int(max_keys) if isinstance(max_keys, str) else max_keys
