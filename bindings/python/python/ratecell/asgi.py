"""A limit before an ASGI application: FastAPI, Starlette, Litestar, Quart, Django."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ratecell._http import DECISION, Desk
from ratecell._limiter import Limiter
from ratecell._native import Decision
from ratecell.keys import KeyFunction, client_key

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class RateLimitMiddleware:
    """Answers 429 where the limiter denies, and tells every client its limit.

    `key` says who a request is counted for, None that it is not to be limited; `cost` how many units it
    takes. `name` is what the policy is called in the fields; `legacy` adds the X-RateLimit ones. `denied`, an
    ASGI application, answers in place of the plain text; it finds the decision, as the application does, in
    `scope["ratecell.decision"]`, and the fields are added to its answer too.

    Where the policy is a leaky_queue, an allowed request is held for the `delay` of its decision before the
    application sees it.

    A WebSocket is counted when it opens; one that is denied is refused with 429 where the server can, else
    with 403.
    """

    def __init__(
        self,
        app: App,
        limiter: Limiter,
        key: KeyFunction = client_key,
        *,
        cost: int | Callable[[Scope], int] = 1,
        name: str | None = None,
        legacy: bool = False,
        status: int = 429,
        denied: App | None = None,
    ) -> None:
        self._app = app
        self._desk = Desk(limiter, key, cost, name, legacy, status)
        self._denied = denied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        decision = self._desk.decide(scope) if scope["type"] in ("http", "websocket") else None
        if decision is None:
            await self._app(scope, receive, send)
            return
        scope[DECISION] = decision
        if decision:
            if decision.delay:
                await asyncio.sleep(decision.delay)
            await self._app(scope, receive, self._telling(decision, send))
        elif scope["type"] == "websocket":
            await self._refuse_websocket(scope, decision, receive, send)
        elif self._denied is not None:
            await self._denied(scope, receive, self._telling(decision, send))
        else:
            await self._refuse(decision, send, "http.response")

    def _telling(self, decision: Decision, send: Send) -> Send:
        """`send`, with the fields added to the start of the answer."""

        async def tell(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.accept"):
                fields = _encoded(self._desk.headers(decision))
                message = {**message, "headers": [*message.get("headers", ()), *fields]}
            await send(message)

        return tell

    async def _refuse(self, decision: Decision, send: Send, kind: str) -> None:
        fields, body = self._desk.refusal(decision)
        await send({"type": f"{kind}.start", "status": self._desk.status, "headers": _encoded(fields)})
        await send({"type": f"{kind}.body", "body": body})

    async def _refuse_websocket(self, scope: Scope, decision: Decision, receive: Receive, send: Send) -> None:
        # The client's connect comes first; only then may it be answered.
        await receive()
        if "websocket.http.response" in (scope.get("extensions") or {}):
            await self._refuse(decision, send, "websocket.http.response")
        else:
            await send({"type": "websocket.close", "code": 1008})


def _encoded(fields: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields]
