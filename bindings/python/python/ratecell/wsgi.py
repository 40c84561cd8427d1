"""A limit before a WSGI application: Flask, Django, Bottle, Pyramid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ratecell._fields import Style
from ratecell._gate import Counts, Fail, Gate
from ratecell._http import DECISION, Answered, Limits, merged, phrase
from ratecell._rules import Rules
from ratecell.attributes import AttributesFunction

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class RateLimitMiddleware:
    """Refuses requests that are not allowed, and adds the fields of its limits to every response.

    `limits` is a `Limiter`, a `Limit`, or several of them, which are charged all or none; or it is `Rules`.
    `styles` are the names of the fields' styles. A denial is answered with `status`, a cost above the
    capacity with 413, and a time past the range of the policy with 503.

    Rules limit a request by its `attributes`, a function of it; without one they are those of `ByRequest()`.
    A request for which it returns None is not limited. A path that the file refuses is answered with 400,
    and a request that the rules never allow, as one with "blocked", with 403.

    `denied`, a WSGI application, answers refusals in place of the plain text. It finds the decision, as the
    application does, in `environ["ratecell.decision"]`, and the fields are added to its response, too. Where
    several limits are given it is a `Joint`, of rules a `RulesDecision`, otherwise a `Decision`.

    Where a policy is a leaky_queue, an allowed request is held for the `delay` of its decision before the
    application sees it; its thread sleeps, also if its client goes meanwhile.

    A permit of a layer `in_flight` is released when the server closes the response, as it does however the
    request ends. Rules with such layers are made with `reserving`.

    A fault here is no fault of the application: where a function of the request raises or returns no key, or
    the limiter fails, the request is let through, or with `fail="closed"` answered with 503. It is logged,
    and `counts` has it.
    """

    def __init__(
        self,
        app: WSGIApplication,
        limits: Limits | Rules,
        *,
        attributes: AttributesFunction | None = None,
        styles: Style | Iterable[Style] = "draft11",
        status: int = 429,
        denied: WSGIApplication | None = None,
        fail: Fail = "open",
    ) -> None:
        # A status without a phrase is refused here, not at the first denial.
        phrase(status)
        self._app = app
        self._gate = Gate(limits, attributes=attributes, styles=styles, status=status, fail=fail)
        self._denied = denied

    @property
    def counts(self) -> Counts:
        """How many requests it has let through and refused, in this process."""
        return self._gate.counts

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Serves one request."""
        answered = self._gate.decide(environ)
        if answered is None:
            return self._app(environ, start_response)
        environ[DECISION] = answered.decision
        app = self._app if answered else self._denied
        if app is None:
            status, fields, body = answered.plain_refusal()
            start_response(f"{status} {phrase(status)}", fields)
            return [body]

        def start_with_fields(
            status: str, headers: list[tuple[str, str]], *exc_info: Any
        ) -> Callable[[bytes], object]:
            return start_response(status, merged(headers, answered.fields()), *exc_info)

        def respond() -> Iterable[bytes]:
            if answered.delay:
                time.sleep(answered.delay)
            return app(environ, start_with_fields)

        return _Held(answered, respond) if answered.holds else respond()


class _Held:
    """A response whose request holds permits until it is closed."""

    def __init__(self, answered: Answered, respond: Callable[[], Iterable[bytes]]) -> None:
        self._answered = answered
        try:
            self._body = respond()
        except BaseException:
            answered.release()
            raise

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        """Closes the response of the application, and releases."""
        with self._answered:
            if (close := getattr(self._body, "close", None)) is not None:
                close()
