"""Celery: real workers, which put a denied task back until it may run."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import celery_app
import ratecell.celery
from ratecell import Limiter, RateLimitExceeded, Rules
from ratecell._gate import Counts
from ratecell.celery import rate_limit

BLOCKED = "ratecell_rules = 1\n[[rule]]\nname = 'no'\nkey = []\nlimit = 'blocked'\n"


def mail(account: str) -> str:
    return f"to {account}"


def test_without_a_worker_a_denial_is_raised() -> None:
    limit = rate_limit(Limiter("fixed_window 1/365d"), lambda account, *_: account)
    task = celery_app.app.task(limit(mail), name="direct")
    assert task("ann") == "to ann"
    with pytest.raises(RateLimitExceeded) as denied:
        task("ann")
    assert denied.value.key == "ann"
    assert task.apply(("ben",)).get() == "to ben"
    with pytest.raises(RateLimitExceeded):
        task.apply(("ben",), throw=True)
    assert limit.counts == Counts(allowed=2, denied=2)


def test_a_bound_task_and_the_key_by_default() -> None:
    limiter = Limiter("fixed_window 3/365d")

    @celery_app.app.task(bind=True, name="bound")
    @rate_limit(limiter, cost=lambda account, units=1: units)
    def bound(self: Any, account: str, units: int = 1) -> str:
        return f"{self.name} {account}"

    assert bound.apply(("ann",), {"units": 2}).get() == "bound ann"
    assert limiter.peek("bound").remaining == 1
    # Celery still knows the arguments.
    with pytest.raises(TypeError, match="account"):
        bound.delay()


def test_rules() -> None:
    rules = Rules(
        "ratecell_rules = 1\nattributes = ['account']\n"
        "[[rule]]\nname = 'mails'\nkey = ['account']\nlimit = 'fixed_window 1/365d'\n"
    )
    limit = rate_limit(rules, attributes=lambda account: {"account": account})
    task = celery_app.app.task(limit(mail), name="by-rules")
    assert task("ann") == "to ann"
    with pytest.raises(RateLimitExceeded, match="'mails'"):
        task("ann")


def test_a_fault_lets_a_call_run() -> None:
    def fails(account: str) -> str:
        raise LookupError

    limiter = Limiter("1/h")
    task = celery_app.app.task(rate_limit(limiter, fails)(mail), name="faulty")
    assert task("ann") == "to ann"
    closed = rate_limit(limiter, fails, fail="closed")
    refused = celery_app.app.task(closed(mail), name="faulty-closed")
    with pytest.raises(RuntimeError, match="the rate limiter of the task faulty-closed cannot decide"):
        refused("ann")
    assert closed.counts == Counts(failed_closed=1)


def test_a_permit_is_held_while_a_task_runs() -> None:
    limiter = Limiter("in_flight 1 hold=1h")
    seen: list[int] = []

    def work(fails: bool) -> None:
        seen.append(limiter.peek("k").remaining)
        assert not fails

    task = celery_app.app.task(rate_limit(limiter, "k", max_countdown=1)(work), name="held")
    task(False)
    with pytest.raises(AssertionError):
        task(True)
    assert (seen, limiter.peek("k").remaining) == ([0, 0], 1)


def test_what_cannot_be_is_refused_at_the_start() -> None:
    limiter: Any = Limiter("1/h")
    rate_limit: Any = ratecell.celery.rate_limit
    with pytest.raises(TypeError, match="has a limit already: expected one, whose policy may have several"):
        rate_limit(limiter)(rate_limit(limiter)(mail))
    wrongs: list[Any] = [
        (lambda: rate_limit("1/h"), TypeError, "limits are of type str: expected a Limiter or Rules"),
        (lambda: rate_limit(limiter, 5), TypeError, "key is of type int: expected str, bytes or a function"),
        (lambda: rate_limit(limiter, cost=-1), ValueError, "a cost of -1"),
        (lambda: rate_limit(limiter, max_countdown=0), ValueError, "a max_countdown of 0"),
        (lambda: rate_limit(limiter, attributes=dict), TypeError, "attributes are given with a Limiter"),
        (lambda: rate_limit(Rules(BLOCKED)), TypeError, "Rules are given without attributes"),
        (lambda: rate_limit(limiter, fail="soft"), ValueError, "fail is 'soft'"),
    ]
    for wrong, error, sentence in wrongs:
        with pytest.raises(error) as refused:
            wrong()
        assert sentence in str(refused.value)


def test_two_workers_on_one_file(tmp_path: Path) -> None:
    """Each call runs once, and together they take as long as the limits say."""
    environment = os.environ | {"FOLDER": str(tmp_path)}
    here = Path(__file__).parent
    celery = [sys.executable, "-m", "celery", "-A", "celery_app", "worker", "-P", "solo", "-l", "WARNING"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    redis = ["redis-server", "--port", "0", "--unixsocket", "redis", "--save", "", "--logfile", "redis.log"]
    ran = tmp_path / "ran"
    with contextlib.ExitStack() as ended:

        def start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(command, cwd=folder, env=environment)
            ended.callback(process.wait)
            ended.callback(process.terminate)
            return process

        def until(happened: Callable[[], bool]) -> None:
            deadline = time.monotonic() + 120
            while not happened():
                assert time.monotonic() < deadline
                assert [process.poll() for process in processes] == [None] * len(processes)
                time.sleep(0.05)

        processes = [start(redis, tmp_path)]
        until((tmp_path / "redis").exists)
        processes += [start([*celery, *quiet, "-n", f"w{number}@%h"], here) for number in range(2)]
        sent_ns = time.monotonic_ns()
        program = "import celery_app; celery_app.send()"
        subprocess.run([sys.executable, "-c", program], cwd=here, env=environment, check=True)
        until(lambda: ran.exists() and len(ran.read_text().splitlines()) == 7)
    # The three that have a turn later are sent again once each, for they are charged once.
    assert (tmp_path / "again").read_text().split().count("queued") <= 3
    calls = [line.split() for line in ran.read_text().splitlines()]
    names = [("limited", "0"), ("limited", "1"), ("limited", "2")]
    names += [("queued", "0"), ("queued", "1"), ("queued", "2"), ("queued", "3")]
    assert sorted((name, number) for name, number, *_ in calls) == names
    # The task's own retries are untouched.
    assert {retries for _, _, retries, _ in calls} == {"0"}
    for name, count in ("limited", 3), ("queued", 4):
        last_ns = max(int(at_ns) for each, _, _, at_ns in calls if each == name)
        assert last_ns - sent_ns >= (count - 1) * 500_000_000
