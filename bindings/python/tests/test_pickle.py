"""Decisions go to other processes, and are copied."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from ratecell import Answer, Decision, Decisions, Limiter, RateLimitExceeded, _native, fields

COPIES = [copy.copy, copy.deepcopy, *(lambda x, p=p: pickle.loads(pickle.dumps(x, p)) for p in range(6))]
copies = pytest.mark.parametrize("copied", COPIES)


@copies
def test_a_decision_says_the_same(copied: Callable[[Any], Any]) -> None:
    limiter = Limiter("10/s & leaky_queue 3/s queue=5")
    for cost, now in [(1, 0), (4, 0), (3, 0), (9, 0), (1, limiter.max_now_ns + 1)]:
        decision = limiter.check("k", cost, at_ns=now)
        same = copied(decision)
        assert type(same) is Decision
        assert same == decision
        assert (same.delay_ns, same.layer) == (decision.delay_ns, decision.layer)
        assert repr(same) == repr(decision)
        assert fields([Answer(limiter, same)]) == fields([Answer(limiter, decision)])


@copies
def test_what_is_next_and_the_notes_are_copied(copied: Callable[[Any], Any]) -> None:
    asked = Limiter("10/s").decide("k", at_ns=0, with_next=True)
    assert copied(asked).next_after_ns == asked.next_after_ns == 10**8
    full = Limiter("1/h", max_keys=1, when_full="deny")
    denied = next(d for n in range(500) if (d := full.check(str(n), at_ns=0)).without_place)
    assert copied(denied).without_place


@copies
def test_a_batch_says_the_same(copied: Callable[[Any], Any]) -> None:
    batch = Limiter("2/s").decide_many(["a", "a", "b", "a"])
    same = copied(batch)
    assert type(same) is Decisions
    assert list(same) == list(batch)


@copies
def test_a_refusal_says_the_same(copied: Callable[[Any], Any]) -> None:
    refused = RateLimitExceeded(b"k", Limiter("2/s").check("k", 3))
    same = copied(refused)
    assert (same.key, same.decision, str(same)) == (b"k", refused.decision, str(refused))


def limited() -> None:
    limiter = Limiter("1/h")
    for _ in range(2):
        limiter.limit("k")(int)()


def test_a_refusal_comes_out_of_a_pool() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool,
        pytest.raises(RateLimitExceeded, match="rate limit exceeded for 'k': retry after") as refused,
    ):
        pool.submit(limited).result()
    assert refused.value.decision.limit == 1


def test_a_pickle_of_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="outcome is 5: expected 0 to 4"):
        _native.decision((5, 0, 0, 0, 0, 0, 0, 0, 0, 0))
