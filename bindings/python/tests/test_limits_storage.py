"""The storages for the package limits: its strategies decide with them as they do with its own storage."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from limits import RateLimitItem, RateLimitItemPerHour, RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.errors import ConfigurationError, StorageError
from limits.storage import MemoryStorage, storage_from_string
from limits.strategies import STRATEGIES

from ratecell import Decision, Limiter
from ratecell.limits import RatecellFileStorage, RatecellStorage, _tables

COUNTERS = ["fixed-window", "sliding-window-counter"]

WEEKS = 1_693_440_000
"""A time of day that all windows begin at."""


class Clock:
    """One time for both storages, which passes only when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ns = 0
        monkeypatch.setattr(time, "time", lambda: WEEKS + self.ns / 1e9)
        clock = self

        class Timed(Limiter):
            def check(self, key: str | bytes, cost: int = 1, **options: Any) -> Decision:
                return super().check(key, cost, **{**options, "at_ns": clock.ns})

            def peek(self, key: str | bytes, **options: Any) -> Decision:
                return super().peek(key, **{**options, "at_ns": clock.ns})

            def decide(self, key: str | bytes, cost: int = 1, **options: Any) -> Decision:
                return super().decide(key, cost, **{"at_ns": clock.ns, **options})

        monkeypatch.setattr(_tables, "Limiter", Timed)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "item", [RateLimitItemPerSecond(3), RateLimitItemPerMinute(10), RateLimitItemPerHour(25, 2)], ids=repr
)
@pytest.mark.parametrize("seed", range(4))
def test_the_decisions_are_those_of_limits_own(
    clock: Clock, strategy: str, item: RateLimitItem, seed: int
) -> None:
    chance = random.Random(seed)
    memory = MemoryStorage()
    theirs, ours = (STRATEGIES[strategy](s) for s in (memory, storage_from_string("ratecell://")))
    period = item.get_expiry() * 10**9
    hits = 0
    for _ in range(400):
        clock.ns += round(period * chance.expovariate(item.amount))
        user = chance.choice("abc")
        key = item.key_for(user)
        # Where a window of ours may still be open, by less than a thousandth of itself.
        if strategy == "fixed-window" and 0 <= time.time() - memory.expirations.get(key, 0) < period / 1e12:
            continue
        cost = chance.choice([1, 1, 1, 2, item.amount, item.amount + 1])
        assert theirs.test(item, user, cost=cost) == ours.test(item, user, cost=cost)
        hit = theirs.hit(item, user, cost=cost)
        assert ours.hit(item, user, cost=cost) == hit
        hits += hit
        (reset, remaining), told = (s.get_window_stats(item, user) for s in (theirs, ours))
        assert told.remaining == remaining
        if strategy == "moving-window" and remaining == item.amount:
            # Theirs is in the past, by the units that have gone.
            assert told.reset_time == time.time() + item.get_expiry()
        elif strategy != "sliding-window-counter":
            assert told.reset_time == pytest.approx(reset, rel=0, abs=period / 1e12)
        else:
            assert time.time() <= told.reset_time <= time.time() + item.get_expiry()
        if chance.random() < 0.02:
            theirs.clear(item, user)
            ours.clear(item, user)
    assert 50 < hits < 400


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_in_memory_everything_can_be_reset(strategy: str) -> None:
    storage: Any = storage_from_string("ratecell://", max_keys="100")
    assert storage.check()
    limiter = STRATEGIES[strategy](storage)
    item = RateLimitItemPerHour(5)
    assert limiter.hit(item, "ann", cost=5)
    assert not limiter.test(item, "ann")
    storage.reset()
    assert limiter.hit(item, "ann", cost=5)


def test_a_fixed_window_counts_what_it_denies() -> None:
    storage = RatecellStorage()
    assert [storage.incr("k", 60, amount) for amount in (4, 3, 1)] == [4, 7, 8]
    assert storage.get("k") == 8
    assert storage.get("other") == 0
    assert time.time() < storage.get_expiry("k") <= time.time() + 61
    # Of a count that does not fit, the sum.
    assert [storage.incr("k", 1, amount) for amount in (5, 2**32 - 1)] == [5, 2**32 + 4]


@pytest.mark.parametrize("strategy", COUNTERS)
def test_a_folder_is_shared(tmp_path: Path, strategy: str) -> None:
    uri = f"ratecell+file://{tmp_path}/my%20limits"
    one, other = (STRATEGIES[strategy](storage_from_string(uri, max_keys=100)) for _ in range(2))
    item = RateLimitItemPerHour(5)
    assert other.test(item, "ann", cost=5)
    assert one.hit(item, "ann", cost=3)
    # Before it has made any limiter of its own.
    assert not other.test(item, "ann", cost=3)
    assert other.get_window_stats(item, "ann").remaining == 2
    assert not other.hit(item, "ann", cost=3)
    other.clear(item, "ann")
    assert one.hit(item, "ann", cost=5)
    assert len(list((tmp_path / "my limits").iterdir())) == 1


def test_what_a_folder_cannot_do_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "limits"
    storage = RatecellFileStorage(f"ratecell+file://{folder}")
    with pytest.raises(NotImplementedError, match="not implemented for storage"):
        STRATEGIES["moving-window"](storage)
    with pytest.raises(NotImplementedError, match="are shared with other processes: expected clear"):
        storage.reset()
    assert storage.check()
    folder.rmdir()
    assert not storage.check()
    with pytest.raises(FileNotFoundError):
        storage.incr("k", 60)
    storage = RatecellFileStorage(f"ratecell+file://{folder}", wrap_exceptions=True)
    folder.rmdir()
    with pytest.raises(StorageError):
        storage.incr("k", 60)


@pytest.mark.parametrize("uri", ["ratecell:///run/limits", "ratecell://host", "ratecell://?max_keys=5"])
def test_a_storage_in_memory_has_no_place(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="expected ratecell:// or ratecell.file:///FOLDER"):
        storage_from_string(uri)


@pytest.mark.parametrize(
    "uri", ["ratecell+file://", "ratecell+file://run/limits", "ratecell+file:///run?a=b"]
)
def test_a_storage_in_files_has_a_folder(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="expected ratecell.file:///FOLDER"):
        storage_from_string(uri)
