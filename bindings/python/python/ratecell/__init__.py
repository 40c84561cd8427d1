"""ratecell: an exact, lock-free, in-process rate limiter, in memory or in a file that processes share.

    limiter = ratecell.Limiter("100/s burst=200")
    if limiter.check("user:42"):
        ...

`Limiter` decides; `RateLimitMiddleware` (ASGI) and `ratecell.wsgi` stand before an application;
`ratecell.limits` speaks as the package `limits` does.
"""

from collections.abc import Sequence

from ratecell._joint import Claim, Joint, check_all
from ratecell._limiter import Limiter
from ratecell._native import Decision, Decisions, PolicyError, Stats
from ratecell._outcome import Outcome, RateLimitExceeded, TooManyWaiting
from ratecell.asgi import RateLimitMiddleware
from ratecell.keys import ClientIP, Header, client_ip

Sequence.register(Decisions)

__all__ = [
    "Claim",
    "ClientIP",
    "Decision",
    "Decisions",
    "Header",
    "Joint",
    "Limiter",
    "Outcome",
    "PolicyError",
    "RateLimitExceeded",
    "RateLimitMiddleware",
    "Stats",
    "TooManyWaiting",
    "check_all",
    "client_ip",
]
