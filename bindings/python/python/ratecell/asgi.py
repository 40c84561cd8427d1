"""A limit before an ASGI application: FastAPI, Starlette, Litestar, Quart, Django."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from ratecell._fields import Style
from ratecell._gate import Counts, Fail, Gate
from ratecell._http import DECISION, Answered, Limits, merged
from ratecell._rules import Rules
from ratecell.attributes import AttributesFunction

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RateLimitMiddleware:
    """Refuses requests that are not allowed, and adds the fields of its limits to every response.

    `limits` is a `Limiter`, a `Limit`, or several of them, which are charged all or none; or it is `Rules`.
    `styles` are the names of the fields' styles. A denial is answered with `status`, a cost above the
    capacity with 413, and a time past the range of the policy with 503.

    Rules limit a request by its `attributes`, a function of it; without one they are those of `ByRequest()`.
    A request for which it returns None is not limited. A path that the file refuses is answered with 400,
    and a request that the rules never allow, as one with "blocked", with 403.

    `denied`, an ASGI application, answers refusals in place of the plain text. It finds the decision, as the
    application does, in `scope["ratecell.decision"]`, and the fields are added to its response, too. Where
    several limits are given it is a `Joint`, of rules a `RulesDecision`, otherwise a `Decision`.

    Where a policy is a leaky_queue, an allowed request is held for the `delay` of its decision before the
    application sees it, also if its client goes meanwhile.

    A permit of a layer `in_flight` is released when the application is done with the request, however it
    ends. Rules with such layers are made with `reserving`.

    A fault here is no fault of the application: where a function of the request raises or returns no key, or
    the limiter fails, the request is let through, or with `fail="closed"` answered with 503. It is logged,
    and `counts` has it.

    A WebSocket is charged when it opens, and has its permit until it closes; one that is refused gets the
    status where the server can send it, otherwise 403.
    """

    def __init__(
        self,
        app: App,
        limits: Limits | Rules,
        *,
        attributes: AttributesFunction | None = None,
        styles: Style | Iterable[Style] = "draft11",
        status: int = 429,
        denied: App | None = None,
        fail: Fail = "open",
    ) -> None:
        self._app = app
        self._gate = Gate(limits, attributes=attributes, styles=styles, status=status, fail=fail)
        self._denied = denied

    @property
    def counts(self) -> Counts:
        """How many connections it has let through and refused, in this process."""
        return self._gate.counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        is_limited = scope["type"] in ("http", "websocket")
        answered = await self._gate.decide_async(scope) if is_limited else None
        if answered is None:
            await self._app(scope, receive, send)
            return
        scope[DECISION] = answered.decision
        if answered:
            with answered:
                if answered.delay:
                    await asyncio.sleep(answered.delay)
                await self._app(scope, receive, _with_fields(answered, send))
        elif scope["type"] == "websocket":
            await _refuse_websocket(scope, answered, receive, send)
        elif self._denied is not None:
            await self._denied(scope, receive, _with_fields(answered, send))
        else:
            await _refuse(answered, send, "http.response")


# The messages that carry the fields of a response.
_STARTS = ("http.response.start", "websocket.accept", "websocket.http.response.start")


def _with_fields(answered: Answered, send: Send) -> Send:
    """`send`, with the fields added to the start of the response."""

    async def send_with_fields(message: Message) -> None:
        if message["type"] in _STARTS:
            headers = merged(message.get("headers", ()), _encoded(answered.fields()))
            message = {**message, "headers": headers}
        await send(message)

    return send_with_fields


async def _refuse(answered: Answered, send: Send, kind: str) -> None:
    status, fields, body = answered.plain_refusal()
    await send({"type": f"{kind}.start", "status": status, "headers": _encoded(fields)})
    await send({"type": f"{kind}.body", "body": body})


async def _refuse_websocket(scope: Scope, answered: Answered, receive: Receive, send: Send) -> None:
    # The client's connect comes first; only then may it be answered.
    await receive()
    if "websocket.http.response" in (scope.get("extensions") or {}):
        await _refuse(answered, send, "websocket.http.response")
    else:
        await send({"type": "websocket.close", "code": 1008})


def _encoded(fields: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]
