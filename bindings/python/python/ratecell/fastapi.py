"""Limits for FastAPI: a dependency, a decorator, and the answer to a denial inside an application.

    from fastapi import Depends, FastAPI
    from ratecell import Limiter
    from ratecell.fastapi import RateLimit

    per_client = RateLimit(Limiter("100/m", path="/dev/shm/api"))
    app = FastAPI(dependencies=[Depends(per_client)])

For all of an application, also what it answers without a route, `ratecell.RateLimitMiddleware` stands before
it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Annotated, Any, NamedTuple, TypeVar, cast

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exception_handlers import http_exception_handler
from fastapi.params import Depends as _Depends
from starlette.requests import HTTPConnection

from ratecell._exceeded import RateLimitExceeded
from ratecell._fields import Style
from ratecell._gate import Counts, Decorator, Fail, Gate
from ratecell._http import DECISION, Answered, Limits, Refusal, merged, refusal_of, with_key
from ratecell._rules import Rules
from ratecell.attributes import AttributesFunction
from ratecell.keys import KeyFunction

__all__ = ["RateLimit", "TooManyRequests", "install", "rate_limit"]

_Endpoint = TypeVar("_Endpoint", bound=Callable[..., Any])


class TooManyRequests(HTTPException):
    """Raised by the dependency for a request that is not allowed: FastAPI answers it as any HTTPException.

    `decision` is the decision, or None where a fault refused the request. The status is 429, or another where
    the same request will not be allowed later.
    """

    def __init__(self, refusal: Refusal, decision: Any) -> None:
        super().__init__(refusal.status, refusal.text, dict(refusal.fields))
        self.decision = decision


class _Keyed(NamedTuple):
    """A connection, with the key that a dependency has found for it."""

    connection: HTTPConnection
    key: Any


class RateLimit:
    """A dependency: it refuses requests that are not allowed, and adds the fields to responses.

        @app.get("/report", dependencies=[Depends(RateLimit(Limiter("5/h"), Depends(current_user)))])

    `limits`, `attributes`, `styles`, `status` and `fail` are those of `ratecell.RateLimitMiddleware`. `key`,
    for a single `Limiter`, is a function of the request, or `Depends(...)` of what returns a key: str or
    bytes, or None for a request that is not limited. Without it that is `client_key`.

    The value of the dependency is the decision, or None. A request that is not allowed raises
    `TooManyRequests`. Where a request has the same object in several places, it is charged once. A permit of
    a layer `in_flight` is released when FastAPI leaves the dependency, which is after the response was sent.
    WebSockets may have it, too.

    FastAPI leaves out what a dependency adds where an endpoint returns a Response of its own or raises; the
    decorator `rate_limit` adds the fields to the first, and the middleware to both.
    """

    __signature__: inspect.Signature

    def __init__(
        self,
        limits: Limits | Rules,
        key: KeyFunction | _Depends | None = None,
        *,
        attributes: AttributesFunction | None = None,
        styles: Style | Iterable[Style] = "draft11",
        status: int = 429,
        fail: Fail = "open",
    ) -> None:
        depends = key if isinstance(key, _Depends) else None
        limits = with_key(limits, _key_of if depends else cast("KeyFunction | None", key))
        self._gate = Gate(limits, attributes=attributes, styles=styles, status=status, fail=fail)
        self._answers = _Answers(self._gate, depends)
        self.__signature__ = _parameters(answered=Annotated[Any, Depends(self._answers)])

    @property
    def counts(self) -> Counts:
        """How many requests it has let through and refused, in this process."""
        return self._gate.counts

    async def __call__(self, *, answered: Answered | None) -> Any:
        """The decision of one request, as a dependency."""
        return None if answered is None else answered.decision


class _Answers:
    """The dependency beneath: its value is the answer."""

    def __init__(self, gate: Gate, key: _Depends | None) -> None:
        self._gate = gate
        self._has_key = key is not None
        keys = {} if key is None else {"key": Annotated[Any, key]}
        self.__signature__ = _parameters(connection=HTTPConnection, response=Response, **keys)

    async def __call__(
        self, *, connection: HTTPConnection, response: Response, key: Any = None
    ) -> AsyncGenerator[Answered | None, None]:
        request = _Keyed(connection, key) if self._has_key else connection
        answered = await self._gate.decide_async(request)
        if answered is None:
            yield None
            return
        connection.scope[DECISION] = answered.decision
        if not answered:
            raise TooManyRequests(answered.refusal(), answered.decision)
        with answered:
            _add_fields(response, answered)
            if answered.delay:
                await asyncio.sleep(answered.delay)
            yield answered


def _parameters(**annotations: Any) -> inspect.Signature:
    """What FastAPI goes by: annotations that are no strings, for of an object it cannot resolve those."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, kind, annotation=annotation) for name, annotation in annotations.items()]
    )


def _key_of(request: _Keyed) -> Any:
    return request.key


def _add_fields(response: Response, answered: Answered) -> None:
    own = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answered.fields()]
    response.raw_headers[:] = merged(response.raw_headers, own)


def rate_limit(
    limits: Limits | Rules,
    key: KeyFunction | _Depends | None = None,
    *,
    attributes: AttributesFunction | None = None,
    styles: Style | Iterable[Style] = "draft11",
    status: int = 429,
    fail: Fail = "open",
) -> Decorator:
    """Decorates an endpoint with a limit, which FastAPI applies: the arguments are those of `RateLimit`.

        @app.get("/report")
        @rate_limit(Limiter("5/h"))
        def report(): ...

    The fields are also in a Response that the endpoint returns. Who calls the endpoint as a function is not
    limited.
    """
    limit = RateLimit(limits, key, attributes=attributes, styles=styles, status=status, fail=fail)

    def decorate(endpoint: _Endpoint) -> _Endpoint:
        if inspect.isasyncgenfunction(endpoint) or inspect.isgeneratorfunction(endpoint):
            raise TypeError(
                f"{endpoint!r} is a generator: expected dependencies=[Depends(RateLimit(...))] at its route"
            )
        signature = _signature(endpoint)
        # Several decorators have a parameter each.
        name = f"ratecell_{sum(each.startswith('ratecell_') for each in signature.parameters)}"

        @functools.wraps(endpoint)
        async def limited_coroutine(*args: Any, **kwargs: Any) -> Any:
            answered = kwargs.pop(name, None)
            return _with_fields(await endpoint(*args, **kwargs), answered)

        @functools.wraps(endpoint)
        def limited_function(*args: Any, **kwargs: Any) -> Any:
            answered = kwargs.pop(name, None)
            return _with_fields(endpoint(*args, **kwargs), answered)

        limited: Any = limited_coroutine if inspect.iscoroutinefunction(endpoint) else limited_function
        own = inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[Any, Depends(limit._answers)]
        )
        limited.__signature__ = signature.replace(parameters=[*signature.parameters.values(), own])
        return cast("_Endpoint", limited)

    return Decorator(limit._gate, decorate)


def _signature(endpoint: Callable[..., Any]) -> inspect.Signature:
    """The signature of an endpoint, with the annotations that its own module means."""
    try:
        return inspect.signature(endpoint, eval_str=True)
    except NameError:
        # A name of later in the module: FastAPI resolves it itself.
        return inspect.signature(endpoint)


def _with_fields(returned: Any, answered: Answered | None) -> Any:
    if answered is not None and isinstance(returned, Response):
        _add_fields(returned, answered)
    return returned


def install(app: FastAPI) -> None:
    """Lets `app` answer RateLimitExceeded as it answers TooManyRequests.

    `Limiter.limit` and a refused reservation raise it. Without this they are errors like any other: a 500.
    """

    async def answer(request: Request, exceeded: Exception) -> Any:
        assert isinstance(exceeded, RateLimitExceeded), "the handler of no other exception"
        error = TooManyRequests(refusal_of(exceeded), exceeded.decision)
        # As Starlette looks for a handler: by status, and then by class.
        sought: list[int | type[Exception]] = [error.status_code, *type(error).__mro__]
        handler: Any = next(
            (app.exception_handlers[each] for each in sought if each in app.exception_handlers), None
        )
        answered = (handler or http_exception_handler)(request, error)
        return await answered if inspect.isawaitable(answered) else answered

    app.add_exception_handler(RateLimitExceeded, answer)
