"""Reservations: what a block settles and releases, what is refused, and that nothing comes back twice."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ratecell import Limiter, Outcome, RateLimitExceeded, Reservation, _native
from test_together import in_a_child

SECOND = 10**9
BOTH = "1000/s & in_flight 2 hold=60s"


def test_a_block_settles_what_was_used() -> None:
    limiter = Limiter("90000/m")
    with limiter.reserve("org:7", 4000, at_ns=0) as reservation:
        assert reservation
        assert (reservation.cost, reservation.key, reservation.actual) == (4000, "org:7", None)
        assert reservation.decision.remaining == 86_000
        assert limiter.peek("org:7", at_ns=0).remaining == 86_000
        reservation.actual = 1000
    assert limiter.peek("org:7", at_ns=0).remaining == 89_000
    assert repr(reservation) == "<Reservation of 4000: settled and released>"


@pytest.mark.parametrize(("actual", "remaining"), [(None, 6), (4, 6), (0, 10), (7, 3), (20, 0)])
@pytest.mark.parametrize("raises", [False, True])
def test_an_exception_settles_the_same(actual: int | None, remaining: int, raises: bool) -> None:
    limiter = Limiter("10/h & in_flight 10 hold=60s")
    try:
        with limiter.reserve("k", 4, at_ns=SECOND) as reservation:
            reservation.actual = actual
            if raises:
                raise KeyError("the model is away")
    except KeyError:
        assert raises
    assert limiter.peek("k", at_ns=SECOND).remaining == remaining
    with pytest.raises(RuntimeError, match="the reservation is released already"):
        reservation.release()


def test_a_block_releases_its_permit() -> None:
    limiter = Limiter(BOTH)
    with limiter.reserve("k", at_ns=0), limiter.reserve("k", at_ns=0):
        assert not limiter.reserve("k", at_ns=0)
    assert limiter.check("k", 2, at_ns=0)
    assert limiter.peek("k", at_ns=0).remaining == 0


def test_async_with_does_the_same() -> None:
    limiter = Limiter(BOTH)

    async def served(used: int) -> int:
        async with limiter.reserve("k", 1) as reservation:
            await asyncio.sleep(0)
            reservation.actual = used
        return used

    async def main() -> None:
        async with limiter.reserve("k"), limiter.reserve("k"):
            with pytest.raises(RateLimitExceeded, match="rate limit exceeded for 'k'") as refused:
                await served(0)
            assert refused.value.decision.outcome is Outcome.DENIED
        assert sum(await asyncio.gather(served(0), served(1))) == 1

    asyncio.run(main())
    assert limiter.reserve("k", 2)


def test_a_block_leaves_what_was_done_in_it() -> None:
    limiter = Limiter("10/h & in_flight 10 hold=60s")
    with limiter.reserve("k", 4, at_ns=0) as reservation:
        assert reservation.settle(1).outcome is Outcome.ALLOWED
        assert (reservation.actual, repr(reservation)) == (1, "<Reservation of 4: settled>")
        reservation.actual = 0
        assert reservation.release().given_back == 4
    assert limiter.peek("k", at_ns=0).remaining == 9


def test_each_is_done_once() -> None:
    limiter = Limiter("10/h & in_flight 10 hold=60s")
    reservation = limiter.reserve("k", 4, at_ns=0)
    assert limiter.check("k", 4, at_ns=0)
    assert reservation.settle(0).remaining == 2
    with pytest.raises(RuntimeError, match="the reservation is settled already: expected it once"):
        reservation.settle(0)
    assert reservation.release().remaining == 6
    with pytest.raises(RuntimeError, match="the reservation is released already: expected it once"):
        reservation.release()
    with pytest.raises(RuntimeError, match="released already: expected its renewal before"):
        reservation.renew()
    with reservation:
        pass
    assert limiter.peek("k", at_ns=0).remaining == 6


def test_of_several_threads_one_settles() -> None:
    limiter = Limiter("1000/h")
    assert limiter.check("k", 500, at_ns=0)
    reservations = [limiter.reserve("k", at_ns=0) for _ in range(400)]
    settled: list[int] = []
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for number, reservation in enumerate(reservations):
            try:
                reservation.settle(0)
            except RuntimeError:
                continue
            settled.append(number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(settled) == [*range(400)]
    assert limiter.peek("k", at_ns=0).remaining == 500


def test_never_more_are_in_flight() -> None:
    limiter = Limiter("in_flight 2 hold=60s")
    inside, most, lock = [0], [0], threading.Lock()
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        served = 0
        while served < 200:
            reservation = limiter.reserve("k")
            if not reservation:
                continue
            with reservation:
                with lock:
                    inside[0] += 1
                    most[0] = max(most[0], inside[0])
                served += 1
                with lock:
                    inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= most[0] <= 2
    assert limiter.reserve("k", 2)


def test_a_refused_reservation_is_false_and_nothing_else() -> None:
    limiter = Limiter("10/h")
    refused = limiter.reserve("k", 11, at_ns=0)
    assert not refused
    assert refused.decision.outcome is Outcome.NEVER
    assert "<Reservation refused: <Decision never" in repr(refused)
    uses: list[Callable[[], object]] = [
        refused.__enter__,
        lambda: refused.settle(0),
        refused.release,
        refused.renew,
        lambda: bytes(refused),
        lambda: refused.cost,
    ]
    for use in uses:
        with pytest.raises(RateLimitExceeded, match="'k': can never be allowed") as raised:
            use()
        assert (raised.value.key, raised.value.decision) == ("k", refused.decision)
    assert limiter.peek("k", at_ns=0).remaining == 10


def test_options_are_those_of_decide() -> None:
    queue = Limiter("leaky_queue 10/s queue=5")
    assert queue.reserve("k", 2, at_ns=0)
    late = queue.reserve(b"k", at_ns=0, within_ns=10**8)
    assert not late
    assert late.decision.retry_after_ns == 10**8
    assert queue.reserve("k", at_ns=0, with_next=True).decision.next_after_ns


def test_times_are_the_reservations_unless_given() -> None:
    limiter = Limiter("10/s")
    reservation = limiter.reserve("k", 10, at_ns=SECOND)
    assert reservation.at_ns == SECOND
    # At 1.5 s half of the units have drained, so 5 come back.
    assert reservation.settle(4, at_ns=SECOND + SECOND // 2).reset_after == 0
    reservation.at_ns = limiter.max_now_ns + 1
    assert reservation.release().outcome is Outcome.CLOCK_RANGE
    assert limiter.reserve("k").at_ns is None


def test_a_permit_lives_as_long_as_it_is_renewed() -> None:
    limiter = Limiter("in_flight 1 hold=10s")
    reservation = limiter.reserve("k", at_ns=0)
    for second in range(10, 100, 10):
        assert reservation.renew(at_ns=second * SECOND)
        assert not limiter.check("k", at_ns=second * SECOND)
    assert reservation.release(at_ns=95 * SECOND).given_back == 1
    late = limiter.reserve("k", at_ns=100 * SECOND)
    assert limiter.check("k", at_ns=120 * SECOND)
    # It has passed, and another has its place.
    assert late.renew(at_ns=121 * SECOND).outcome is Outcome.DENIED


@pytest.mark.parametrize("policy", ["1/h", "in_flight 1 hold=1h"])
def test_those_who_wait_take_what_came_back(policy: str) -> None:
    limiter = Limiter(policy)
    reservation = limiter.reserve("k")

    async def main() -> None:
        task = asyncio.create_task(limiter.acquire("k"))
        await asyncio.sleep(0)
        assert _native.waits(limiter)[0] == 1
        with reservation:
            reservation.actual = 0
        for _ in range(10):
            await asyncio.sleep(0)
        assert task.done()
        assert await task

    asyncio.run(main())


def test_its_bytes_are_of_use_to_another_process(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    policy = "10/h & in_flight 10 hold=1h"
    limiter = Limiter(policy, path=path)
    data = bytes(limiter.reserve("k", 4))

    def child() -> int:
        reservation = Reservation.from_bytes(Limiter(policy, path=path), data)
        assert reservation
        assert (reservation.cost, reservation.key, reservation.decision.remaining) == (4, None, 6)
        with reservation:
            reservation.actual = 1
        return 7

    assert in_a_child(child) == 7
    assert limiter.peek("k").remaining == 9


def test_of_another_limiter_nothing_comes_back() -> None:
    data = bytes(Limiter("10/h").reserve("k", 4, at_ns=0))
    other = Limiter("10/h")
    assert other.check("k", 4, at_ns=0)
    reservation = Reservation.from_bytes(other, data, at_ns=0)
    reservation.settle(0)
    assert other.peek("k", at_ns=0).remaining == 6


def test_it_is_not_copied_by_accident() -> None:
    reservation = Limiter("10/h").reserve("k")
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a reservation cannot be pickled or copied: expected bytes"):
            copied(reservation)


BAD: list[tuple[Callable[[Limiter, Any], object], type[Exception], str]] = [
    (lambda x, _: x.reserve(3), TypeError, "key is of type int: expected str or bytes"),  # type: ignore[arg-type]
    (lambda x, _: x.reserve("k", -1), ValueError, "cost is -1: expected 0 to 4294967295"),
    (lambda x, _: x.reserve("k", at_ns=-1), ValueError, "at_ns is -1"),
    (lambda x, _: x.reserve("k", within_ns="0"), TypeError, "within_ns is of type str"),  # type: ignore[arg-type]
    (lambda x, _: x.reserve("k", with_next=1), TypeError, "with_next is of type int: expected bool"),  # type: ignore[arg-type]
    (lambda _, r: setattr(r, "actual", -1), ValueError, "actual is -1: expected 0 to 4294967295"),
    (lambda _, r: setattr(r, "actual", 2**32), ValueError, "actual is 4294967296"),
    (lambda _, r: setattr(r, "actual", 1.5), TypeError, "actual is of type float: expected int, 0 to"),
    (lambda _, r: r.settle(None), TypeError, "actual is of type NoneType"),
    (lambda _, r: r.settle(-1), ValueError, "actual is -1"),
    (lambda _, r: r.settle(0, at_ns=-1), ValueError, "at_ns is -1"),
    (lambda _, r: r.release(at_ns="0"), TypeError, "at_ns is of type str"),
    (lambda _, r: r.renew(at_ns=0.5), TypeError, "at_ns is of type float"),
    (lambda _, __: Reservation(), TypeError, "expected Limiter.reserve, or from_bytes"),
    (lambda x, _: Reservation.from_bytes(x, "k"), TypeError, "data is of type str: expected bytes"),  # type: ignore[arg-type]
    (
        lambda x, _: Reservation.from_bytes(x, b"k"),
        ValueError,
        "1 bytes are no reservation: expected 24 and 40",
    ),
    (lambda x, r: Reservation.from_bytes(x, bytes(r)[:-1]), ValueError, "are no reservation"),
    (lambda x, r: Reservation.from_bytes(x, bytes(r), at_ns=-1), ValueError, "at_ns is -1"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_a_bad_argument_does_nothing(number: int) -> None:
    limiter = Limiter("10/h & in_flight 10 hold=60s")
    reservation = limiter.reserve("k", 4, at_ns=0)
    bad, kind, text = BAD[number]
    with pytest.raises(kind, match=text):
        bad(limiter, reservation)
    assert limiter.peek("k", at_ns=0).remaining == 6
    assert reservation.settle(0).outcome is Outcome.ALLOWED
    assert reservation.release().given_back == 4
    assert limiter.peek("k", at_ns=0).remaining == 10
