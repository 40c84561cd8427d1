"""Several limiters at once: every one is charged, or none."""

from __future__ import annotations

from dataclasses import dataclass

from ratecell import _native
from ratecell._limiter import Limiter
from ratecell._native import Decision
from ratecell._outcome import Outcome


@dataclass(frozen=True, slots=True)
class Claim:
    """One of several requests that are to be allowed together or not at all.

    `now_ns` is by the time that the limiter's callers use; None is now, by the limiter's own clock.
    """

    limiter: Limiter
    key: str | bytes
    cost: int = 1
    now_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Joint:
    """The answer to several claims: true if all of them were allowed, and so charged.

    `decisions` are what each says by itself; of one that would have allowed, where another refuses, what it
    has still.
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


def check_all(*claims: Claim) -> Joint:
    """Decides all of `claims` as one request: all are charged, or none is.

    No number of callers can have any of the limiters allow more than its policy; a claim that another caller
    overtakes is refused.
    """
    outcome, decisions = _native.check_all([(c.limiter, c.key, c.cost, c.now_ns) for c in claims])
    return Joint(outcome, tuple(decisions))
