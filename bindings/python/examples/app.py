"""An ASGI application under a limit that all workers share: one file, 20 requests an hour for each key.

To run it:

    pip install ratecell uvicorn
    uvicorn app:app --workers 4
    curl -i localhost:8000 -H 'x-api-key: ann'
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from ratecell import Clients, Header, Label, Limit, Limiter, RateLimitMiddleware, client_key

LIMITS = os.environ.get("LIMITS", "/dev/shm/ratecell-example")
POLICY = os.environ.get("POLICY", "20/1h")
# How many proxies of one's own stand before the application and append to X-Forwarded-For.
PROXIES = int(os.environ.get("PROXIES", "0"))


async def hello(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
    """Says which worker answers, and what remains."""
    if scope["type"] != "http":
        return
    decision = scope["ratecell.decision"]
    body = f"worker {os.getpid()}: {decision.remaining} left\n".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": body})


clients = Clients(field="X-Forwarded-For", hops=PROXIES) if PROXIES else client_key
key = Header("x-api-key", otherwise=clients)
app = RateLimitMiddleware(hello, Limit(Limiter(POLICY, path=LIMITS), key, label=Label("hello")))
