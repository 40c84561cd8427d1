"""What the ASGI and the WSGI middleware have in common: the limits, their decision, fields and refusal."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from http import HTTPStatus
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ratecell._fields import Answer, Style, fields
from ratecell._joint import Claim, Joint, decide_all
from ratecell._limiter import Limiter
from ratecell._native import Decision, Label, RulesDecision
from ratecell._outcome import Outcome
from ratecell._reservation import Reservation
from ratecell._rules import RulesReservation
from ratecell.keys import KeyFunction, client_key

if TYPE_CHECKING:
    from typing_extensions import Self

DECISION = "ratecell.decision"
"""Where the application finds the decision, in its scope or environ."""

Fields = list[tuple[str, str]]
_Field = TypeVar("_Field", tuple[str, str], tuple[bytes, bytes])


@dataclass(frozen=True, slots=True)
class Limit:
    """A limiter before an application.

    `key` is a function of the request that returns the key which is charged, or None for a request that this
    limiter does not limit; `cost` the units of each request, or a function of it. `label` has the name of the
    policy in HTTP fields.
    """

    limiter: Limiter
    key: KeyFunction = client_key
    cost: int | Callable[[Any], int] = 1
    _: KW_ONLY
    label: Label | None = None

    def __post_init__(self) -> None:
        """Refuses a key that is no function."""
        if not callable(self.key):
            raise TypeError(f"key is of type {type(self.key).__name__}: expected a function of the request")

    @property
    def holds(self) -> bool:
        """Whether its requests have permits, to be released when they end."""
        return "in_flight" in self.limiter.policy

    def claim(self, request: Any) -> Claim | None:
        """The claim of a request; None if it is not limited."""
        key = self.key(request)
        if key is None:
            return None
        cost = self.cost(request) if callable(self.cost) else self.cost
        return Claim(self.limiter, key, cost, with_next=True)


Limits = Limiter | Limit | Iterable[Limiter | Limit]
"""One limit or several; a limiter alone is one with the defaults of `Limit`."""

CLOCK_RANGE = (503, "The rate limiter cannot decide")
"""Status and text for a time past the range of the policy."""


class Decider(ABC):
    """Decides the requests before an application."""

    def __init__(self, styles: Style | Iterable[Style], status: int) -> None:
        self.styles: tuple[Style, ...] = (styles,) if isinstance(styles, str) else tuple(styles)
        self.status = status
        # Styles that cannot be are refused here, not at the first request.
        fields((), self.styles)

    @abstractmethod
    def claimed(self, request: Any) -> Any:
        """What a request is decided by; None if it is not limited."""

    @abstractmethod
    def answer(self, claimed: Any, wait: bool = True) -> Answered:
        """The answer to what was claimed; by default it may wait for the store of many machines."""

    def decide(self, request: Any) -> Answered | None:
        """The answer to a request; None if it is not limited."""
        claimed = self.claimed(request)
        return None if claimed is None else self.answer(claimed)


class Answered(ABC):
    """The answer to one request."""

    never: tuple[int, str]
    """Status and text where the same request will not be allowed later. Not 429: clients repeat that."""

    def __init__(
        self,
        by: Decider,
        decision: Decision | Joint | RulesDecision,
        held: Iterable[Reservation | RulesReservation] = (),
    ) -> None:
        self.by = by
        self.decision = decision
        self.now_unix_ns = time.time_ns()
        self._held = list(held)

    @property
    def holds(self) -> bool:
        """Whether the request has permits, to be released when it ends."""
        return bool(self._held)

    def release(self) -> None:
        """The request has ended: its permits come back, once."""
        while self._held:
            self._held.pop().release()

    def __enter__(self) -> Self:
        """Leaving the block ends the request."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    @abstractmethod
    def fields(self) -> Fields:
        """The fields that tell a client the decision."""

    def no_denial(self) -> tuple[int, str] | None:
        """Status and text of a refusal that is no denial, which would be allowed later."""
        return {Outcome.NEVER: self.never, Outcome.CLOCK_RANGE: CLOCK_RANGE}.get(self.decision.outcome)

    def refusal(self) -> tuple[int, Fields, bytes]:
        """Status, fields and body of the response to a request that is not allowed."""
        own = self.fields()
        if (other := self.no_denial()) is not None:
            status, text = other
        else:
            after = next((value for name, value in own if name == "Retry-After"), None)
            status, text = self.by.status, "Too many requests" + (f": retry after {after} s" if after else "")
        body = f"{text}\n".encode()
        own += [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        return status, own, body


class HttpLimiter(Decider):
    """Decides requests by one limit or several, which are charged all or none."""

    def __init__(self, limits: Limits, styles: Style | Iterable[Style], status: int) -> None:
        super().__init__(styles, status)
        several = [limits] if isinstance(limits, Limiter | Limit) else list(limits)
        self.limits = [limit if isinstance(limit, Limit) else Limit(limit) for limit in several]
        self.is_joint = not isinstance(limits, Limiter | Limit)
        # Limits that cannot be are refused here, not at the first request: these are peeks.
        peeks = decide_all(Claim(limit.limiter, b"", 0) for limit in self.limits)
        for limit, peek in zip(self.limits, peeks.decisions, strict=True):
            if peek.without_zone:
                raise ValueError(
                    f"`{limit.limiter.policy}` asks for a zone, and a middleware names none: "
                    "expected another policy"
                )

    def claimed(self, request: Any) -> list[tuple[Limit, Claim]] | None:
        """What a request claims of the limits that hold for it."""
        return [(limit, claim) for limit in self.limits if (claim := limit.claim(request))] or None

    def answer(self, claimed: list[tuple[Limit, Claim]], wait: bool = True) -> Answered:
        """The answer to these claims, at least one."""
        decision: Decision | Joint
        held: list[Reservation] = []
        if self.is_joint:
            decision, held = _together([(limit, replace(claim, wait=wait)) for limit, claim in claimed])
            decisions = decision.decisions
        else:
            ((limit, claim),) = claimed
            if limit.holds:
                reservation = limit.limiter.reserve(claim.key, claim.cost, with_next=True)
                decision, held = reservation.decision, [reservation] if reservation else []
            else:
                decision = limit.limiter.decide(claim.key, claim.cost, with_next=True, wait=wait)
            decisions = (decision,)
        answers = [
            Answer(limit.limiter, each, limit.label)
            for (limit, _), each in zip(claimed, decisions, strict=True)
        ]
        return AnsweredByLimits(self, decision, answers, held)


class AnsweredByLimits(Answered):
    """The answer of limits."""

    never = (413, "Too large for the rate limit")  # A cost above the capacity.

    def __init__(
        self, by: HttpLimiter, decision: Decision | Joint, answers: list[Answer], held: list[Reservation]
    ) -> None:
        super().__init__(by, decision, held)
        self._answers = answers

    def fields(self) -> Fields:
        """The fields of all limits that hold for the request."""
        return fields(self._answers, self.by.styles, now_unix_ns=self.now_unix_ns)


def _together(claimed: list[tuple[Limit, Claim]]) -> tuple[Joint, list[Reservation]]:
    """Decides claims as one request, and what it holds.

    Those that count requests in flight are reserved, one after the other, before the others are decided.
    Where one is refused, they are cancelled.
    """
    held: dict[int, Reservation] = {}
    refused: dict[int, Decision] = {}
    decisions: dict[int, Decision] = {}
    outcome = None
    try:
        for number, (limit, claim) in enumerate(claimed):
            if limit.holds and not refused:
                reservation = limit.limiter.reserve(claim.key, claim.cost, with_next=True)
                if reservation:
                    held[number] = reservation
                else:
                    refused[number] = reservation.decision
        rest = [number for number in range(len(claimed)) if number not in held and number not in refused]
        # Where one has refused, the others say what remains.
        others = (claimed[number][1] for number in rest)
        joint = decide_all(replace(claim, cost=0) if refused else claim for claim in others)
        decisions = dict(zip(rest, joint.decisions, strict=True)) | refused
        outcome = next((decision.outcome for decision in refused.values()), joint.outcome)
    finally:
        for number, reservation in held.items():
            if outcome is Outcome.ALLOWED:
                decisions[number] = reservation.decision
            else:
                reservation.settle(0)
                decisions[number] = reservation.release()
    joint = Joint(outcome, tuple(decisions[number] for number in range(len(claimed))))
    return joint, list(held.values()) if joint else []


def merged(present: Iterable[_Field], own: list[_Field]) -> list[_Field]:
    """The fields of a response and `own`, which come from here.

    The fields of another limiter stay, for they are lists; of two Retry-After the greater is kept.
    """
    both = list(chain(present, own))
    after = [field for field in both if _is_retry_after(field[0])]
    if len(after) < 2:
        return both
    greatest = max(after, key=lambda field: _seconds(field[1]))
    return [field for field in both if field is greatest or not _is_retry_after(field[0])]


def _is_retry_after(name: str | bytes) -> bool:
    text = name if isinstance(name, str) else name.decode("latin-1")
    return text.lower() == "retry-after"


def _seconds(value: str | bytes) -> int:
    """The seconds of a Retry-After; of a date, which cannot be compared, fewer than any."""
    try:
        return int(value)
    except ValueError:
        return -1


def phrase(status: int) -> str:
    """The reason phrase of a status."""
    return HTTPStatus(status).phrase
