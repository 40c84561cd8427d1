"""Who a request is counted for: functions of a request that return a key."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ratecell import _native

Request = Any
"""An ASGI connection scope, a WSGI environ, or a request that has one of them: of Starlette and FastAPI,
Flask, Django or Django REST framework."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def mapping(request: Request) -> Mapping[str, Any]:
    """The scope or the environ of a request."""
    # A request of Starlette is a mapping itself. One of Flask is a proxy, whose type is not.
    if isinstance(request, Mapping):
        return request
    for name in ("environ", "scope"):
        if isinstance(inner := getattr(request, name, None), Mapping):
            return inner
    raise TypeError(
        f"a request of type {type(request).__name__}: expected an ASGI scope, a WSGI environ, or an object "
        "with one of them as `scope` or `environ`"
    )


def function_of_request(function: _Function, name: str) -> _Function:
    """`function`, if it takes a request and returns at once; otherwise a TypeError that says `name`."""
    if not callable(function):
        raise TypeError(f"{name} is of type {type(function).__name__}: expected a function of the request")
    called = getattr(function, "__call__", None)  # noqa: B004 - not whether, but which
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        raise TypeError(f"{name} is a coroutine function: expected a function that returns its value at once")
    try:
        signature = inspect.signature(function)
    except ValueError:
        # A builtin may have none to look at.
        return function
    try:
        signature.bind(None)
    except TypeError:
        raise TypeError(
            f"{name} takes {signature}: expected a function of one argument, the request"
        ) from None
    return function


KeyFunction = Callable[[Any], "str | bytes | None"]
"""Returns the key of a request, or None for one that is not to be limited."""


class Clients(_native.Clients):
    """Knows the client of a request by its address: the key is the same text in every program.

    Without arguments the peer of the connection is the client. Behind proxies of one's own it would be the
    proxy, so `field` is the name of the field in which they name the client, and `kind` how: "list" as
    X-Forwarded-For does, "forwarded" as Forwarded (RFC 7239), "single" for one address that the proxy
    overwrites, as X-Real-IP. Then either `hops`, how many proxies every request passes, 1 to 16, or
    `networks`, in which the proxies are, 1 to 256: addresses, networks such as "10.0.0.0/8", and "unix" for
    all Unix sockets.

    `v4_width` and `v6_width` are how many bits of an address are the client: 8 to 32, by default 32, and 32
    to 128, by default 64, since a client has a whole /64 and may take any address in it.

    What is wrong is a ValueError that begins with bad_width, bad_field, bad_trust, bad_hops or bad_network.
    """

    def __call__(self, request: Request) -> str:
        """Returns the key of `request`."""
        request = mapping(request)
        if "wsgi.version" in request:
            lines: Any = ()
            if self.field is not None and (value := request.get(_variable(self.field))) is not None:
                lines = ((self.field, value),)
            return self.key(request.get("REMOTE_ADDR", ""), lines)
        client = request.get("client")
        return self.key(client[0] if client else "", request.get("headers", ()))


client_key = Clients()
"""The key of the peer of the connection: for an application that no proxy stands before."""


class Header:
    """The value of a header field, such as an API key; where it is absent, the key of `otherwise`.

    Anyone can send any value, so limit by a field that has been checked, or by address as well.

    The key is "name=value", so that no value can pass for an address. Who shares a file with servers that
    key by the bare value, as the Go module and an nginx zone of $http_x_api_key do, gives a function of
    their own.
    """

    def __init__(self, name: str, otherwise: KeyFunction = client_key) -> None:
        self._name = name
        self._otherwise = function_of_request(otherwise, "otherwise")

    def __call__(self, request: Request) -> str | bytes | None:
        """Returns the key of `request`."""
        value = _field(request, self._name)
        # Named, so that no value can pass for an address.
        return f"{self._name}={value}" if value else self._otherwise(request)


def _variable(name: str) -> str:
    """The name of a field in a WSGI environ."""
    return "HTTP_" + name.upper().replace("-", "_")


def _field(request: Request, name: str) -> str:
    """The value of a header field, of several lines as one list; empty where it is absent."""
    request = mapping(request)
    if "wsgi.version" in request:
        return str(request.get(_variable(name), ""))
    sought = name.lower().encode("latin-1")
    return ",".join(value.decode("latin-1") for field, value in request["headers"] if field.lower() == sought)
