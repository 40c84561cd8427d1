"""Limits for Flask: an extension for all of an application, and a decorator for a view.

    from flask import Flask
    from ratecell import Limiter
    from ratecell.flask import RateLimit, rate_limit

    app = Flask(__name__)
    RateLimit(app, Limiter("100/m", path="/dev/shm/my-app"))

    @app.get("/report")
    @rate_limit(Limiter("5/h"))
    def report(): ...

Or `RateLimit().init_app(app)`, with the limit in the configuration: `RATECELL_POLICY = "100/m"`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from flask import Flask, Response, after_this_request, current_app, g, request
from werkzeug.datastructures import Headers
from werkzeug.exceptions import HTTPException, default_exceptions

from ratecell._exceeded import RateLimitExceeded
from ratecell._fields import Style
from ratecell._gate import Counts, Decorator, Fail, Gate
from ratecell._http import DECISION, Answered, Limits, Refusal, merged, refusal_of, with_key
from ratecell._rules import Rules
from ratecell._settings import gate_of
from ratecell.attributes import AttributesFunction
from ratecell.keys import KeyFunction

__all__ = ["RateLimit", "rate_limit"]

_View = TypeVar("_View", bound=Callable[..., Any])
_EXTENSION = "ratecell"
_PREFIX = "RATECELL_"


class RateLimit:
    """The extension: it refuses requests that are not allowed, and adds the fields to responses.

    `limits`, `attributes`, `styles`, `status` and `fail` are those of `ratecell.wsgi.RateLimitMiddleware`,
    and a key is a function of `flask.request`. A limit that is not given is in the configuration of the
    application: RATECELL_POLICY, _PATH, _MAX_KEYS, _WHEN_FULL, _KEY, _COST and _NAME, or RATECELL_RULES,
    _ATTRIBUTES, _FORKED and _RESERVING; and with either _STYLES, _STATUS and _FAIL. Functions may be given by
    name.

    A request that is not allowed is answered as `flask.abort` does, so that `@app.errorhandler(429)` shapes
    it. So is RateLimitExceeded, which a limit inside the application raises. The decision is in
    `request.environ["ratecell.decision"]`. A permit of a layer `in_flight` is released when the response is
    closed.
    """

    def __init__(
        self,
        app: Flask | None = None,
        limits: Limits | Rules | None = None,
        *,
        attributes: AttributesFunction | None = None,
        styles: Style | Iterable[Style] = "draft11",
        status: int = 429,
        fail: Fail = "open",
    ) -> None:
        self._gate = None
        if limits is None:
            if (attributes, styles, status, fail) != (None, "draft11", 429, "open"):
                raise TypeError("options are given without limits: expected both here, or both in app.config")
        else:
            self._gate = _gate(
                Gate(limits, attributes=attributes, styles=styles, status=status, fail=fail), status
            )
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Puts the limit before `app`. Raises what is wrong with its configuration."""
        gate = self._gate
        if gate is None:
            found = {
                name.removeprefix(_PREFIX).lower(): value
                for name, value in app.config.items()
                if name.startswith(_PREFIX)
            }
            gate = _gate(gate_of(found), found.get("status", 429))
        app.extensions[_EXTENSION] = gate
        app.before_request(functools.partial(_admit, gate))
        app.teardown_request(_abandon)
        app.register_error_handler(RateLimitExceeded, _answer_exceeded)

    @staticmethod
    def counts_of(app: Flask) -> Counts:
        """How many requests the extension of `app` has let through and refused, in this process."""
        gate = app.extensions[_EXTENSION]
        assert isinstance(gate, Gate)
        return gate.counts


def rate_limit(
    limits: Limits | Rules,
    key: KeyFunction | None = None,
    *,
    attributes: AttributesFunction | None = None,
    styles: Style | Iterable[Style] = "draft11",
    status: int = 429,
    fail: Fail = "open",
) -> Decorator:
    """Decorates a view with a limit, also without the extension; the arguments are those of `RateLimit`.

    `key`, for a single `Limiter`, is a function of `flask.request`, which `lambda _: g.user.name` need not
    look at.
    """
    limits = with_key(limits, key)
    gate = _gate(Gate(limits, attributes=attributes, styles=styles, status=status, fail=fail), status)

    def decorate(view: _View) -> _View:
        @functools.wraps(view)
        def limited(*args: Any, **kwargs: Any) -> Any:
            answered = _admit_answered(gate)
            try:
                return current_app.ensure_sync(view)(*args, **kwargs)
            except BaseException:
                if answered is not None:
                    answered.release()
                raise

        return cast("_View", limited)

    return Decorator(gate, decorate)


def _gate(gate: Gate, status: int) -> Gate:
    if status not in default_exceptions:
        raise ValueError(f"a status of {status}: expected one that flask.abort knows")
    return gate


def _admit(gate: Gate) -> None:
    """Refuses the request, or lets it go on."""
    answered = _admit_answered(gate)
    if answered is not None and answered.holds:
        g.setdefault("_ratecell_held", []).append(answered)


def _admit_answered(gate: Gate) -> Answered | None:
    answered = gate.decide(request)
    if answered is None:
        return None
    request.environ[DECISION] = answered.decision
    # The response to a refusal gets the fields in the same way, whoever makes it.
    after_this_request(functools.partial(_finish, answered))
    if not answered:
        raise _error(answered.refusal())
    if answered.delay:
        time.sleep(answered.delay)
    return answered


def _finish(answered: Answered, response: Any) -> Any:
    response.headers = Headers(merged(response.headers, answered.fields()))
    if answered.holds:
        response.call_on_close(answered.release)
    return response


def _abandon(raised: BaseException | None) -> None:
    """Where a request ends without a response that is closed, its permits come back here."""
    if raised is not None:
        for answered in g.pop("_ratecell_held", ()):
            answered.release()


def _error(refusal: Refusal) -> HTTPException:
    return default_exceptions[refusal.status](refusal.text)


def _answer_exceeded(exceeded: RateLimitExceeded) -> Any:
    refusal = refusal_of(exceeded)

    def with_fields(response: Response) -> Response:
        response.headers = Headers(merged(response.headers, refusal.fields))
        return response

    after_this_request(with_fields)
    return current_app.handle_http_exception(_error(refusal))
