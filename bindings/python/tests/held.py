"""The published reservations, permits of requests in flight, and changes of a policy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ratecell import Decision, Limiter, Outcome, PolicyError, RateLimitExceeded, Reservation

OUTCOMES = [Outcome.DENIED, Outcome.ALLOWED, Outcome.NEVER, Outcome.CLOCK_RANGE]


class Held:
    """The keys of a section, and what is held of them.

    What comes back is counted for neighbouring keys together, and the vectors have it for each apart: so each
    key has a limiter, and a change is made to all of them. A row names a reservation by its number, as often
    as it likes, and an object is settled once: so its bytes are kept.
    """

    def __init__(self, make: Callable[[], Limiter]) -> None:
        self.make = make
        self.changed = make()
        """Of no key: it has seen every change."""
        self.changes: list[tuple[str, int]] = []
        self.limiters: dict[str, Limiter] = {}
        self.reservations: dict[int, tuple[Limiter, bytes]] = {}

    def limiter(self, key: str) -> Limiter:
        if key not in self.limiters:
            self.limiters[key] = limiter = self.make()
            for policy, now in self.changes:
                limiter.change(policy, at_ns=now)
        return self.limiters[key]

    def change(self, policy: str, now: int) -> str | None:
        """The code of the error; None where all limiters have the policy now."""
        codes = {refused(limiter, policy, now) for limiter in (self.changed, *self.limiters.values())}
        assert len(codes) == 1, f"limiters of one policy differ: {codes}"
        code = codes.pop()
        if code is None:
            self.changes.append((policy, now))
        return code

    def row(self, row: list[Any]) -> str:
        """Empty where what the row states holds, else what was got."""
        call, back = row[0], 0
        if not isinstance(call, str):
            now, key, cost, *stated = row
            decision = self.limiter(key).check(key, cost, at_ns=now)
        elif call == "forget":
            self.limiter(row[2]).forget(row[2])
            return ""
        elif call == "charge":
            now, key, cost, *stated = row[1:]
            decision = self.limiter(key).decide(key, cost, at_ns=now, charge=True)
        elif call in ("reserve", "acquire"):
            number, now, key, cost, *stated = row[1:]
            decision = self.reserve(number, now, key, cost)
        else:
            number, now, *stated = row[1:]
            limiter, data = self.reservations[number]
            reservation = Reservation.from_bytes(limiter, data, at_ns=now)
            if call == "settle":
                actual, *stated = stated
                decision = reservation.settle(actual)
            elif call == "release":
                *stated, back = stated
                decision = reservation.release()
            elif call == "renew":
                decision = reservation.renew()
                self.reservations[number] = limiter, bytes(reservation)
            else:
                raise ValueError(
                    f"the call is {call!r}: expected one of reserve.md, concurrency.md or change.md"
                )
        code, remaining, retry, reset, *delay = stated
        got = (
            decision.outcome,
            decision.remaining,
            decision.retry_after_ns,
            decision.reset_after_ns,
            decision.delay_ns,
            decision.given_back,
        )
        expected = (OUTCOMES[code], remaining, retry, reset, delay[0] if delay else 0, back)
        return "" if got == expected else repr(got)

    def reserve(self, number: int, now: int, key: str, cost: int) -> Decision:
        limiter = self.limiter(key)
        reservation = limiter.reserve(key, cost, at_ns=now)
        if reservation:
            self.reservations[number] = limiter, bytes(reservation)
            assert reservation.cost == cost
        else:
            with contextlib.suppress(RateLimitExceeded):
                raise AssertionError(f"a refused reservation has bytes: {bytes(reservation)!r}")
        return reservation.decision


def refused(limiter: Limiter, policy: str, now: int) -> str | None:
    try:
        limiter.change(policy, at_ns=now)
    except PolicyError as error:
        return error.code
    return None
