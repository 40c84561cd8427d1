"""A limit before all views."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

from ratecell._exceeded import RateLimitExceeded
from ratecell._gate import Counts
from ratecell._http import refusal_of
from ratecell.django.responses import HttpResponseTooManyRequests, serve, serve_async
from ratecell.django.settings import gate


class RateLimitMiddleware:
    """Refuses requests that are not allowed, and adds the fields to every response.

    The limit is in the setting RATECELL: a dict with POLICY, PATH, MAX_KEYS, WHEN_FULL, KEY, COST and NAME,
    or with RULES (the path of a file), ATTRIBUTES, FORKED and RESERVING; and with either STYLES, STATUS and
    FAIL, which are those of `ratecell.RateLimitMiddleware`. KEY, COST and ATTRIBUTES are functions of the
    HttpRequest, or their names. Under `AuthenticationMiddleware` they find `request.user`.
    ImproperlyConfigured says what is wrong, when the server starts and by `manage.py check`.

    RateLimitExceeded, which a limit inside a view raises, is answered with 429, too. The decision is in
    `request.META["ratecell.decision"]`. A permit of a layer `in_flight` is released when the response is
    closed.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        self._gate = gate()
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    @staticmethod
    def counts() -> Counts:
        """How many requests the middleware has let through and refused, in this process."""
        return gate().counts

    def __call__(self, request: HttpRequest) -> Any:
        """Serves one request, or is a coroutine that does."""
        serving = serve_async if self._is_async else serve
        return serving(self._gate, request, functools.partial(self._get_response, request))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        """Answers what a limit inside a view denies."""
        if not isinstance(exception, RateLimitExceeded):
            return None
        return HttpResponseTooManyRequests(refusal_of(exception), exception.decision)
