"""What the ASGI and the WSGI middleware have in common: the decision, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ratecell._limiter import Limiter
from ratecell._native import Decision
from ratecell.keys import KeyFunction

DECISION = "ratecell.decision"
"""Where the application finds the decision, in its scope or environ."""


class Desk:
    """Decides requests, and words the fields and the refusal."""

    def __init__(
        self,
        limiter: Limiter,
        key: KeyFunction,
        cost: int | Callable[[Any], int],
        name: str | None,
        legacy: bool,
        status: int,
    ) -> None:
        if not callable(key):
            raise TypeError(f"key is of type {type(key).__name__}: expected a function of the request")
        self.limiter = limiter
        self.key = key
        self.cost = cost
        self.name = name
        self.legacy = legacy
        self.status = status
        # A name that no field can carry is refused here, not at the first request.
        limiter.headers(limiter.peek(""), name)

    def decide(self, request: Any) -> Decision | None:
        """The decision of a request; None of one that is not limited."""
        key = self.key(request)
        if key is None:
            return None
        cost = self.cost(request) if callable(self.cost) else self.cost
        return self.limiter.check(key, cost)

    def headers(self, decision: Decision) -> list[tuple[str, str]]:
        """The fields that tell a client the decision."""
        return self.limiter.headers(decision, self.name, legacy=self.legacy)

    def refusal(self, decision: Decision) -> tuple[list[tuple[str, str]], bytes]:
        """The fields and the body of the answer to a denied request."""
        fields = self.headers(decision)
        after = next((value for name, value in fields if name == "Retry-After"), None)
        text = "Too many requests" + (f": retry after {after} s" if after else "") + "\n"
        body = text.encode()
        fields += [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        return fields, body
