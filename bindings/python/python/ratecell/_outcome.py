"""How a request was decided, and the exception of a denial where a return value has no place."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratecell._native import Decision


class Outcome(enum.IntEnum):
    """How a request was decided; the numbers are those of the C library."""

    ALLOWED = 0
    """It may go; its cost was charged."""
    DENIED = 1
    """Not now; nothing was charged."""
    NEVER = 2
    """It can never go: its cost exceeds the capacity, or its own units alone are delayed for too long."""
    CLOCK_RANGE = 3
    """The time is past what the policy can tell."""


class RateLimitExceeded(Exception):  # noqa: N818 - a denial is no error
    """What a function under `Limiter.limit` raises instead of being called.

    `decision` is the denial and `key` whose it was.
    """

    def __init__(self, key: str | bytes, decision: Decision) -> None:
        super().__init__(key, decision)
        self.key = key
        self.decision = decision

    def __str__(self) -> str:
        after = self.decision.retry_after
        if after is not None:
            return f"rate limit exceeded for {self.key!r}: retry after {after:.9g} s"
        if self.decision.outcome is Outcome.DENIED:
            return f"rate limit exceeded for {self.key!r}: retry later"
        return f"rate limit exceeded for {self.key!r}: can never be allowed"


class TooManyWaiting(Exception):  # noqa: N818 - as RateLimitExceeded
    """What `wait` and `acquire` raise without a timeout, when as many wait as may.

    These are 1000 for a key, and 100,000 for all keys.
    """

    def __init__(self, key: str | bytes) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"too many wait for {self.key!r} already"
