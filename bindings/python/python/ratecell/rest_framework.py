"""Throttles for Django REST framework, with the names and settings of `rest_framework.throttling`.

    REST_FRAMEWORK = {
        "DEFAULT_THROTTLE_CLASSES": ["ratecell.rest_framework.UserRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"user": "100/m"},
    }
    RATECELL = {"THROTTLE_FOLDER": "/dev/shm/my-app"}

The framework's own count in Django's cache, where two requests at once may both pass; these are exact. With
the folder all workers share the limits, otherwise each has its own.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from rest_framework import throttling

from ratecell._fields import Style
from ratecell._gate import Counts, Fail, Gate
from ratecell._http import Answered, Limit, Limits
from ratecell._limiter import Limiter
from ratecell._native import Label
from ratecell._rules import Rules
from ratecell.django.settings import throttle_folder

__all__ = [
    "AnonRateThrottle",
    "RateLimitThrottle",
    "ScopedRateThrottle",
    "SimpleRateThrottle",
    "UserRateThrottle",
    "counts",
]

_gates: dict[Any, Gate] = {}
_lock = threading.Lock()


class _Decides:
    """What all these throttles do: the framework makes an object for each request."""

    styles: ClassVar[Style | tuple[Style, ...]] = "draft11"
    """The styles of the fields, which the framework adds to every response of the view."""
    fail: ClassVar[Fail] = "open"
    """What becomes of a request that cannot be decided because of a fault: "open" or "closed"."""

    _answered: Answered | None = None

    def _admits(self, gate: Gate, request: Any, view: Any) -> bool:
        self._answered = answered = gate.decide(request)
        if answered is None:
            return True
        headers = getattr(view, "headers", None)
        if isinstance(headers, dict):
            # The framework writes Retry-After itself, the longest of all throttles.
            for name, value in answered.fields():
                if name != "Retry-After":
                    headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if answered.delay:
            time.sleep(answered.delay)
        return bool(answered)

    def wait(self) -> float | None:
        """Seconds until the same request would be allowed; None where it never will be."""
        if self._answered is None or self._answered.decision is None:
            return None
        return self._answered.decision.retry_after


class RateLimitThrottle(_Decides, throttling.BaseThrottle):
    """A throttle of limits or rules of your own.

        class Exports(RateLimitThrottle):
            limits = Limit(Limiter("5/h", path="/dev/shm/exports"), lambda request: str(request.user.pk))

    Several limits are charged all or none. A key is a function of the framework's request, and None is not
    limited. Policies of requests in flight are refused: the framework does not tell a throttle when a request
    has ended.
    """

    limits: ClassVar[Limits | Rules]
    attributes: ClassVar[Any] = None

    _gate: ClassVar[Gate]

    def __init_subclass__(cls, **options: Any) -> None:
        """Makes the gate, where there are limits: what is wrong is raised where the class is defined."""
        super().__init_subclass__(**options)
        if "limits" in cls.__dict__:
            cls._gate = Gate(cls.limits, attributes=cls.attributes, styles=cls.styles, fail=cls.fail)
            if cls._gate.decider.holds:
                raise ValueError(
                    f"{cls.__name__} counts requests in flight: expected other policies, or the middleware"
                )

    def allow_request(self, request: Any, view: Any) -> bool:
        """Whether the request may go."""
        return self._admits(self._gate, request, view)

    @classmethod
    def counts(cls) -> Counts:
        """How many requests this throttle has let through and refused, in this process."""
        return cls._gate.counts


class SimpleRateThrottle(_Decides, throttling.SimpleRateThrottle):
    """A throttle of a rate, which is a policy such as "100/m".

    It is `rate`, or in DEFAULT_THROTTLE_RATES by `scope`. Subclasses say in `get_cache_key` who a request is
    counted for. The rates of Django REST framework are policies, too; but "100/day" is 100 at once, and then
    one each 864 s. Closest to the framework's own is "sliding_window 100/1d".
    """

    @classmethod
    def rates(cls) -> dict[str, str]:
        """The policies of its scopes: what `manage.py check` looks at."""
        rate = getattr(cls, "rate", None) or cls.THROTTLE_RATES.get(cls.scope)
        return {} if rate is None else {str(cls.scope): rate}

    def parse_rate(self, rate: str | None) -> tuple[str | None, None]:
        """The policy; the framework has a number and a duration here."""
        return rate, None

    def allow_request(self, request: Any, view: Any) -> bool:
        """Whether the request may go."""
        if self.rate is None:
            return True
        key = self.get_cache_key(request, view)
        return True if key is None else self._admits(self._gate(), key, view)

    def _gate(self) -> Gate:
        folder = throttle_folder()
        chosen = (folder, self.scope, self.rate, self.styles, self.fail)
        with _lock:
            if (gate := _gates.get(chosen)) is None:
                try:
                    gate = self._made(folder)
                except (ValueError, TypeError, OSError, MemoryError) as error:
                    # `manage.py check` says it; a server that was started all the same has a fault.
                    gate = _faulty(error, self.fail)
                _gates[chosen] = gate
        return gate

    def _made(self, folder: Path | None) -> Gate:
        path = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / quote(str(self.scope), safe="")
        limit = Limit(Limiter(self.rate, path=path), _is_the_key, label=Label(str(self.scope)))
        return Gate(limit, styles=self.styles, fail=self.fail)


def _is_the_key(request: str) -> str:
    """The framework's own function has been asked already."""
    return request


def _faulty(error: Exception, fail: Fail) -> Gate:
    """A gate that cannot decide, because of an error when it was made."""

    def key(request: str) -> str:
        raise error

    return Gate(Limit(Limiter("1/s", max_keys=1), key), fail=fail)


class AnonRateThrottle(throttling.AnonRateThrottle, SimpleRateThrottle):
    """Limits clients that are not authenticated, by address."""


class UserRateThrottle(throttling.UserRateThrottle, SimpleRateThrottle):
    """Limits users, and clients that are not authenticated by address."""


class ScopedRateThrottle(throttling.ScopedRateThrottle, SimpleRateThrottle):
    """Limits each part of an API by the rate that the view names: `throttle_scope = "uploads"`."""

    @classmethod
    def rates(cls) -> dict[str, str]:
        """Any scope may be a view's."""
        return {str(scope): rate for scope, rate in cls.THROTTLE_RATES.items() if rate is not None}


def counts() -> dict[str, Counts]:
    """How many requests the throttles of each scope have let through and refused, in this process."""
    with _lock:
        return {str(scope): gate.counts for (_, scope, *_), gate in _gates.items()}
