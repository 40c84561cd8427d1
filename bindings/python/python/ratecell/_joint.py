"""Several limiters at once: every one is charged, or none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from ratecell import _native
from ratecell._native import Decision
from ratecell._outcome import Outcome


@dataclass(frozen=True, slots=True)
class Claim:
    """One of several requests that are to be allowed together or not at all.

    It has what `Limiter.decide` takes. An `at_ns` of None is now, by the limiter's own clock.
    """

    limiter: _native.Limiter
    key: str | bytes
    cost: int = 1
    _: KW_ONLY
    at_ns: int | None = None
    within_ns: int | None = None
    charge: bool = False
    with_next: bool = False
    wait: bool = True
    zone: _native.Zone | None = None


@dataclass(frozen=True, slots=True)
class Joint:
    """The answer to several claims: true if all of them were allowed, and so charged.

    `decisions` are those of each claim by itself. Where another is refused, that of a claim which would have
    been allowed says what remains.
    """

    outcome: Outcome
    decisions: tuple[Decision, ...]

    def __bool__(self) -> bool:
        return self.outcome is Outcome.ALLOWED

    @property
    def retry_after_ns(self) -> int | None:
        """Nanoseconds until the same claims would be allowed, with no other traffic; None is never."""
        after = [decision.retry_after_ns for decision in self.decisions]
        known = [ns for ns in after if ns is not None]
        return max(known, default=0) if len(known) == len(after) else None

    @property
    def retry_after(self) -> float | None:
        """`retry_after_ns` in seconds."""
        ns = self.retry_after_ns
        return None if ns is None else ns / 1e9

    @property
    def delay_ns(self) -> int:
        """Nanoseconds to hold the allowed request before it goes on: the longest of the delays."""
        return max((decision.delay_ns for decision in self.decisions), default=0)

    @property
    def delay(self) -> float:
        """`delay_ns` in seconds."""
        return self.delay_ns / 1e9


def decide_all(claims: Iterable[Claim]) -> Joint:
    """Decides all of `claims` as one request: all are charged, or none is.

    No number of callers can have any of the limiters allow more than its policy; a claim that another caller
    overtakes is refused. Raises ValueError where the policies of the claims have more than 64 layers in all.
    """
    outcome, decisions = _native.decide_all(
        [
            (c.limiter, c.key, c.cost, c.at_ns, c.within_ns, c.charge, c.with_next, c.wait, c.zone)
            for c in claims
        ]
    )
    return Joint(outcome, tuple(decisions))
