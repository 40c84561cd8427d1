"""What rules know of a request: functions of a request that return attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from ratecell.keys import Clients, KeyFunction, Request, function_of_request, mapping

Attributes = Mapping[str, "str | bytes | None"]
"""Values by the names that a file of rules uses; one that is not there, or is None, is absent."""

AttributesFunction = Callable[[Any], "Attributes | None"]
"""Returns the attributes of a request, or None for one that is not to be limited."""

_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")
_END = re.compile(rb"[?#]")
_ADDRESS = Clients(v6_width=128)


class ByRequest:
    """Knows the method, the path, the host, the client and the header of a request.

    The method is in capital letters. A WebSocket has the method GET.

    The path is the one that was sent, still encoded. Where the server does not hand that on, or under WSGI
    serves another one, the path that it serves is encoded again; then the spellings `/admin` and `/%61dmin`
    are one. Under ASGI a `#` is part of the path, as it is for these servers: it becomes `%23`.

    `client` is a function of the request that returns the key of its client; None or an empty key is a client
    that is absent. Without it that is the whole address of the peer, for a rule's key has widths of its own:
    `client` is the /64 of an IPv6 address, `client/32/128` all of it. Behind proxies, give
    `Clients(field=..., hops=..., v6_width=128)`: with other widths rules see no single addresses.

    The header is what the client writes. Under ASGI a field of several lines is one value, joined by ", ".
    Under WSGI the server joins them, gunicorn by ","; and there names that differ only in `-` and `_`, as
    `X-Api-Key` and `X_Api_Key`, are one variable, in which rules see what either says.

    A function of your own adds what else the file uses, such as the tier:

        request = ByRequest()

        def attributes(scope):
            return {**request(scope), "tier": scope["state"].get("tier")}
    """

    def __init__(self, client: KeyFunction = _ADDRESS) -> None:
        self._client = function_of_request(client, "client")

    def __call__(self, request: Request) -> dict[str, str | bytes]:
        """Returns the attributes of `request`."""
        inner = mapping(request)
        attributes = _of_environ(inner) if "wsgi.version" in inner else _of_scope(inner)
        if key := self._client(request):
            attributes["client"] = key
        return attributes


def _of_scope(scope: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The attributes of an ASGI connection scope, but the client."""
    header: dict[str, list[bytes]] = {}
    for name, value in scope.get("headers", ()):
        header.setdefault(name.lower().decode("latin-1"), []).append(value)
    attributes: dict[str, str | bytes] = {f"header:{name}": b", ".join(header[name]) for name in header}
    attributes["method"] = scope.get("method", "GET").upper()
    if sent := _path(scope.get("raw_path") or b""):
        path, mark, query = sent.partition(b"?")
        # These servers end a path at the question mark alone; rules end it at a hash, too.
        attributes["path"] = path.replace(b"#", b"%23") + mark + query
    else:
        attributes["path"] = _encoded(_served(scope["path"].encode("utf-8", "surrogateescape")))
    if lines := header.get("host"):
        # As applications do.
        attributes["host"] = lines[0]
    return attributes


def _of_environ(environ: Mapping[str, Any]) -> dict[str, str | bytes]:
    """The attributes of a WSGI environ, but the client."""
    attributes: dict[str, str | bytes] = {}
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            attributes["header:" + _field(name[5:])] = value.encode("latin-1")
        elif name in ("CONTENT_TYPE", "CONTENT_LENGTH") and value:
            attributes["header:" + _field(name)] = value.encode("latin-1")
    attributes["method"] = environ["REQUEST_METHOD"].upper()
    # Not of the standard: some servers have the first, gunicorn the second.
    target = environ.get("REQUEST_URI") or environ.get("RAW_URI") or ""
    sent = _path(target.encode("latin-1"))
    served = _served((environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")).encode("latin-1"))
    # A server may read the target in its own way, as without tabs, and a middleware may rewrite the path.
    if sent is not None and unquote_to_bytes(_END.split(sent, 1)[0]) == served:
        attributes["path"] = sent
    else:
        attributes["path"] = _encoded(served)
    if host := attributes.get("header:host"):
        attributes["host"] = host
    return attributes


def _field(variable: str) -> str:
    """The name of a field, by that in a WSGI environ."""
    return variable.lower().replace("_", "-")


def _served(decoded: bytes) -> bytes:
    """The path that a server serves. Where the target was absolute, it may have handed on that as a whole."""
    return _path(decoded) or decoded or b"/"


def _encoded(decoded: bytes) -> str:
    """A path that was decoded, encoded again."""
    return quote(decoded, safe="/")


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
