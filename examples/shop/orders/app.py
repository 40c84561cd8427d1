"""The shop's service in Python: what was bought, under the shop's limits.

    LIMITS=limits.toml CELLS=/dev/shm/shop uvicorn app:app --workers 2
"""

from __future__ import annotations

import os

from fastapi import FastAPI

from ratecell import ByRequest, Clients, RateLimitMiddleware, Rules

# The processes of the shop read one file of rules, and count in one other.
rules = Rules(path=os.environ["LIMITS"], file=os.environ["CELLS"], reserving=True)
# nginx, the one proxy before the service, has appended the visitor's address.
request = ByRequest(Clients(field="X-Forwarded-For", hops=1, v6_width=128))

app = FastAPI()
app.add_middleware(RateLimitMiddleware, rules, attributes=request)


@app.get("/orders/health")
def health() -> None:
    """Says that the service is there."""


@app.get("/orders")
def orders() -> list[str]:
    """What was ordered."""
    return ["bread"]


@app.post("/orders", status_code=201)
def order() -> str:
    """Orders it."""
    return "ordered"
