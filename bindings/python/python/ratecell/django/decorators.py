"""A limit before one view."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest

from ratecell._fields import Style
from ratecell._gate import Decorator, Fail, Gate
from ratecell._http import Limits, with_key
from ratecell._rules import Rules
from ratecell.attributes import AttributesFunction
from ratecell.django.responses import serve, serve_async
from ratecell.keys import KeyFunction

_View = TypeVar("_View", bound=Callable[..., Any])


def rate_limit(
    limits: Limits | Rules,
    key: KeyFunction | None = None,
    *,
    attributes: AttributesFunction | None = None,
    styles: Style | Iterable[Style] = "draft11",
    status: int = 429,
    fail: Fail = "open",
) -> Decorator:
    """Decorates a view, also an asynchronous one, with a limit; methods by Django's `method_decorator`.

        @rate_limit(Limiter("5/h", path="/dev/shm/reports"), lambda request: request.user.get_username() or
        None) def report(request): ...

    The arguments are those of `ratecell.RateLimitMiddleware`, and `key` is that of a single `Limiter`, a
    function of the HttpRequest. What is not allowed is answered by `HttpResponseTooManyRequests`.
    """
    gate = Gate(with_key(limits, key), attributes=attributes, styles=styles, status=status, fail=fail)

    def decorate(view: _View) -> _View:
        @functools.wraps(view)
        async def limited_coroutine(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            return await serve_async(gate, request, functools.partial(view, request, *args, **kwargs))

        @functools.wraps(view)
        def limited(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            return serve(gate, request, functools.partial(view, request, *args, **kwargs))

        return cast("_View", limited_coroutine if iscoroutinefunction(view) else limited)

    return Decorator(gate, decorate)
