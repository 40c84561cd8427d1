"""ratecell: an exact, lock-free, in-process rate limiter, in memory or in a file that processes share.

    limiter = ratecell.Limiter("100/s burst=200")
    if limiter.check("user:42"):
        ...

`Limiter` decides, and `Rules` by a file that says which limits apply to which requests;
`RateLimitMiddleware` (ASGI) and `ratecell.wsgi` stand before an application; `ratecell.fastapi`, `flask`,
`django`, `rest_framework` and `celery` are for these frameworks; `ratecell.limits` has the classes of the
package `limits`.
"""

from collections.abc import Sequence

from ratecell import _extension  # noqa: F401 - first, for without it there is nothing else
from ratecell._exceeded import RateLimitExceeded, TooManyWaiting
from ratecell._fields import Answer, Style, fields
from ratecell._gate import Counts
from ratecell._http import Limit
from ratecell._joint import Claim, Joint, decide_all
from ratecell._limiter import Limiter
from ratecell._metrics import metrics
from ratecell._native import (
    Decision,
    Decisions,
    Label,
    PolicyError,
    RulesDecision,
    RulesError,
    Stats,
    Zone,
)
from ratecell._outcome import Outcome
from ratecell._reservation import Reservation
from ratecell._rules import Rules, RulesReservation
from ratecell.asgi import RateLimitMiddleware
from ratecell.attributes import ByRequest
from ratecell.keys import Clients, Header, client_key

Sequence.register(Decisions)

__all__ = [
    "Answer",
    "ByRequest",
    "Claim",
    "Clients",
    "Counts",
    "Decision",
    "Decisions",
    "Header",
    "Joint",
    "Label",
    "Limit",
    "Limiter",
    "Outcome",
    "PolicyError",
    "RateLimitExceeded",
    "RateLimitMiddleware",
    "Reservation",
    "Rules",
    "RulesDecision",
    "RulesError",
    "RulesReservation",
    "Stats",
    "Style",
    "TooManyWaiting",
    "Zone",
    "client_key",
    "decide_all",
    "fields",
    "metrics",
]
