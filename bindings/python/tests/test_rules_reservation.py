"""What rules hold: reserve, settle, cancel, release, and the block that does it."""

from __future__ import annotations

import copy
import os
import signal
import threading
import time
from typing import Any

import pytest

from ratecell import RateLimitExceeded, Rules, RulesReservation

TEXT = """
ratecell_rules = 1
attributes = ["user", "tokens"]

[[rule]]
name = "at-once"
key = ["user"]
limit = "in_flight 2 hold=1h"

[[rule]]
name = "tokens"
key = ["user"]
limit = "fixed_window 1000/1d"
cost = { from = "tokens", default = 100 }
"""
ANN = {"user": "ann"}
HOUR = 3_600_000_000_000


def rules(text: str = TEXT, **options: Any) -> Rules:
    return Rules(text, max_keys=100, reserving=True, **options)


def tokens(rules: Rules) -> int:
    """How many are left: as many as can be reserved."""
    low, high = 0, 1001
    while high - low > 1:
        middle = (low + high) // 2
        reservation = rules.reserve({**ANN, "tokens": str(middle)}, at_ns=0)
        if reservation:
            reservation.cancel()
            reservation.release()
            low = middle
        else:
            high = middle
    return low


def at_once(rules: Rules) -> int:
    held = []
    while reservation := rules.reserve({**ANN, "tokens": "0"}, at_ns=0):
        held.append(reservation)
    for reservation in held:
        assert reservation.release() == 1
    return len(held)


def test_a_block_settles_and_releases() -> None:
    limits = rules()
    with limits.reserve(ANN, at_ns=0) as reservation:
        assert reservation.decision is not None
        assert reservation.decision.allowed
        assert (tokens(limits), at_once(limits)) == (900, 1)
        reservation.actual = {"tokens": 40}
    assert (tokens(limits), at_once(limits)) == (960, 2)
    with pytest.raises(OSError, match="fails"), limits.reserve(ANN, at_ns=0):
        raise OSError("the work fails")
    assert (tokens(limits), at_once(limits)) == (860, 2)
    with limits.reserve(ANN, at_ns=0) as reservation:
        reservation.cancel()
        assert reservation.release() == 1
        for call in (reservation.cancel, reservation.release, lambda: reservation.settle({})):
            with pytest.raises(RuntimeError, match="already: expected it once"):
                call()
    assert (tokens(limits), at_once(limits)) == (860, 2)


def test_a_refusal_is_false() -> None:
    limits = rules()
    held = [limits.reserve(ANN), limits.reserve(ANN)]
    refused = limits.reserve(ANN)
    assert held
    assert not refused
    assert refused.decision is not None
    assert refused.decision.rule == "at-once"
    assert repr(refused).startswith("<RulesReservation refused: <RulesDecision")
    with pytest.raises(RateLimitExceeded, match="rate limit exceeded for 'at-once': retry after"), refused:
        pass
    with pytest.raises(RateLimitExceeded):
        refused.release()


def test_it_outlives_a_change() -> None:
    limits = rules()
    first, second = limits.reserve(ANN, at_ns=0), limits.reserve(ANN, at_ns=0)
    limits.change(TEXT.replace("in_flight 2", "in_flight 3"), at_ns=0)
    first.settle({"tokens": 1})
    assert first.release() == 1
    assert (tokens(limits), at_once(limits)) == (899, 2)
    limits.change(TEXT.replace("at-once", "other"), at_ns=0)
    second.settle({"tokens": b"2"})
    assert (second.release(), tokens(limits)) == (0, 997)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_gives_back() -> None:
    limits = rules(forked=True)
    data = bytes(limits.reserve(ANN, at_ns=0))
    if (child := os.fork()) == 0:
        other = RulesReservation.from_bytes(limits, data, at_ns=0)
        other.settle({"tokens": 1})
        os._exit(other.release())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert (tokens(limits), at_once(limits)) == (999, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_killed_processes_lose_no_more_than_their_permits() -> None:
    workers, kept = 3, 1
    limits = rules(TEXT.replace("in_flight 2", f"in_flight {workers + kept}"), forked=True)
    stays = limits.reserve({**ANN, "tokens": "0"}, at_ns=0)
    for round_ in range(8):
        children = []
        for _ in range(workers):
            if (child := os.fork()) == 0:
                while True:
                    with limits.reserve({**ANN, "tokens": "0"}, at_ns=0):
                        pass
            children.append(child)
        time.sleep(0.005 * (round_ % 4))
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        # Each child held one permit at the most, and what it has released is nobody's loss.
        free = at_once(limits)
        assert 0 <= free <= workers
        if free < workers:
            break
    # By themselves the permits of the dead come back, and that of the living with them.
    later = [limits.reserve({**ANN, "tokens": "0"}, at_ns=3 * HOUR) for _ in range(workers + kept + 1)]
    assert sum(bool(reservation) for reservation in later) == workers + kept
    assert stays.release(at_ns=3 * HOUR) == 0


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(ValueError, match="in_flight"):
        Rules(TEXT)
    limits = rules()
    with pytest.raises(ValueError, match="expected reserve"):
        limits.decide(ANN)
    with pytest.raises(ValueError, match="9 bytes are no reservation"):
        RulesReservation.from_bytes(limits, b"123456789")
    with pytest.raises(TypeError, match="expected bytes"):
        RulesReservation.from_bytes(limits, "text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected Rules.reserve"):
        RulesReservation()
    reservation = limits.reserve(ANN)
    assert repr(reservation) == "<RulesReservation: held>"
    with pytest.raises(TypeError, match="a mapping"):
        reservation.settle([])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the attribute tokens is of type float"):
        reservation.settle({"tokens": 1.5})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        copy.copy(reservation)
    reservation.settle({"tokens": 3})
    assert repr(reservation) == "<RulesReservation: settled>"


def test_never_more_are_in_flight() -> None:
    limits = rules()
    in_flight: list[int] = []

    def work() -> None:
        for _ in range(300):
            if reservation := limits.reserve({**ANN, "tokens": "0"}, at_ns=0):
                with reservation:
                    in_flight.append(1)
                    assert len(in_flight) <= 2
                    in_flight.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert at_once(limits) == 2
