"""The gate before an application: it decides requests, counts them, and outlives its own faults."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, Literal, TypeAlias, TypeVar, cast

from ratecell._fields import Style
from ratecell._http import Answered, Limits, Unanswered
from ratecell._http_rules import decider
from ratecell._outcome import Outcome
from ratecell._rules import Rules
from ratecell.attributes import AttributesFunction

Fail: TypeAlias = Literal["open", "closed"]
"""What becomes of a request that cannot be decided because of a fault, such as a key function that raises."""

LOG_EVERY_S = 10
"""A fault may come with every request: of so many seconds one is logged, with the number of the others."""

_Function = TypeVar("_Function", bound=Callable[..., Any])
_log = logging.getLogger("ratecell")


@dataclass(frozen=True, slots=True)
class Counts:
    """How many requests this process has let through and refused, since the middleware was made."""

    allowed: int = 0
    """Allowed by the limits."""
    denied: int = 0
    """Denied: the same request would be allowed later."""
    refused: int = 0
    """Refused, and would not be allowed later either."""
    unlimited: int = 0
    """Not limited: without a key."""
    failed_open: int = 0
    """Let through because of a fault."""
    failed_closed: int = 0
    """Refused because of a fault."""


class Gate:
    """Decides the requests before an application. Threads and tasks may share it."""

    def __init__(
        self,
        limits: Limits | Rules,
        *,
        attributes: AttributesFunction | None = None,
        styles: Style | Iterable[Style] = "draft11",
        status: int = 429,
        fail: Fail = "open",
    ) -> None:
        if fail not in ("open", "closed"):
            raise ValueError(f'fail is {fail!r}: expected "open" or "closed"')
        self.decider = decider(limits, attributes, styles, status)
        self._fail = fail
        self._lock = threading.Lock()
        self._counts = dict.fromkeys((field.name for field in dataclass_fields(Counts)), 0)
        self._logged_at = -float(LOG_EVERY_S)
        self._unlogged = 0

    @property
    def counts(self) -> Counts:
        """What became of the requests so far."""
        with self._lock:
            return Counts(**self._counts)

    def decide(self, request: Any) -> Answered | None:
        """The answer to a request, which is true if it may go; None if it is not limited."""
        try:
            answered = self.decider.decide(request)
        except Exception as fault:
            return self._failed(fault)
        return self._counted(answered)

    async def decide_async(self, request: Any) -> Answered | None:
        """Does as `decide` does; while it waits for a store, other tasks run."""
        try:
            claimed = self.decider.claimed(request)
            answered = None if claimed is None else self.decider.answer(claimed, wait=False)
            if answered is not None and _is_asked(answered):
                waiting = asyncio.ensure_future(asyncio.to_thread(self.decider.answer, claimed))
                try:
                    answered = await asyncio.shield(waiting)
                except asyncio.CancelledError:
                    # The thread goes on, and nobody is there for the permits that it gets.
                    waiting.add_done_callback(_release)
                    raise
        except Exception as fault:
            return self._failed(fault)
        return self._counted(answered)

    def _counted(self, answered: Answered | None) -> Answered | None:
        if answered is None:
            self._count("unlimited")
        elif answered:
            self._count("allowed")
        else:
            self._count("denied" if answered.no_denial() is None else "refused")
        return answered

    def _failed(self, fault: Exception) -> Answered | None:
        with self._lock:
            now = time.monotonic()
            others, self._unlogged = self._unlogged, self._unlogged + 1
            if is_logged := now - self._logged_at >= LOG_EVERY_S:
                self._logged_at, self._unlogged = now, 0
        if is_logged:
            done = "let through" if self._fail == "open" else "refused"
            more = f", and {others} before it" if others else ""
            _log.error("a request that could not be decided was %s%s", done, more, exc_info=fault)
        self._count("failed_open" if self._fail == "open" else "failed_closed")
        return None if self._fail == "open" else Unanswered(self.decider)

    def _count(self, name: str) -> None:
        with self._lock:
            self._counts[name] += 1


class Decorator:
    """What `rate_limit` returns: it decorates a function, or several, with one limit."""

    def __init__(self, gate: Gate, decorate: Callable[[Any], Any]) -> None:
        self._gate = gate
        self._decorate = decorate

    @property
    def counts(self) -> Counts:
        """How many calls of its functions it has let through and refused, in this process."""
        return self._gate.counts

    def __call__(self, function: _Function) -> _Function:
        """The function under the limit."""
        return cast("_Function", self._decorate(function))


def _is_asked(answered: Answered) -> bool:
    return answered.decision is not None and answered.decision.outcome is Outcome.ASKED


def _release(waited: asyncio.Future[Answered]) -> None:
    if not waited.cancelled() and waited.exception() is None:
        waited.result().release()
