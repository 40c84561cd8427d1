"""Nanoseconds of CPU time a decision, beside the limiters that Python programs use, in one process.

    python bench/run.py [ROUNDS] [KEYS]

Every case decides for the same keys, by default 1,000, in turn. The cases are interleaved: each round runs
all of them, and each figure is the median of the rounds, less that of the empty loop over the same keys.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import limits.storage
import limits.strategies
import numpy as np
import pyrate_limiter
import throttled

import ratecell

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
KEYS = [f"user:{number}" for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1000)]
PACKED = np.array(KEYS, dtype="S")
LIMIT = 2**31
"""So many an hour that nobody is denied."""

Run = Callable[[int], None]
"""Decides for all keys, so many times."""


def each(call: Callable[[Any], Any]) -> Run:
    """One call for each key."""

    def run(times: int) -> None:
        for _ in range(times):
            for key in KEYS:
                call(key)

    return run


def whole(call: Callable[[], Any]) -> Run:
    """One call for all keys."""

    def run(times: int) -> None:
        for _ in range(times):
            call()

    return run


def method(limiter: ratecell.Limiter) -> Run:
    """The call as programs write it."""

    def run(times: int) -> None:
        for _ in range(times):
            for key in KEYS:
                limiter.check(key)

    return run


def empty(times: int) -> None:
    """The loop alone."""
    for _ in range(times):
        for _key in KEYS:
            pass


def cases(folder: Path) -> dict[str, tuple[Run, int]]:
    """What is measured, and how many thousand decisions are in a round."""
    free = ratecell.Limiter(f"{LIMIT}/1h")
    full = ratecell.Limiter("1/100d")
    full.decide_many(KEYS)
    shared = ratecell.Limiter(f"{LIMIT}/1h", path=folder / "limits")
    layers = ratecell.Limiter(f"{LIMIT}/1h & fixed_window 1000000/1s")
    window = ratecell.Limiter("fixed_window 1000000/1s")
    item = limits.RateLimitItemPerHour(LIMIT)
    # A moving window keeps what it let in, so its limit is small, and most of the time reached.
    few = limits.RateLimitItemPerHour(100)
    fixed = limits.strategies.FixedWindowRateLimiter(limits.storage.MemoryStorage())
    moving = limits.strategies.MovingWindowRateLimiter(limits.storage.MemoryStorage())
    # One bucket for all keys, without the making of one for each.
    pyrate = pyrate_limiter.Limiter(pyrate_limiter.Rate(LIMIT, pyrate_limiter.Duration.HOUR))
    quota = f"{LIMIT}/h burst {LIMIT}"
    gcra = throttled.Throttled(using="gcra", quota=quota, store=throttled.MemoryStore())
    return {
        "empty loop": (empty, 200),
        "check, bound once": (each(free.check), 100),
        "check": (method(free), 100),
        "check, denied": (method(full), 100),
        "check, fixed_window": (method(window), 100),
        "check, two layers": (method(layers), 50),
        "check, in a file": (method(shared), 100),
        "decide_many, list of str": (whole(lambda: free.decide_many(KEYS)), 200),
        "decide_many, numpy array": (whole(lambda: free.decide_many(PACKED)), 200),
        "limits, fixed window": (each(lambda key: fixed.hit(item, key)), 4),
        "limits, moving window": (each(lambda key: moving.hit(few, key)), 4),
        "throttled-py, gcra": (each(lambda key: gcra.limit(key)), 3),
        "pyrate-limiter": (each(lambda key: pyrate.try_acquire(key, blocking=False)), 2),
    }


def measure(rounds: int) -> dict[str, list[float]]:
    """Nanoseconds a key of every case, by rounds."""
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        all_cases = cases(Path(folder))
        for number in range(rounds + 1):
            for name, (run, thousands) in all_cases.items():
                times = max(1, thousands * 1000 // len(KEYS))
                started = time.thread_time_ns()
                run(times)
                taken = (time.thread_time_ns() - started) / (times * len(KEYS))
                # The first round warms up.
                if number > 0:
                    figures.setdefault(name, []).append(taken)
    return figures


def main() -> None:
    """Prints the table."""
    figures = {name: statistics.median(taken) for name, taken in measure(ROUNDS).items()}
    floor = figures.pop("empty loop")
    check = figures["check"] - floor
    version = sys.version.split()[0]
    print(f"Python {version}, {ROUNDS} rounds, {len(KEYS)} keys; the empty loop takes {floor:.0f} ns\n")
    print("| | ns a decision | beside check |\n| --- | ---: | ---: |")
    for name, taken in figures.items():
        print(f"| {name} | {taken - floor:.1f} | {(taken - floor) / check:.2f} |")


if __name__ == "__main__":
    main()
