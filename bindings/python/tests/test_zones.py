"""Policies with tz=caller: each request names its zone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ratecell import (
    Claim,
    Limiter,
    Outcome,
    PolicyError,
    RateLimitMiddleware,
    Zone,
    decide_all,
)

HOUR = 3_600_000_000_000
POLICY = "calendar_window 3/day tz=caller"


def test_each_way_to_ask_takes_the_zone() -> None:
    limiter = Limiter(POLICY)
    tokyo = limiter.zone("asia/tokyo")
    assert (tokyo.name, repr(tokyo)) == ("Asia/Tokyo", '<Zone "Asia/Tokyo">')
    # Midnight there is at 15:00 UTC.
    allowed = limiter.check("ann", at_ns=HOUR, zone=tokyo)
    assert (allowed.remaining, allowed.reset_after_ns) == (2, 14 * HOUR)
    assert limiter.peek("ann", at_ns=HOUR, zone=tokyo).remaining == 2
    assert limiter.decide("ann", at_ns=HOUR, with_next=True, zone=tokyo).remaining == 1
    assert list(limiter.decide_many(["ann", "ann"], at_ns=HOUR, zone=tokyo).allowed) == [1, 0]
    claim = Claim(limiter, "ann", at_ns=HOUR, zone=tokyo)
    assert decide_all([claim]).retry_after_ns == 14 * HOUR
    assert limiter.check("ann", at_ns=15 * HOUR, zone=tokyo)


def test_moving_gives_no_second_quota() -> None:
    limiter = Limiter(POLICY)
    tokyo, new_york = limiter.zone("Asia/Tokyo"), limiter.zone("-05:00")
    assert limiter.check("ann", 3, at_ns=13 * HOUR, zone=tokyo)
    moved = limiter.check("ann", at_ns=15 * HOUR - 1, zone=new_york)
    assert (moved.outcome, moved.retry_after_ns) == (Outcome.DENIED, 14 * HOUR + 1)


def test_without_a_zone_nothing_is_charged() -> None:
    limiter = Limiter(POLICY)
    for decision in (
        limiter.check("ann"),
        limiter.check("ann", zone=None),
        limiter.decide("ann", charge=True),
        *limiter.decide_many(["ann"]),
        *decide_all([Claim(limiter, "ann")]).decisions,
    ):
        assert (decision.outcome, decision.without_zone) == (Outcome.NEVER, True)
    assert limiter.stats().live == 0
    assert not limiter.check("ann", zone=limiter.zone("UTC")).without_zone


@pytest.mark.parametrize(
    "policy", ["3/s", "calendar_window 3/day tz=UTC", "calendar_window 3/week tz=caller"]
)
def test_a_zone_that_the_limiter_does_not_take_is_an_error(policy: str) -> None:
    utc = Limiter(POLICY).zone("UTC")
    limiter = Limiter(policy)
    calls: list[Callable[[], object]] = [
        lambda: limiter.check("ann", zone=utc),
        lambda: limiter.peek("ann", zone=utc),
        lambda: limiter.decide("ann", zone=utc),
        lambda: limiter.decide_many(["ann"], zone=utc),
        lambda: decide_all([Claim(limiter, "ann", zone=utc)]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="zone is UTC.*: expected"):
            call()
    assert limiter.stats().live == 0


def test_a_zone_is_of_its_class() -> None:
    limiter = Limiter(POLICY)
    with pytest.raises(TypeError, match="zone is of type str: expected Zone"):
        limiter.check("ann", zone="UTC")  # type: ignore[arg-type]


def test_zones_of_one_calendar_are_equal() -> None:
    limiter, larger = Limiter(POLICY), Limiter("calendar_window 5/day tz=caller")
    utc = limiter.zone("UTC")
    assert (utc, hash(utc)) == (larger.zone("+00:00"), hash(larger.zone("+00:00")))
    assert utc != limiter.zone("Asia/Tokyo")
    assert larger.check("ann", zone=utc).remaining == 4


@pytest.mark.parametrize(
    ("policy", "name"), [(POLICY, "Europe/Atlantis"), (POLICY, "caller"), ("3/s", "UTC")]
)
def test_there_is_no_such_zone(policy: str, name: str) -> None:
    with pytest.raises(PolicyError, match="expected") as refused:
        Limiter(policy).zone(name)
    assert refused.value.code == "bad_zone"


def test_what_names_no_zone_refuses_the_limiter() -> None:
    limiter = Limiter(POLICY)
    with pytest.raises(ValueError, match="a middleware names none: expected another policy"):
        RateLimitMiddleware(lambda *_: None, limiter)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="who waits names none: expected another policy"):
        limiter.wait("ann", timeout=0)


def test_a_reservation_gives_back_without_a_zone() -> None:
    limiter = Limiter(POLICY)
    utc = limiter.zone("UTC")
    held = limiter.reserve("ann", 3, at_ns=HOUR, zone=utc)
    assert held
    settled = held.settle(1)
    assert (settled.outcome, settled.without_zone) == (Outcome.NEVER, True)
    assert limiter.peek("ann", at_ns=HOUR, zone=utc).remaining == 2
    refused = limiter.reserve("ann", at_ns=HOUR)
    assert not refused
    assert refused.decision.without_zone
    with pytest.raises(ValueError, match="takes none: expected"):
        Limiter("3/s").reserve("ann", zone=utc)


def test_a_zone_is_made_by_a_limiter() -> None:
    with pytest.raises(TypeError):
        Zone()
