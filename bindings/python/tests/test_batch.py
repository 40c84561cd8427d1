"""Batches: the same decisions as one by one, from every kind of keys."""

from __future__ import annotations

import array
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratecell import Decisions, Limiter, Outcome

KEYS = ["a", "b", b"a", "ä", "a", b"", "a"]


@given(st.lists(st.sampled_from("abc")), st.integers(0, 4))
def test_a_batch_decides_as_single_checks_do(keys: list[str], cost: int) -> None:
    one, many = Limiter("3/s", max_keys=10), Limiter("3/s", max_keys=10)
    assert list(many.decide_many(keys, cost, at_ns=5)) == [one.check(key, cost, at_ns=5) for key in keys]


@pytest.mark.parametrize("kind", [list, tuple, iter, lambda keys: (key for key in keys)])
def test_any_iterable(kind: Callable[[Any], Any]) -> None:
    decisions = Limiter("3/h").decide_many(kind(KEYS))
    assert [bool(decision) for decision in decisions] == [True, True, True, True, True, True, False]


def test_the_columns() -> None:
    decisions = Limiter("2/s").decide_many(["a", "a", "b", "a"], at_ns=0)
    assert decisions.allowed == b"\1\1\1\0"
    assert decisions.allowed_count == 3
    assert not decisions.all_allowed
    assert decisions.denied() == [3]
    assert decisions.remaining.tolist() == [1, 0, 1, 0]
    assert decisions.retry_after_ns.tolist() == [0, 0, 0, 5 * 10**8]
    assert decisions.reset_after_ns.tolist() == [5 * 10**8, 10**9, 5 * 10**8, 10**9]
    assert decisions.delay_ns.tolist() == [0, 0, 0, 0]
    assert np.asarray(decisions.remaining).dtype == np.uint64
    assert np.frombuffer(decisions.allowed, dtype=bool).sum() == 3
    assert repr(decisions) == "<Decisions: 3 of 4 allowed>"


def test_the_longest_wait_is_not_never() -> None:
    limiter = Limiter("fixed_window 3/4611686018427387904ns horizon=1s")
    assert limiter.check("k", 3, at_ns=14 * 10**18)
    # The window ends 2^64 ns after the epoch; a wait is told up to 2^64-2 ns.
    early, never = limiter.check("k", at_ns=1), limiter.check("k", 4, at_ns=1)
    assert (early.outcome, early.retry_after_ns) == (Outcome.DENIED, 2**64 - 2)
    assert early.retry_after is not None
    assert (never.outcome, never.retry_after_ns, never.retry_after) == (Outcome.NEVER, None, None)
    assert limiter.decide_many(["k"], at_ns=1).retry_after_ns.tolist() == [2**64 - 2]
    assert limiter.decide_many(["k"], 4, at_ns=1).retry_after_ns.tolist() == [2**64 - 1]


def test_it_is_a_sequence() -> None:
    decisions = Limiter("2/s").decide_many(["a", "a", "a"], at_ns=0)
    assert len(decisions) == 3
    assert [decisions[0].remaining, decisions[1].remaining, decisions[-1].allowed] == [1, 0, False]
    assert isinstance(decisions, Sequence)
    for index in (3, -4, 10**9, 2**70, -(2**70)):
        with pytest.raises(IndexError, match="of 3: out of range"):
            decisions[index]
    with pytest.raises(TypeError, match="index is of type str: expected int or slice"):
        decisions["1"]  # type: ignore[call-overload]


@given(st.slices(8), st.integers(-9, 9), st.integers(-9, 9))
def test_it_is_taken_apart_as_a_list_is(part: slice, start: int, stop: int) -> None:
    decisions = Limiter("3/s").decide_many(list("aababcab"), at_ns=0)
    listed = list(decisions)
    taken = decisions[part]
    assert isinstance(taken, Decisions)
    assert list(taken) == listed[part]
    assert list(reversed(decisions)) == listed[::-1]
    for value in (*listed, Limiter("3/s").check("k", 3, at_ns=0), "a"):
        assert (value in decisions) == (value in listed)
        assert decisions.count(value) == listed.count(value)  # type: ignore[arg-type]
        if value in listed[start:stop]:
            assert decisions.index(value, start, stop) == listed.index(value, start, stop)
        else:
            with pytest.raises(ValueError, match="is not among the 8 decisions"):
                decisions.index(value, start, stop)
    assert decisions.index(listed[3]) == listed.index(listed[3])


def test_a_column_is_made_once_and_is_everyones_own() -> None:
    decisions = Limiter("2/s").decide_many(["a", "a", "a"], at_ns=0)
    assert decisions.allowed is decisions.allowed
    first = decisions.remaining
    assert first.obj is decisions.remaining.obj
    assert first.readonly
    first.release()
    assert decisions.remaining.tolist() == [1, 0, 0]


def test_it_has_no_truth() -> None:
    with pytest.raises(TypeError, match="expected .all_allowed"):
        bool(Limiter("2/s").decide_many(["a"]))
    assert Limiter("2/s").decide_many([]).all_allowed


def test_never_is_the_largest_number() -> None:
    assert Limiter("2/s").decide_many(["a"], 3).retry_after_ns.tolist() == [2**64 - 1]


FIXED = [b"user", b"good", b"user", b"user"]


@pytest.mark.parametrize(
    "keys",
    [
        np.array(FIXED),
        np.frombuffer(b"".join(FIXED), dtype=np.uint8).reshape(4, 4),
        np.frombuffer(b"".join(FIXED), dtype=np.uint32),
        array.array("I", b"".join(FIXED)),
        memoryview(b"".join(FIXED)).cast("B", (4, 4)),
        np.array([[4, 0], [5, 0], [4, 0], [4, 0]], dtype=np.uint16).repeat(2, axis=0)[::2],
    ],
    ids=["S", "rows", "numbers", "array", "memoryview", "strided"],
)
def test_memory_of_fixed_keys(keys: Any) -> None:
    limiter = Limiter("2/h")
    assert limiter.decide_many(keys).allowed == b"\1\1\1\0"
    row = memoryview(keys)
    first = keys.tobytes()[: row.nbytes // 4]
    assert limiter.peek(first).remaining == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_buffer_with_a_width(kind: Callable[[bytes], Any]) -> None:
    limiter = Limiter("2/h")
    assert limiter.decide_many(kind(b"useruserrosesuser"[:16]), width=4).allowed == b"\1\1\1\1"
    assert limiter.peek(b"user").remaining == 0
    assert len(limiter.decide_many(kind(b""), width=4)) == 0


def test_arrays_of_nothing_are_no_keys() -> None:
    for keys in (np.zeros(0, "S5"), np.zeros((0, 4)), np.zeros((0, 0))):
        assert len(Limiter("2/h").decide_many(keys)) == 0


def test_numpys_padding_is_no_part_of_a_key() -> None:
    limiter = Limiter("2/h")
    keys = np.array([b"a", b"long"])
    assert limiter.decide_many(keys).all_allowed
    assert [limiter.peek(key).remaining for key in keys] == [1, 1]
    assert limiter.peek(b"a").remaining == 1


def test_with_a_width_every_byte_is_part_of_a_key() -> None:
    limiter = Limiter("2/h")
    assert limiter.decide_many(np.array([b"ab\0\0", b"ab"]), width=4).all_allowed
    assert limiter.peek(b"ab\0\0").remaining == 0
    assert limiter.peek(b"ab").remaining == 2
    assert limiter.decide_many(np.array([b"ab\0\0cd"]), width=2).all_allowed
    assert limiter.peek(b"\0\0").remaining == 1


def test_a_number_is_known_by_the_bytes_it_has_in_memory() -> None:
    limiter = Limiter("2/h")
    for kind in ("i4", "i8"):
        assert limiter.decide_many(np.array([5], dtype=kind))[0].remaining == 1
    assert limiter.peek("5").remaining == 2
    assert limiter.peek((5).to_bytes(4, sys.byteorder)).remaining == 1


def test_numpys_text_and_objects_are_iterated() -> None:
    limiter = Limiter("2/h")
    assert limiter.decide_many(np.array(["a", "long"])).all_allowed
    assert limiter.decide_many(np.array(["a", b"long"], dtype=object)).all_allowed
    assert limiter.decide_many(["a", "long"]).allowed_count == 0


BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ("user", {}, TypeError, "keys is of type str: expected an iterable"),
    (b"user", {}, TypeError, "keys is of type bytes: expected an iterable"),
    (bytearray(b"user"), {}, TypeError, "keys is a buffer of single bytes: expected width="),
    (3, {}, TypeError, "keys is of type int: expected an iterable"),
    (["a", 3], {}, TypeError, r"keys\[1\] is of type int: expected str or bytes"),
    (["a", "\ud800"], {}, UnicodeEncodeError, "surrogates"),
    (["a"], {"width": 4}, TypeError, "keys is of type list: expected a buffer"),
    (b"user", {"width": 3}, ValueError, "keys is a buffer of 4 bytes: expected a multiple of the width, 3"),
    (b"user", {"width": 0}, ValueError, "width is 0: expected 1 to"),
    (b"user", {"width": "4"}, TypeError, "width is of type str: expected int"),
    (np.zeros((2, 2, 2)), {}, TypeError, "keys is a buffer of 3 dimensions: expected 1 or 2"),
    (np.zeros((4, 0)), {}, ValueError, "keys is an array of keys of 0 bytes: expected at least 1"),
    (np.zeros(()), {}, TypeError, "keys is a buffer of 0 dimensions"),
    (["a"], {"cost": -1}, ValueError, "cost is -1"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_keys_are_named_and_charge_nothing(number: int) -> None:
    keys, options, error, text = BAD[number]
    limiter = Limiter("3/s")
    with pytest.raises(error, match=text):
        limiter.decide_many(keys, **options)
    assert limiter.stats(at_ns=0).live == 0


def test_an_iterables_own_error_is_passed_on() -> None:
    def keys() -> Any:
        yield "a"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Limiter("3/s").decide_many(keys())


def test_a_long_batch_decides_the_same() -> None:
    keys = [f"user:{number % 5000}" for number in range(20_000)]
    limiter = Limiter("3/h")
    assert limiter.decide_many(keys).allowed_count == 15_000
    assert limiter.decide_many(keys, 2).allowed_count == 0
