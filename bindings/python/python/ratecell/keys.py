"""Who a request is counted for: functions of an ASGI scope or a WSGI environ that return a key."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

Request = Mapping[str, Any]
"""An ASGI connection scope, or a WSGI environ."""

KeyFunction = Callable[[Any], "str | bytes | None"]
"""Returns the key of a request, or None for one that is not to be limited."""


class ClientIP:
    """The address that a request comes from, IPv6 by its network.

    Whoever has an IPv6 address has a whole network of them, so the first `ipv6_prefix` bits are the key.

    `trusted_hops` is how many proxies of one's own stand before the application. Each adds the address it
    was called from at the end of the field `header`, so the client's is that many from the right; what stands
    before it anyone can have written, and it is never looked at. With 0, or where the field does not hold so
    many addresses, the key is the connection's own address; of a Unix socket, which has none, "unix".
    """

    def __init__(
        self, trusted_hops: int = 0, *, header: str = "x-forwarded-for", ipv6_prefix: int = 64
    ) -> None:
        if trusted_hops < 0:
            raise ValueError(f"trusted_hops is {trusted_hops}: expected at least 0")
        if not 1 <= ipv6_prefix <= 128:
            raise ValueError(f"ipv6_prefix is {ipv6_prefix}: expected 1 to 128")
        self._hops = trusted_hops
        self._header = header
        self._prefix = ipv6_prefix

    def __call__(self, request: Request) -> str:
        """Returns the key of `request`."""
        if self._hops:
            addresses = _field(request, self._header).split(",")
            if len(addresses) >= self._hops:
                key = _network(addresses[-self._hops], self._prefix)
                if key is not None:
                    return key
        peer = _peer(request)
        return _network(peer, self._prefix) or peer or "unix"


client_ip = ClientIP()
"""The address of the connection itself: for an application that no proxy stands before."""


class Header:
    """The value of a header field, such as an API key; where it is absent, the key of `otherwise`.

    Anyone can send any value, so limit by a field that has been checked, or by address as well.

    The key is "name=value", so that no value can pass for an address. Who shares a file with servers that
    key by the bare value, as the Go module and an nginx zone of $http_x_api_key do, gives a function of
    their own.
    """

    def __init__(self, name: str, otherwise: KeyFunction = client_ip) -> None:
        self._name = name
        self._otherwise = otherwise

    def __call__(self, request: Request) -> str | bytes | None:
        """Returns the key of `request`."""
        value = _field(request, self._name)
        # Named, so that no value can pass for an address.
        return f"{self._name}={value}" if value else self._otherwise(request)


def _peer(request: Request) -> str:
    """The address of the connection; empty where it has none."""
    if "wsgi.version" in request:
        return str(request.get("REMOTE_ADDR", ""))
    client = request.get("client")
    return str(client[0]) if client else ""


def _field(request: Request, name: str) -> str:
    """The value of a header field, of several lines as one list; empty where it is absent."""
    if "wsgi.version" in request:
        return str(request.get("HTTP_" + name.upper().replace("-", "_"), ""))
    sought = name.lower().encode("latin-1")
    return ",".join(value.decode("latin-1") for field, value in request["headers"] if field.lower() == sought)


@lru_cache(maxsize=4096)
def _network(text: str, ipv6_prefix: int) -> str | None:
    """The key of an address, which may have a port; None of what is no address."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.IPv6Network((address, ipv6_prefix), strict=False))
    return str(address)
