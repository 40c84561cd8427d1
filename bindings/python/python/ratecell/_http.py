"""What stands before applications of every framework: the limits, their decision, fields and refusal."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, replace
from http import HTTPStatus
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ratecell._exceeded import RateLimitExceeded
from ratecell._fields import Answer, Style, fields
from ratecell._joint import Claim, Joint, decide_all
from ratecell._limiter import Limiter
from ratecell._native import Decision, Label, RulesDecision
from ratecell._outcome import Outcome
from ratecell._reservation import MAX_COST, Reservation
from ratecell._rules import RulesReservation
from ratecell.keys import KeyFunction, client_key, function_of_request

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
        """Refuses a key or a cost that no request could have."""
        function_of_request(self.key, "key")
        if not isinstance(self.cost, int):
            function_of_request(self.cost, "cost")
        elif not 0 <= self.cost <= MAX_COST:
            raise ValueError(f"a cost of {self.cost}: expected 0 to {MAX_COST}")

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


def with_key(limits: Any, key: KeyFunction | None) -> Any:
    """The limits of a decorator, which may be a limiter and its key."""
    if key is None:
        return limits
    if not isinstance(limits, Limiter):
        raise TypeError(f"key is given with limits of type {type(limits).__name__}: expected a Limiter")
    return Limit(limits, key)


CANNOT_DECIDE = (503, "The rate limiter cannot decide")
"""Status and text for a time past the range of the policy, and for a fault where `fail` is "closed"."""
LIMIT_NEVER = (413, "Too large for the rate limit")
"""Status and text for a cost above the capacity."""
RULES_NEVER = (403, "The rules never allow it")
"""Status and text for what the rules never allow."""
UNCLEAR_PATH = (400, "The path can be read in several ways")
"""Status and text for a path that the file refuses."""


class Refusal(NamedTuple):
    """The response to a request that is not allowed, before it has a framework's shape."""

    status: int
    text: str
    fields: Fields


def _too_many(status: int, own: Fields) -> Refusal:
    after = next((value for name, value in own if name == "Retry-After"), None)
    return Refusal(status, "Too many requests" + (f": retry after {after} s" if after else ""), own)


def refusal_of(exceeded: RateLimitExceeded) -> Refusal:
    """The response to a request under which a limit inside the application was exceeded.

    Its fields are `Retry-After` alone: the exception knows the decision, and not the limiter.
    """
    decision = exceeded.decision
    never = LIMIT_NEVER
    if isinstance(decision, RulesDecision):
        never = UNCLEAR_PATH if decision.is_unclear_path else RULES_NEVER
    other = {Outcome.NEVER: never, Outcome.CLOCK_RANGE: CANNOT_DECIDE}.get(decision.outcome)
    if other is not None:
        return Refusal(*other, [])
    ns = decision.retry_after_ns
    return _too_many(429, [] if ns is None else [("Retry-After", str(-(-ns // 10**9)))])


class Decider(ABC):
    """Decides the requests before an application."""

    def __init__(self, styles: Style | Iterable[Style], status: int) -> None:
        self.styles: tuple[Style, ...] = (styles,) if isinstance(styles, str) else tuple(styles)
        if not isinstance(status, int) or not 400 <= status <= 599:
            raise ValueError(f"a status of {status!r}: expected 400 to 599")
        self.status = status
        # Styles that cannot be are refused here, not at the first request.
        fields((), self.styles)

    @property
    @abstractmethod
    def holds(self) -> bool:
        """Whether its requests may have permits, to be released when they end."""

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
        decision: Decision | Joint | RulesDecision | None,
        held: Iterable[Reservation | RulesReservation] = (),
    ) -> None:
        self.by = by
        self.decision = decision
        self.now_unix_ns = time.time_ns()
        self._held = list(held)

    def __bool__(self) -> bool:
        """Whether the request may go."""
        return bool(self.decision)

    @property
    def delay(self) -> float:
        """Seconds to hold the request, if it is allowed."""
        return self.decision.delay if self.decision else 0.0

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
        if self.decision is None:
            return CANNOT_DECIDE
        return {Outcome.NEVER: self.never, Outcome.CLOCK_RANGE: CANNOT_DECIDE}.get(self.decision.outcome)

    def refusal(self) -> Refusal:
        """The response to a request that is not allowed."""
        own, other = self.fields(), self.no_denial()
        return _too_many(self.by.status, own) if other is None else Refusal(*other, own)

    def plain_refusal(self) -> tuple[int, Fields, bytes]:
        """Status, fields and body of the response to a request that is not allowed, in plain text."""
        status, text, own = self.refusal()
        body = f"{text}\n".encode()
        own += [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
        return status, own, body


class Unanswered(Answered):
    """A request that is refused because of a fault."""

    never = CANNOT_DECIDE

    def __init__(self, by: Decider) -> None:
        super().__init__(by, None)

    def fields(self) -> Fields:
        """There are none."""
        return []


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

    @property
    def holds(self) -> bool:
        """Whether one of the limits counts requests in flight."""
        return any(limit.holds for limit in self.limits)

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

    never = LIMIT_NEVER

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
