"""A limit before a WSGI application: Flask, Django, Bottle, Pyramid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from ratecell._http import DECISION, Desk
from ratecell._limiter import Limiter
from ratecell.keys import KeyFunction, client_key

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class RateLimitMiddleware:
    """Answers 429 where the limiter denies, and tells every client its limit.

    `key` says who a request is counted for, None that it is not to be limited; `cost` how many units it
    takes. `name` is what the policy is called in the fields; `legacy` adds the X-RateLimit ones. `denied`, a
    WSGI application, answers in place of the plain text; it finds the decision, as the application does, in
    `environ["ratecell.decision"]`, and the fields are added to its answer too.

    Where the policy is a leaky_queue, an allowed request is held for the `delay` of its decision before the
    application sees it; its thread sleeps.
    """

    def __init__(
        self,
        app: WSGIApplication,
        limiter: Limiter,
        key: KeyFunction = client_key,
        *,
        cost: int | Callable[[WSGIEnvironment], int] = 1,
        name: str | None = None,
        legacy: bool = False,
        status: int = 429,
        denied: WSGIApplication | None = None,
    ) -> None:
        self._app = app
        self._desk = Desk(limiter, key, cost, name, legacy, status)
        self._status = f"{status} {HTTPStatus(status).phrase}"
        self._denied = denied

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serves one request."""
        decision = self._desk.decide(environ)
        if decision is None:
            return self._app(environ, start_response)
        environ[DECISION] = decision
        app = self._app if decision else self._denied
        if app is None:
            fields, body = self._desk.refusal(decision)
            start_response(self._status, fields)
            return [body]

        if decision.delay:
            time.sleep(decision.delay)

        def tell(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Callable[[bytes], object]:
            return start_response(status, [*headers, *self._desk.headers(decision)], *exc_info)

        return app(environ, tell)
