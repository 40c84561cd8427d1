"""The package `limits`, decided by ratecell: a storage for its strategies, and strategies in place of them.

Where a program or a framework (Flask-Limiter, SlowAPI) names a storage by its URI, importing this module lets
it name ratecell:

    import ratecell.limits

    storage_from_string("ratecell://")                    # in this process, in place of "memory://"
    storage_from_string("ratecell+file:///run/limits")    # a folder of files, which processes share

The decisions are those of `limits.storage.MemoryStorage`: a fixed window counts what it denies, too.

Where a program has

    from limits.strategies import MovingWindowRateLimiter
    limiter = MovingWindowRateLimiter(MemoryStorage())

one line is enough:

    from ratecell.limits import MovingWindowRateLimiter

`hit`, `test`, `get_window_stats` and `clear` are as they were, on the same `RateLimitItem`. But what is
denied is never counted here: after a denied hit with a cost of 3, what was left before is left still.

Memory is bounded by both: `max_keys` for each kind of item.
"""

from ratecell.limits._storage import RatecellFileStorage, RatecellStorage
from ratecell.limits._strategies import (
    FixedWindowRateLimiter,
    MovingWindowRateLimiter,
    RateLimiter,
    SlidingWindowCounterRateLimiter,
)

__all__ = [
    "FixedWindowRateLimiter",
    "MovingWindowRateLimiter",
    "RateLimiter",
    "RatecellFileStorage",
    "RatecellStorage",
    "SlidingWindowCounterRateLimiter",
]
