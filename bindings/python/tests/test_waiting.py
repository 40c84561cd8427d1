"""What waits: that it sleeps as long as it must, charges once, and knows when it need not begin.

No time is measured. Where sleeping matters, the clock and the sleep are made up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from ratecell import Limiter, Outcome, RateLimitExceeded, _native, _waiting


class Clock:
    """Time that passes by sleeping alone, for one limiter."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ns = 10**9
        self.slept: list[float] = []
        monkeypatch.setattr(_waiting._Thread, "sleep", lambda _, seconds: self.sleep(seconds))

        async def sleep(_: object, seconds: float) -> None:
            self.sleep(seconds)

        monkeypatch.setattr(_waiting._Task, "sleep", sleep)
        clock = self

        class Timed(Limiter):
            def check(self, key: str | bytes, cost: int = 1, **options: Any) -> Any:
                return super().check(key, cost, **{"at_ns": clock.ns, **options})

            def now_ns(self) -> int:
                return clock.ns

        self.limiter = Timed

        self.thief: Callable[[], object] = lambda: None
        """What others do at the end of each sleep."""

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.ns += round(seconds * 1e9)
        self.thief()


@pytest.fixture(params=["wait", "acquire"])
def wait(request: pytest.FixtureRequest) -> Any:
    """`wait`, and `acquire` as one that blocks."""
    if request.param == "wait":
        return lambda limiter, *args, **kwargs: limiter.wait(*args, **kwargs)

    return lambda limiter, *args, **kwargs: asyncio.run(limiter.acquire(*args, **kwargs))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_it_sleeps_as_long_as_it_must(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("4/s burst=1")
    for _ in range(4):
        assert wait(limiter, "k")
    assert clock.slept == [0.25, 0.25, 0.25]
    assert limiter.check("k", at_ns=clock.ns + 249_999_999).outcome is Outcome.DENIED
    assert limiter.check("k", at_ns=clock.ns + 250_000_000)


def test_it_charges_the_cost_once(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("10/s")
    assert wait(limiter, "k", 8).remaining == 2
    assert wait(limiter, "k", cost=7).remaining == 0
    assert clock.slept == [0.5]


def test_a_timeout_that_cannot_be_met_is_told_at_once(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("1/s")
    assert wait(limiter, "k", timeout=0.0)
    denied = wait(limiter, "k", timeout=0.999)
    assert denied.outcome is Outcome.DENIED
    assert denied.retry_after == 1.0
    assert not wait(limiter, "k", 2, timeout=5.0)
    assert clock.slept == []
    assert wait(limiter, "k", timeout=1.0)
    assert clock.slept == [1.0]


def test_the_timeout_is_for_all_of_the_waiting(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("1/s")
    assert limiter.check("k")
    clock.thief = lambda: limiter.check("k")
    assert not wait(limiter, "k", timeout=2.5)
    assert clock.slept == [1.0, 1.0]


def test_it_does_not_spin_where_others_take_the_units(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("1000000/s burst=1")
    assert limiter.check("k")
    clock.thief = lambda: limiter.check("k")
    assert not wait(limiter, "k", timeout=0.1)
    # 100,000 units came; the first pauses for a millisecond once it is beaten.
    assert 90 <= len(clock.slept) <= 102
    assert _native.waits(limiter) == (0, len(clock.slept) + 1) or _native.waits(limiter)[1] <= 102


def test_a_cost_of_0_is_a_peek(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("3/s")
    assert limiter.check("k", 2)
    assert wait(limiter, "k", 0).remaining == 1
    assert _native.waits(limiter) == (0, 0)


def test_what_can_never_be_is_an_error_where_no_timeout_says_when_to_give_up(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("3/s")
    with pytest.raises(ValueError, match="cost is 4: expected at most the capacity, 3"):
        wait(limiter, "k", 4)
    assert wait(limiter, "k", 4, timeout=60.0).outcome is Outcome.NEVER
    clock.ns = limiter.max_now_ns + 1
    with pytest.raises(ValueError, match="expected a policy with a longer horizon"):
        wait(limiter, "k")
    assert wait(limiter, "k", timeout=60.0).outcome is Outcome.CLOCK_RANGE


@pytest.mark.parametrize("timeout", [-1.0, float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_named(wait: Any, clock: Clock, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout is .*: expected seconds from 0 to"):
        wait(clock.limiter("3/s"), "k", timeout=timeout)


def test_a_timeout_that_is_no_number_is_named(wait: Any, clock: Clock) -> None:
    with pytest.raises(TypeError, match="timeout is of type str: expected seconds, or None"):
        wait(clock.limiter("3/s"), "k", timeout="1")
    assert wait(clock.limiter("3/s"), "k", timeout=Fraction(1, 2))


def test_who_waits_for_a_queue_has_a_place_in_it(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("leaky_queue 10/s queue=5")
    for _ in range(5):
        assert limiter.check("k")
    # Others ask as soon as they can, and take no place before its own.
    clock.thief = lambda: limiter.check("k")
    assert wait(limiter, "k").delay == 0.5
    assert clock.slept == [0.5]


def test_a_queue_that_takes_longer_than_the_timeout_is_not_waited_for(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("leaky_queue 10/s queue=50 & 1000/s")
    for _ in range(4):
        assert limiter.check("k")
    before = limiter.check("k", 0)
    denied = wait(limiter, "k", timeout=0.399)
    assert denied.outcome is Outcome.DENIED
    assert limiter.check("k", 0) == before
    assert clock.slept == []
    assert wait(limiter, "k", timeout=0.4)
    assert clock.slept == [0.4]


def test_a_full_queue_is_waited_for_where_there_is_time(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("leaky_queue 10/s queue=2")
    for _ in range(3):
        assert limiter.check("k")
    assert not wait(limiter, "k", timeout=0.299)
    assert clock.slept == []
    assert wait(limiter, "k", timeout=0.3)
    # Until there is a place in the queue, which it takes, and then until its turn.
    assert clock.slept == pytest.approx([0.1, 0.2])


def test_the_units_of_one_cost_follow_each_other_through_a_queue(wait: Any, clock: Clock) -> None:
    limiter = clock.limiter("leaky_queue 10/s queue=5")
    assert limiter.check("k")
    denied = wait(limiter, "k", 3, timeout=0.299)
    assert (denied.outcome, denied.remaining) == (Outcome.DENIED, 5)
    assert clock.slept == []
    assert wait(limiter, "k", 3, timeout=0.3).delay == 0.3
    assert clock.slept == [0.3]
    assert not wait(limiter, "other", 3, timeout=0.199)
    assert clock.slept == [0.3]
    assert wait(limiter, "other", 6).delay == 0.5
    assert wait(limiter, "other", 7, timeout=60).outcome is Outcome.NEVER


def test_threads_and_tasks_wait_in_earnest() -> None:
    limiter = Limiter("200/s burst=1")

    async def tasks() -> list[Any]:
        return await asyncio.gather(*(limiter.acquire("k") for _ in range(10)))

    assert all(asyncio.run(tasks()))
    assert all(limiter.wait("k", timeout=60) for _ in range(10))


def test_a_task_that_is_cancelled_has_taken_nothing() -> None:
    limiter = Limiter("2/h")

    async def cancelled() -> None:
        assert limiter.check("k", 2)
        waiting = asyncio.create_task(limiter.acquire("k", 1))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(cancelled())
    # Two units take an hour to come back, three would take longer.
    assert limiter.peek("k").reset_after_ns <= 3600 * 10**9
    assert limiter.with_policy("2/h burst=3").check("k").remaining == 0


def test_a_decorated_function_may_wait(clock: Clock) -> None:
    limiter = clock.limiter("2/s burst=1")

    @limiter.limit(b"all", timeout=None)
    def call() -> bool:
        return True

    assert call()
    assert call()
    assert clock.slept == [0.5]

    @limiter.limit("other", cost=2)
    def costly() -> bool:
        return True

    with pytest.raises(RateLimitExceeded, match="'other': can never be allowed"):
        costly()
    with pytest.raises(TypeError, match="key is of type int: expected str, bytes or a function"):
        limiter.limit(3)  # type: ignore[arg-type]
