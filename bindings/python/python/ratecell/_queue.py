"""A queue that is no longer than who waits has time for.

Whoever is let into a leaky_queue has taken a place, and is told how long to wait in it only then. A limiter
beside, on the same keys, whose queue is as short as the time that is left, lets in only whom the delay suits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ratecell._limiter import Limiter

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
    "w": 604800 * 10**9,
}
_QUEUE = re.compile(r"(leaky_queue (\d+)/(\d*)(ns|us|ms|s|m|h|d|w)\b[^&]*?queue=)(\d+)")


def within(limiter: Limiter, ns: int) -> tuple[Limiter, bool]:
    """The limiter to ask where `ns` are left, and whether asking it later may help."""
    policy = limiter.policy
    if "leaky_queue" not in policy:
        return limiter, True
    shortened = _shortened(policy, ns)
    if shortened == policy:
        return limiter, True
    return limiter.with_policy(shortened), False


def _shortened(policy: str, ns: int) -> str:
    """The policy with the places of each queue that are reached in `ns`."""

    def places(found: re.Match[str]) -> str:
        start, leak, periods, unit, queue = found.groups()
        reached = ns * int(leak) // (int(periods or 1) * _UNITS[unit])
        return f"{start}{min(int(queue), reached)}"

    return _QUEUE.sub(places, policy)
