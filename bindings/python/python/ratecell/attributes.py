"""What rules know of a request: functions of an ASGI scope or a WSGI environ that return attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from ratecell.keys import KeyFunction, Request, client_key

Attributes = Mapping[str, "str | bytes"]
"""Values by the names that a file of rules uses; one that is not there is absent."""

AttributesFunction = Callable[[Any], "Attributes | None"]
"""Returns the attributes of a request, or None for one that is not to be limited."""

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


class ByRequest:
    """Knows the method, the path as it was sent, the host, the client and the header of a request.

    `client` is a function of the request that returns the key of its client; None or an empty key is a client
    that is absent. Where conditions name single addresses of IPv6, it is `Clients(v6_width=128)`.

    A field of several lines is one value, joined by ", ". A WebSocket has the method GET. The header is what
    the client writes. A server that does not hand on the path as it was sent has it encoded again; then the
    spellings `/admin` and `/%61dmin` are one.

    A function of your own adds what else the file uses, such as the tier:

        request = ByRequest()

        def attributes(scope):
            return {**request(scope), "tier": scope["state"]["tier"]}
    """

    def __init__(self, client: KeyFunction = client_key) -> None:
        if not callable(client):
            raise TypeError(f"client is of type {type(client).__name__}: expected a function of the request")
        self._client = client

    def __call__(self, request: Request) -> dict[str, str | bytes]:
        """Returns the attributes of `request`."""
        attributes = _of_environ(request) if "wsgi.version" in request else _of_scope(request)
        if key := self._client(request):
            attributes["client"] = key
        return attributes


def _of_scope(scope: Request) -> dict[str, str | bytes]:
    """The attributes of an ASGI connection scope, but the client."""
    header: dict[str, list[bytes]] = {}
    for name, value in scope.get("headers", ()):
        header.setdefault(name.lower().decode("latin-1"), []).append(value)
    attributes: dict[str, str | bytes] = {f"header:{name}": b", ".join(header[name]) for name in header}
    attributes["method"] = scope.get("method", "GET")
    decoded = scope["path"].encode("utf-8", "surrogateescape")
    attributes["path"] = _path(scope.get("raw_path") or b"") or _encoded(decoded)
    if lines := header.get("host"):
        # As applications do.
        attributes["host"] = lines[0]
    return attributes


def _of_environ(environ: Request) -> dict[str, str | bytes]:
    """The attributes of a WSGI environ, but the client."""
    attributes: dict[str, str | bytes] = {}
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            attributes["header:" + _field(name[5:])] = value.encode("latin-1")
        elif name in ("CONTENT_TYPE", "CONTENT_LENGTH") and value:
            attributes["header:" + _field(name)] = value.encode("latin-1")
    attributes["method"] = environ["REQUEST_METHOD"]
    # Not of the standard: some servers have the first, gunicorn the second.
    target = environ.get("REQUEST_URI") or environ.get("RAW_URI") or ""
    decoded = (environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1")
    attributes["path"] = _path(target.encode("latin-1")) or _encoded(decoded)
    if host := attributes.get("header:host"):
        attributes["host"] = host
    return attributes


def _field(variable: str) -> str:
    """The name of a field, by that in a WSGI environ."""
    return variable.lower().replace("_", "-")


def _encoded(decoded: bytes) -> str:
    """A path that was decoded, encoded again. Where the target was absolute, it may be that as a whole."""
    return quote(_path(decoded) or decoded, safe="/")


def _path(target: bytes) -> bytes | None:
    """The path of a request's target, still encoded; None of a target without one.

    Of an absolute target it is what follows the authority.
    """
    if target.startswith(b"/") or target == b"*":
        return target
    if (authority := _ABSOLUTE.match(target)) is None:
        return None
    rest = target[authority.end() :]
    return rest if rest.startswith(b"/") else b"/" + rest
