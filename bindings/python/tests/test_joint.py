"""Several limiters at once: all are charged, or none is."""

from __future__ import annotations

import threading

import pytest

from ratecell import Claim, Limiter, Outcome, decide_all


def test_all_or_none() -> None:
    person, team = Limiter("2/h"), Limiter("5/h")
    claims = [Claim(person, "ann", at_ns=0), Claim(team, b"red", 2, at_ns=0)]
    both = decide_all(claims)
    assert both
    assert both.outcome is Outcome.ALLOWED
    assert [decision.remaining for decision in both.decisions] == [1, 3]
    assert (both.retry_after, both.retry_after_ns) == (0.0, 0)
    assert decide_all(claims)
    refused = decide_all(claims)
    assert not refused
    assert refused.outcome is Outcome.DENIED
    # The team has one left, and two an hour and a fifth from now; the person in half an hour.
    assert [decision.remaining for decision in refused.decisions] == [0, 1]
    assert refused.retry_after == 1800.0
    assert team.peek("red", at_ns=0).remaining == 1


def test_never_has_no_retry() -> None:
    joint = decide_all([Claim(Limiter("2/h"), "k", 3), Claim(Limiter("2/h"), "k")])
    assert not joint
    assert (joint.outcome, joint.retry_after, joint.retry_after_ns) == (Outcome.NEVER, None, None)


def test_no_claims_are_allowed() -> None:
    assert decide_all([])
    assert decide_all(iter(())).decisions == ()


def test_bad_claims_charge_nothing() -> None:
    limiter = Limiter("2/h")
    with pytest.raises(TypeError, match="key is of type int"):
        decide_all([Claim(limiter, "k"), Claim(limiter, 3)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cost is -1"):
        decide_all([Claim(limiter, "k"), Claim(limiter, "k", -1)])
    with pytest.raises(TypeError):
        decide_all([Claim(limiter, "k"), Claim("2/h", "k")])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="charge and within_ns are both given"):
        decide_all([Claim(limiter, "k", within_ns=0, charge=True)])
    assert limiter.stats().live == 0


def test_a_claim_asks_all_that_a_request_can() -> None:
    queue, bytes_sent = Limiter("leaky_queue 1/s queue=5"), Limiter("10/h")
    first = Claim(queue, "k", at_ns=0, within_ns=0, with_next=True)
    spent = Claim(bytes_sent, "k", 99, at_ns=0, charge=True)
    both = decide_all([first, spent])
    assert [decision.remaining for decision in both.decisions] == [5, 0]
    assert both.decisions[0].next_after == 1.0
    refused = decide_all([first])
    assert (refused.outcome, refused.retry_after, refused.delay) == (Outcome.DENIED, 1.0, 1.0)
    assert decide_all([Claim(queue, "k", at_ns=0)]).delay_ns == 10**9


def test_there_are_at_most_64_layers() -> None:
    limiter = Limiter(" & ".join(["9/s"] * 8))
    assert decide_all([Claim(limiter, str(number)) for number in range(8)])
    with pytest.raises(ValueError, match="the claims have 72 layers: expected at most 64"):
        decide_all([Claim(limiter, str(number)) for number in range(9)])


def test_threads_are_allowed_no_more_than_the_least() -> None:
    few, many = Limiter("1000/100d"), Limiter("5000/100d")
    allowed: list[int] = []

    def work() -> None:
        allowed.append(sum(bool(decide_all([Claim(many, "k"), Claim(few, "k")])) for _ in range(1000)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(allowed), len(allowed)) == (1000, 4)
    assert many.peek("k").remaining == 4000
