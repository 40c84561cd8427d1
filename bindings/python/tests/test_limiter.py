"""The calls that decide one request, and every argument that they refuse."""

from __future__ import annotations

import copy
import datetime
import inspect
import pickle
import re
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ratecell
from ratecell import Limiter, Outcome, PolicyError

SECOND = 10**9


def test_a_decision_says_everything() -> None:
    limiter = Limiter("3/s")
    decision = limiter.check("user:42", at_ns=0)
    assert decision
    assert decision.allowed
    assert (decision.outcome, decision.limit, decision.remaining) == (Outcome.ALLOWED, 3, 2)
    assert (decision.retry_after, decision.retry_after_ns) == (0.0, 0)
    assert (decision.reset_after, decision.reset_after_ns) == (0.333333334, 333_333_334)
    assert (decision.delay, decision.delay_ns, decision.layer) == (0.0, 0, 0)
    denied = limiter.check("user:42", 3, at_ns=0)
    assert not denied
    assert not denied.allowed
    assert (denied.outcome, denied.remaining) == (Outcome.DENIED, 2)
    assert (denied.retry_after, denied.retry_after_ns) == (0.333333334, 333_333_334)
    assert repr(denied) == (
        "<Decision denied: limit=3 remaining=2 retry_after=0.333333334 reset_after=0.333333334>"
    )


def test_retry_after_is_exact() -> None:
    limiter = Limiter("3/s")
    assert limiter.check("k", 3, at_ns=0)
    after = limiter.check("k", at_ns=0).retry_after_ns
    assert after is not None
    assert not limiter.check("k", at_ns=after - 1)
    assert limiter.check("k", at_ns=after)


def test_never_and_the_end_of_the_clock_have_no_retry() -> None:
    limiter = Limiter("3/s")
    never = limiter.check("k", 4, at_ns=0)
    assert (never.outcome, never.retry_after, never.retry_after_ns) == (Outcome.NEVER, None, None)
    past = limiter.check("k", at_ns=limiter.max_now_ns + 1)
    assert (past.outcome, past.retry_after) == (Outcome.CLOCK_RANGE, None)
    assert "retry_after=None" in repr(never)


def test_a_queue_tells_the_delay_and_layers_the_tightest() -> None:
    queue = Limiter("leaky_queue 10/s queue=5")
    assert [queue.check("k", at_ns=0).delay_ns for _ in range(3)] == [0, 10**8, 2 * 10**8]
    layers = Limiter("10/s & fixed_window 3/1h")
    assert layers.check("k", at_ns=0).layer == 1
    assert layers.capacity == 3


def test_a_delay_that_is_too_long_takes_no_place() -> None:
    queue = Limiter("leaky_queue 10/s queue=5")
    assert queue.check("k", 2, at_ns=0)
    late = queue.decide("k", 1, within_ns=10**8, at_ns=0)
    assert (late.outcome, late.remaining, late.retry_after_ns) == (Outcome.DENIED, 4, 10**8)
    assert queue.decide("k", 1, within_ns=2 * 10**8, at_ns=0).delay_ns == 2 * 10**8
    assert queue.decide("k", 1, within_ns=10**8, at_ns=2 * 10**8).delay_ns == 10**8
    assert queue.decide("other", 2, within_ns=99_999_999).outcome is Outcome.NEVER
    assert queue.decide("other", 2, within_ns=10**8)


def test_str_is_its_utf_8() -> None:
    limiter = Limiter("10/s")
    for number, (text, encoded) in enumerate(
        [("user:42", b"user:42"), ("schlüssel", "schlüssel".encode()), ("", b"")]
    ):
        assert limiter.check(text, 4, at_ns=number).remaining == 6
        assert limiter.check(encoded, 4, at_ns=number).remaining == 2


@given(st.text(st.characters(exclude_categories=["Cs"])), st.binary(), st.integers(0, 12))
def test_a_key_is_any_text_or_bytes(text: str, data: bytes, cost: int) -> None:
    limiter = Limiter("10/s", max_keys=10)
    for key in (text, data):
        limiter.forget(key)
        decision = limiter.check(key, cost, at_ns=0)
        assert decision.outcome == (Outcome.ALLOWED if cost <= 10 else Outcome.NEVER)
        assert decision.remaining == (10 - cost if cost <= 10 else 10)


def test_decisions_are_values() -> None:
    one, same, other = (Limiter("3/s").check("k", cost, at_ns=0) for cost in (1, 1, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != object()
    assert len({one, same, other}) == 2
    with pytest.raises(AttributeError):
        one.limit = 5  # type: ignore[misc]


def test_a_decision_that_is_kept_stays_as_it_was() -> None:
    limiter = Limiter("100/h")
    first = limiter.check("k", at_ns=0)
    alias = first
    kept = [limiter.check("k", at_ns=0) for _ in range(20)]
    del first
    for _ in range(20):
        limiter.check("other", at_ns=0)
        limiter.check("other")
    assert alias.remaining == 99
    assert [decision.remaining for decision in kept] == list(range(98, 78, -1))
    assert len({id(decision) for decision in (alias, *kept)}) == 21


def test_threads_keep_their_decisions() -> None:
    limiter = Limiter("1000000/100d")
    wrong: list[object] = []

    def work(cost: int) -> None:
        for number in range(1, 3000):
            decision = limiter.check(f"user:{cost}", cost, at_ns=0)
            if decision.remaining != 1_000_000 - number * cost:
                wrong.append((cost, number, decision))

    threads = [threading.Thread(target=work, args=(cost,)) for cost in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_every_way_to_call_check_is_the_same() -> None:
    limiter = Limiter("20/h")
    assert limiter.check("k").remaining == 19
    assert limiter.check(b"k").remaining == 18
    assert limiter.check("k", 2).remaining == 16
    assert limiter.check("k", cost=2).remaining == 14
    assert limiter.check(key="k").remaining == 13
    assert limiter.check(key="k", cost=2).remaining == 11
    assert limiter.check(cost=2, key="k").remaining == 9
    assert limiter.check(*("k", 2)).remaining == 7
    assert limiter.check(type("Name", (str,), {})("k")).remaining == 6
    assert Limiter.check(limiter, "k").remaining == 5
    with pytest.raises(TypeError):
        Limiter.check("k")  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match="multiple values"):
        limiter.check("k", key="k")  # type: ignore[misc]
    assert limiter.peek("k").remaining == 5
    assert limiter.check("k", at_ns=None).remaining == 4
    assert limiter.check("k", 2, at_ns=None).remaining == 2
    assert limiter.check(at_ns=None, key="k").remaining == 1
    assert limiter.check("k", at_ns=None, cost=1).remaining == 0
    assert str(inspect.signature(limiter.check)) == "(key, cost=1, *, at_ns=None, zone=None)"


def test_every_way_to_give_check_the_time_is_the_same() -> None:
    limiter = Limiter("9/h")
    assert limiter.check("k", 2, at_ns=0).remaining == 7
    assert limiter.check("k", cost=2, at_ns=0).remaining == 5
    assert limiter.check("k", at_ns=0, cost=2).remaining == 3
    assert limiter.check(b"k", at_ns=0).remaining == 2
    assert limiter.check(key="k", at_ns=0).remaining == 1
    assert limiter.decide("k", at_ns=0).remaining == 0
    # An hour later all of it is back.
    assert limiter.check("k", at_ns=3600 * SECOND).remaining == 8


def test_peek_takes_nothing_and_a_charge_takes_what_was_spent() -> None:
    limiter = Limiter("5/h")
    assert limiter.check("k", 2, at_ns=0).remaining == 3
    assert limiter.peek("k", at_ns=0).remaining == 3
    assert limiter.decide("k", 9, at_ns=0, charge=True).remaining == 0
    assert not limiter.check("k", at_ns=0)


def test_the_clock_is_the_limiters_own_where_none_is_given() -> None:
    limiter = Limiter("5/h")
    before = limiter.now_ns()
    assert limiter.check("k", 2).remaining == 3
    assert limiter.check("k", 0, at_ns=limiter.now_ns()).remaining == 3
    assert limiter.peek("k").remaining == 3
    assert limiter.decide("k", 1, charge=True).remaining == 2
    assert limiter.decide("k", charge=True).remaining == 1
    assert limiter.check("k").remaining == 0
    assert limiter.now_ns() >= before
    assert limiter.epoch.tzinfo == datetime.timezone.utc
    assert limiter.epoch.weekday() == 0
    wall = limiter.epoch + datetime.timedelta(microseconds=limiter.now_ns() / 1000)
    assert abs(wall - datetime.datetime.now(datetime.timezone.utc)) < datetime.timedelta(minutes=1)


def test_forget_makes_a_key_new() -> None:
    limiter = Limiter("2/h")
    assert limiter.check("k", 2)
    assert limiter.forget("k") is True
    assert limiter.forget("k") is False
    assert limiter.check(b"k", 2)


def test_stats_count() -> None:
    limiter = Limiter("2/h", max_keys=1000)
    for number in range(100):
        assert limiter.check(f"user:{number}", at_ns=0)
    stats = limiter.stats(at_ns=0)
    assert (stats.live, stats.evicted, stats.forgiven, stats.exhausted) == (100, 0, 0, 0)
    assert (stats.shared, stats.denied_full, stats.allowed_full) == (0, 0, 0)
    assert stats.slots >= 1000
    assert stats.bytes >= 16 * stats.slots
    assert stats == limiter.stats(at_ns=0) == limiter.stats(at_ns=0, exact=True)
    assert stats.live_error == 0
    assert limiter.stats(at_ns=10**13).live == 0
    assert limiter.stats().live <= 100
    assert limiter.stats(exact=True).live <= 100
    assert repr(stats).startswith("<Stats: live=100 slots=")


def test_the_stats_of_a_large_table_are_estimated() -> None:
    limiter = Limiter("2/h", max_keys=1_000_000)
    for number in range(1000):
        assert limiter.check(f"user:{number}", at_ns=0)
    exact = limiter.stats(at_ns=0, exact=True)
    assert (exact.live, exact.live_error) == (1000, 0)
    stats = limiter.stats(at_ns=0)
    assert 0 < stats.live_error < 1000
    assert abs(stats.live - 1000) <= stats.live_error


@pytest.mark.parametrize(
    ("when_full", "counter"),
    [
        ("evict", "evicted"),
        ("share", "shared"),
        ("deny", "denied_full"),
        ("allow", "allowed_full"),
        (None, "evicted"),
    ],
)
def test_a_full_table_does_as_it_was_told(when_full: Any, counter: str) -> None:
    limiter = Limiter("1/h", max_keys=1, when_full=when_full)
    for number in range(500):
        limiter.check(f"user:{number}", at_ns=0)
    counters = ("evicted", "shared", "denied_full", "allowed_full")
    assert [name for name in counters if getattr(limiter.stats(at_ns=0), name)] == [counter]


def test_another_policy_on_the_same_keys() -> None:
    basic = Limiter("3/h")
    gold = basic.with_policy("10/h")
    assert isinstance(gold, Limiter)
    assert basic.check("k", 2, at_ns=0)
    assert gold.check("k", 0, at_ns=0).remaining < 10
    assert (basic.policy, gold.policy) == ("3/h", "10/h")
    with pytest.raises(ValueError, match="the region's words"):
        basic.with_policy("fixed_window 3/1h")
    with pytest.raises(PolicyError, match="zero_limit"):
        basic.with_policy("0/s")


def test_a_subclass_keeps_its_class() -> None:
    class Mine(Limiter):
        pass

    assert type(Mine("1/s").with_policy("2/s")) is Mine
    assert Mine("3/s").check("k", cost=2).remaining == 1
    assert repr(Mine("100/s burst=200")) == "<Limiter '100/s burst=200'>"


def test_a_limiter_is_not_copied_by_accident() -> None:
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="expected Limiter.policy, path=FILE. in each process"):
            copied(Limiter("1/s"))


def test_a_limiter_is_freed_with_its_last_reference() -> None:
    limiter = Limiter("1/s")
    seen = weakref.ref(limiter)
    beside = limiter.with_policy("2/s")
    assert seen() is limiter
    del limiter
    assert seen() is None
    assert beside.check("k")


def test_a_policy_that_is_refused_says_where() -> None:
    with pytest.raises(ValueError, match="gcra has no option `brust`: expected burst") as refused:
        Limiter("10/s brust=20")
    assert isinstance(refused.value, PolicyError)
    assert (refused.value.code, refused.value.column) == ("syntax", 6)


BAD: list[tuple[Callable[[Limiter], object], type[Exception], str]] = [
    (lambda x: x.check(3), TypeError, "key is of type int: expected str or bytes"),  # type: ignore[arg-type]
    (lambda x: x.check(None), TypeError, "key is of type NoneType"),  # type: ignore[arg-type]
    (lambda x: x.check(bytearray(b"k")), TypeError, "key is of type bytearray"),  # type: ignore[arg-type]
    (lambda x: x.check("\ud800"), UnicodeEncodeError, "surrogates not allowed"),
    (lambda x: x.check("k", -1), ValueError, "cost is -1: expected 0 to 4294967295"),
    (lambda x: x.check("k", 2**32), ValueError, "cost is 4294967296: expected 0 to 4294967295"),
    (lambda x: x.check("k", 1.5), TypeError, "cost is of type float: expected int"),  # type: ignore[arg-type]
    (lambda x: x.check("k", None), TypeError, "cost is of type NoneType: expected int"),  # type: ignore[arg-type]
    (lambda x: x.check("k", at_ns=-1), ValueError, "at_ns is -1: expected 0 to"),
    (lambda x: x.check("k", at_ns=2**64), ValueError, "at_ns is 18446744073709551616"),
    (lambda x: x.check("k", at_ns=0.5), TypeError, "at_ns is of type float"),  # type: ignore[arg-type]
    (lambda x: x.check("k", 1, 0), TypeError, "takes from 1 to 2 positional arguments but 3 were given"),  # type: ignore[call-arg]
    (lambda x: x.check("k", 1, cost=1), TypeError, "multiple values for argument 'cost'"),  # type: ignore[misc]
    (lambda x: x.check("k", at_ns=0, price=1), TypeError, "price"),  # type: ignore[call-arg]
    (lambda x: x.decide("k", within_ns=0, charge=True), ValueError, "charge and within_ns are both given"),
    (lambda x: x.decide("k", charge=1), TypeError, "charge is of type int: expected bool"),  # type: ignore[arg-type]
    (lambda x: x.stats(exact=1), TypeError, "exact is of type int: expected bool"),  # type: ignore[arg-type]
    (lambda x: x.decide_many(["k"], within_ns=0, charge=True), ValueError, "charge and within_ns are both"),
    (lambda x: x.peek("k", at_ns=-1), ValueError, "at_ns is -1"),
    (lambda x: x.check(), TypeError, "missing 1 required positional argument: 'key'"),  # type: ignore[call-arg]
    (lambda x: x.check("k", price=1), TypeError, "price"),  # type: ignore[call-arg]
    (lambda x: x.peek(1), TypeError, "key is of type int"),  # type: ignore[arg-type]
    (lambda x: x.decide("k", -1, charge=True), ValueError, "cost is -1"),
    (lambda x: x.forget(1), TypeError, "key is of type int"),  # type: ignore[arg-type]
    (lambda x: x.stats(at_ns="0"), TypeError, "at_ns is of type str"),  # type: ignore[arg-type]
    (lambda _: Limiter("1/s", max_keys=0), ValueError, "max_keys is 0: expected 1 to"),
    (lambda _: Limiter("1/s", max_keys=-1), ValueError, "max_keys is -1: expected 1 to"),
    (lambda _: Limiter("1/s", max_keys="9"), TypeError, "max_keys is of type str: expected int"),  # type: ignore[arg-type]
    (lambda _: Limiter("1/s", max_keys=10**15), MemoryError, "expected a smaller max_keys"),
    (lambda _: Limiter("1/s", when_full="wait"), ValueError, "when_full is 'wait': expected 'evict'"),  # type: ignore[arg-type]
    (lambda _: Limiter("1/s", when_full=1), TypeError, "when_full is of type int"),  # type: ignore[arg-type]
    (lambda _: Limiter("1/s", path=3), TypeError, "path is of type int: expected str or os.PathLike"),  # type: ignore[arg-type]
    (
        lambda _: Limiter("1/s", path="a\0b"),
        ValueError,
        "path has a NUL after 1 bytes: expected a path without",
    ),
    (lambda x: x.decide("k", 1, within_ns=-1), ValueError, "within_ns is -1: expected 0 to"),
    (lambda x: x.decide("k", 1, within_ns=0.5), TypeError, "within_ns is of type float"),  # type: ignore[arg-type]
    (lambda _: Limiter("1/s", 5), TypeError, "positional"),  # type: ignore[call-arg]
    (lambda _: Limiter(5), TypeError, "policy is of type int: expected str"),  # type: ignore[arg-type]
    (lambda _: Limiter(""), ValueError, "expected"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_arguments_are_named_and_charge_nothing(number: int) -> None:
    call, error, text = BAD[number]
    limiter = Limiter("3/s")
    with pytest.raises(error) as refused:
        call(limiter)
    assert re.search(text, str(refused.value))
    assert limiter.stats(at_ns=0).live == 0


def test_what_is_next_is_said_where_it_is_asked_for() -> None:
    limiter = Limiter("10/m")
    plain = limiter.check("k", 4, at_ns=0)
    assert (plain.next_after, plain.next_after_ns) == (None, None)
    asked = limiter.decide("k", 4, at_ns=0, with_next=True)
    assert (asked.remaining, asked.next_after, asked.next_after_ns) == (2, 6.0, 6 * SECOND)
    assert not limiter.check("k", 3, at_ns=6 * SECOND - 1)
    assert limiter.check("k", 3, at_ns=6 * SECOND)
    # Of a key that is as good as never used there is nothing to wait for.
    assert limiter.decide("other", 0, at_ns=0, with_next=True).next_after is None
    batch = limiter.decide_many(["a", "a"], 5, at_ns=0, with_next=True)
    assert batch.next_after_ns.tolist() == [6 * SECOND, 6 * SECOND]
    assert limiter.decide_many(["a"], 0, at_ns=0).next_after_ns.tolist() == [0]


def test_a_full_table_is_told_from_the_policy() -> None:
    limiter = Limiter("1/h", max_keys=1, when_full="deny")
    decisions = [limiter.check(f"user:{number}", at_ns=0) for number in range(500)]
    assert [d.without_place for d in decisions] == [not d for d in decisions]
    placed = next(number for number, decision in enumerate(decisions) if decision)
    denied = limiter.check(f"user:{placed}", at_ns=0)
    assert (bool(denied), denied.without_place) == (False, False)


def test_a_batch_decides_as_single_requests_do() -> None:
    queue = Limiter("leaky_queue 1/s queue=5")
    assert queue.decide_many(["k", "k"], at_ns=0, within_ns=0).allowed == b"\1\0"
    assert queue.decide_many(["k"], 9, at_ns=0, charge=True)[0].remaining == 0


def test_everything_public_is_documented() -> None:
    for name in ratecell.__all__:
        thing = getattr(ratecell, name)
        if thing is ratecell.Style:
            # A type alias has no text of its own.
            continue
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member in vars(thing).keys() | {m for base in thing.__mro__[:-1] for m in vars(base)}:
                if not member.startswith("_") and issubclass(
                    thing, Limiter | ratecell.Decision | ratecell.Decisions | ratecell.Stats
                ):
                    assert getattr(thing, member).__doc__, f"{name}.{member}"
