"""A file of leases, which an agent fills beside the tests: RATECELL_LEASED_FILE names it (ci/leased.sh)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pathlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ratecell import Claim, Limiter, Outcome, decide_all

POLICY = "1000/h burst=1000"
FILE = os.environ.get("RATECELL_LEASED_FILE")
AGENT = int(os.environ.get("RATECELL_LEASED_AGENT", "0"))
PATIENCE = 20
LONG_NS = PATIENCE * 10**9

needs_agent = pytest.mark.skipif(not FILE, reason="RATECELL_LEASED_FILE names no file of leases")
needs_pid = pytest.mark.skipif(not AGENT, reason="RATECELL_LEASED_AGENT is not the agent's process")
numbers = itertools.count()


def opened(**options: Any) -> Limiter:
    limiter = Limiter(POLICY, path=FILE, **options)
    assert limiter.stats().connected, f"{FILE}: no agent is connected to the store: {limiter.stats()}"
    return limiter


def new_key() -> str:
    return f"py-{os.getpid()}-{time.time_ns()}-{next(numbers)}"


def until(what: str, done: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < deadline, f"not within {PATIENCE} s: {what}"
        time.sleep(0.001)


@contextlib.contextmanager
def stopped_agent() -> Iterator[None]:
    """The agent stands still: the signal is on its way when `kill` returns."""
    os.kill(AGENT, signal.SIGSTOP)
    try:
        until("the agent stops", lambda: all(state == "T" for state in states(AGENT)))
        yield
    finally:
        os.kill(AGENT, signal.SIGCONT)


def states(process: int) -> list[str]:
    """Of each thread: what follows its name, which may hold anything."""
    threads = pathlib.Path(f"/proc/{process}/task").iterdir()
    return [(thread / "stat").read_text().rsplit(")", 1)[1].split()[0] for thread in threads]


@needs_agent
def test_a_miss_waits_for_the_store() -> None:
    limiter = opened(wait_ns=LONG_NS)
    before = limiter.stats()
    key = new_key()
    decision = limiter.check(key, 1000)
    assert (decision.allowed, decision.is_leased, decision.is_unanswered) == (True, True, False)
    assert limiter.check(key, 1001).outcome is Outcome.NEVER
    after = limiter.stats()
    # It need not have waited: the agent may answer while the interpreter is given back.
    assert after.misses > before.misses
    assert after.timeouts == before.timeouts
    # The agent counts after it has answered.
    until("the agent counts", lambda: limiter.stats().leased >= before.leased + 1000)

    def is_denied() -> bool:
        denied = limiter.decide(key)
        assert not denied
        return denied.retry_after is not None and denied.retry_after <= 4

    until("the store denies what exceeds its units", is_denied)


@needs_agent
def test_a_charge_waits_for_all_its_units() -> None:
    limiter = opened(wait_ns=LONG_NS)
    key = new_key()
    limiter.decide(key, 1000, charge=True)
    assert not limiter.check(key)


@needs_agent
def test_what_does_not_wait_is_asked() -> None:
    limiter = opened(wait_ns=LONG_NS)
    before = limiter.stats()
    key = new_key()
    decision = limiter.decide(key, wait=False)
    assert decision.outcome is Outcome.ASKED
    assert not decision
    assert "asked" in repr(decision)
    assert [d.outcome for d in limiter.decide_many([new_key()], wait=False)] == [Outcome.ASKED]
    until("the answer arrives", lambda: limiter.decide(key, wait=False))
    assert limiter.stats().waits == before.waits


@needs_agent
def test_a_batch_waits() -> None:
    limiter = opened(wait_ns=LONG_NS)
    assert limiter.decide_many([new_key(), new_key()]).all_allowed


@needs_agent
def test_a_miss_is_denied_at_once() -> None:
    limiter = opened(on_miss="deny", on_failure="open")
    # The agent may answer while the interpreter is given back.
    asked = ((key, limiter.check(key)) for key in (new_key() for _ in range(1_000)))
    key, decision = next((key, decision) for key, decision in asked if not decision)
    assert (decision.outcome, decision.is_unanswered, decision.retry_after) == (Outcome.DENIED, True, None)
    until("the store was asked all the same", lambda: limiter.check(key))


@needs_agent
def test_those_in_line_do_not_wait_in_the_limiter() -> None:
    limiter = opened(wait_ns=LONG_NS)
    before = limiter.stats()
    assert limiter.wait(new_key(), timeout=PATIENCE)
    assert asyncio.run(limiter.acquire(new_key(), timeout=PATIENCE))
    assert limiter.stats().waits == before.waits


@needs_agent
@needs_pid
def test_other_threads_run_while_a_miss_waits() -> None:
    """The agent stands still until this thread, which runs meanwhile, has it go on."""
    limiter = opened(wait_ns=LONG_NS)
    key = new_key()
    before = limiter.stats().waits
    decisions = []
    thread = threading.Thread(target=lambda: decisions.append(limiter.check(key)))
    with stopped_agent():
        thread.start()
        until("the miss waits", lambda: limiter.stats().waits > before)
    thread.join()
    assert decisions[0].allowed, decisions


@needs_agent
@needs_pid
def test_other_tasks_run_while_one_waits() -> None:
    limiter = opened(wait_ns=LONG_NS)

    async def both() -> bool:
        with stopped_agent():
            waits = asyncio.ensure_future(limiter.acquire(new_key(), timeout=PATIENCE))
            await asyncio.sleep(0.01)
            assert not waits.done()
        return bool(await waits)

    assert asyncio.run(both())


@needs_agent
def test_what_machines_share_is_not_reserved() -> None:
    limiter = opened(wait_ns=LONG_NS)
    key = new_key()
    with pytest.raises(ValueError, match="shares its units with other machines reserves none"):
        limiter.reserve(key, 1000)
    assert limiter.check(key, 1000)


@needs_agent
def test_a_file_of_leases_has_one_policy() -> None:
    with pytest.raises(ValueError, match="7/h"):
        Limiter("7/h", path=FILE)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"on_miss": "deny"}, "on_miss"),
        ({"wait_ns": 1}, "on_miss"),
        ({"on_failure": "open"}, "on_failure"),
        ({"on_miss": "deny", "wait_ns": 1}, "wait_ns is given with on_miss='deny'"),
        ({"on_miss": "maybe"}, "on_miss is 'maybe': expected 'wait' or 'deny'"),
        ({"on_failure": "local"}, "on_failure is 'local': expected 'closed' or 'open'"),
        ({"wait_ns": 0}, "wait_ns is 0"),
    ],
)
def test_only_leases_have_misses(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        Limiter("7/h", **options)


def test_other_limiters_do_not_wait() -> None:
    limiter = Limiter("7/h")
    decision = limiter.decide("k", wait=False)
    assert (decision.allowed, decision.is_leased, decision.is_unanswered) == (True, False, False)
    assert decide_all([Claim(limiter, "k", wait=False)])
    stats = limiter.stats()
    assert (stats.connected, stats.leased, stats.lag_ns) == (False, 0, 0)
    with pytest.raises(TypeError, match="wait is of type str"):
        limiter.decide("k", wait="no")  # type: ignore[arg-type]
