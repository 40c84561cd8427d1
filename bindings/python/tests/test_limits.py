"""The strategies of the package limits: the same answers as its own, from the same calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import limits.strategies as theirs
import pytest
from limits import RateLimitItemPerHour, RateLimitItemPerMinute, parse
from limits.storage import MemoryStorage

import ratecell.limits as ours

STRATEGIES = ["FixedWindowRateLimiter", "MovingWindowRateLimiter", "SlidingWindowCounterRateLimiter"]


@pytest.fixture(params=[theirs, ours], ids=["theirs", "ours"])
def package(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_answers(package: Any, strategy: str) -> None:
    limiter = getattr(package, strategy)(MemoryStorage())
    item = RateLimitItemPerHour(5)
    assert limiter.test(item, "ann")
    assert [limiter.hit(item, "ann") for _ in range(4)] == [True] * 4
    assert limiter.get_window_stats(item, "ann").remaining == 1
    assert not limiter.test(item, "ann", cost=2)
    assert limiter.test(item, "ann", cost=1)
    assert limiter.hit(item, "bob", "/path", cost=5)
    assert not limiter.hit(item, "bob", "/path")
    assert limiter.hit(item, "bob")
    assert limiter.hit(item, "ann")
    assert not limiter.hit(item, "ann")
    _reset, remaining = limiter.get_window_stats(item, "ann")
    assert remaining == 0
    limiter.clear(item, "ann")
    assert limiter.hit(item, "ann", cost=5)
    assert limiter.hit(RateLimitItemPerHour(6), "ann", cost=6)
    assert limiter.hit(parse("5 per 2 hour"), "ann", cost=5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_reset_is_a_time_of_day(strategy: str) -> None:
    item = RateLimitItemPerMinute(5)
    told = []
    for package in (theirs, ours):
        limiter = getattr(package, strategy)(MemoryStorage())
        assert limiter.hit(item, "ann", cost=5)
        told.append(limiter.get_window_stats(item, "ann").reset_time)
    # Theirs are rounded; a sliding counter's is the end of the first window with them, of both with ours.
    assert -2 <= told[1] - told[0] <= 122


def test_items_of_other_namespaces_are_other_keys() -> None:
    limiter = ours.RateLimiter()
    assert limiter.hit(RateLimitItemPerHour(5, namespace="a"), "ann", cost=5)
    assert limiter.hit(RateLimitItemPerHour(5, namespace="b"), "ann", cost=5)
    assert not limiter.hit(RateLimitItemPerHour(5, namespace="a"), "ann")


def test_a_storage_that_would_not_be_used_is_refused() -> None:
    with pytest.raises(TypeError, match="storage is of type str: expected None, a MemoryStorage, or path="):
        ours.FixedWindowRateLimiter("redis://")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a moving window cannot be shared: expected another strategy"):
        ours.MovingWindowRateLimiter(path="/nowhere")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_is_reset_by_itself(strategy: str) -> None:
    item = RateLimitItemPerHour(5)
    storage = MemoryStorage()
    limiter = getattr(ours, strategy)(storage)
    assert limiter.hit(item, "ann", cost=3)
    # What is denied is not counted.
    assert not limiter.hit(item, "ann", cost=3)
    assert limiter.get_window_stats(item, "ann").remaining == 2
    storage.reset()
    assert limiter.get_window_stats(item, "ann").remaining == 2
    assert limiter.reset() == 1
    assert limiter.get_window_stats(item, "ann").remaining == 5


def test_a_folder_is_shared(tmp_path: Path) -> None:
    item = RateLimitItemPerHour(5)
    one, other = (ours.FixedWindowRateLimiter(path=tmp_path / "limits", max_keys=100) for _ in range(2))
    assert one.hit(item, "ann", cost=3)
    assert not other.hit(item, "ann", cost=3)
    assert other.get_window_stats(item, "ann").remaining == 2
    assert [path.name for path in (tmp_path / "limits").iterdir()] == ["fixed_window-5-3600s"]
    with pytest.raises(NotImplementedError, match="are shared with other processes: expected clear"):
        one.reset()
