"""The exceptions of a denial, where a return value has no place."""

from __future__ import annotations

from ratecell._native import Decision, RulesDecision


class RateLimitExceeded(Exception):  # noqa: N818 - a denial is no error
    """Raised instead of calling a function under `Limiter.limit` that is denied.

    A Reservation that was refused raises it, too, where it is used as one that is held.
    `decision` is the denial and `key` the key that it is of; of rules it is the name of the one that refused.
    """

    def __init__(self, key: str | bytes, decision: Decision | RulesDecision) -> None:
        super().__init__(key, decision)
        self.key = key
        self.decision = decision

    def __str__(self) -> str:
        after = self.decision.retry_after
        when = "can never be allowed" if after is None else f"retry after {after:.9g} s"
        return f"rate limit exceeded for {self.key!r}: {when}"


class TooManyWaiting(Exception):  # noqa: N818 - as RateLimitExceeded
    """Raised by `wait` and `acquire` without a timeout, when as many wait as may.

    These are 1000 for a key, and 100,000 for all keys.
    """

    def __init__(self, key: str | bytes) -> None:
        super().__init__(key)
        self.key = key

    def __str__(self) -> str:
        return f"too many wait for {self.key!r} already"
