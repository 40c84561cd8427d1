"""Permits before an application: a request has them until it ends, however it does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

import ratecell.wsgi
from ratecell import Joint, Limit, Limiter, Outcome, RateLimitMiddleware, Rules

RULES = """
ratecell_rules = 1
[[rule]]
name = "at-once"
key = []
limit = "100/s & in_flight 1 hold=1h"
"""


def one_key(_request: Any) -> str:
    return "k"


def a_limiter() -> Any:
    return Limit(Limiter("100/s & in_flight 1 hold=1h"), one_key)


def several() -> Any:
    return [
        Limit(Limiter("100/s"), one_key),
        Limit(Limiter("in_flight 1 hold=1h"), one_key),
        Limit(Limiter("in_flight 2 hold=1h"), one_key),
    ]


def rules() -> Any:
    return Rules(RULES, reserving=True)


limited = pytest.mark.parametrize("limits", [a_limiter, several, rules])
SCOPE = {
    "type": "http",
    "method": "GET",
    "path": "/",
    "raw_path": b"/",
    "headers": [],
    "client": ("192.0.2.1", 1),
}


async def status_of(app: Any) -> int:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await app(dict(SCOPE), receive_nothing, send)
    status = sent[0]["status"]
    assert isinstance(status, int)
    return status


async def nothing(_message: Any) -> None:
    """Sends nowhere."""


async def receive_nothing() -> Any:
    """There is no body."""
    return {"type": "http.request"}


@limited
def test_a_stream_has_its_permit_until_it_ends(limits: Callable[[], Any]) -> None:
    async def run() -> None:
        leave = asyncio.Event()

        async def stream(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await leave.wait()
            await send({"type": "http.response.body", "body": b"last"})

        app = RateLimitMiddleware(stream, limits())
        for cancelled in (False, True):
            leave.clear()
            streaming = asyncio.ensure_future(app(dict(SCOPE), receive_nothing, nothing))
            await asyncio.sleep(0)
            assert await status_of(app) == 429
            if cancelled:
                streaming.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await streaming
            leave.set()
            if not cancelled:
                await streaming
            assert await status_of(app) == 200

    asyncio.run(run())


@limited
def test_an_application_that_fails(limits: Callable[[], Any]) -> None:
    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise OSError("the application fails")

    app = RateLimitMiddleware(fails, limits())
    for _ in range(3):
        with pytest.raises(OSError, match="fails"):
            asyncio.run(app(dict(SCOPE), receive_nothing, nothing))


def test_a_request_that_goes_while_it_waits_for_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    permits = Limiter("in_flight 1 hold=1h")

    async def unreached(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the request has gone")

    app = RateLimitMiddleware(unreached, Limit(permits, one_key))
    answer = app._gate.decider.answer
    waits, is_there = threading.Event(), threading.Event()

    def asked(claimed: Any, wait: bool = True) -> Any:
        if wait:
            waits.set()
            is_there.wait()
            return answer(claimed)
        return SimpleNamespace(decision=SimpleNamespace(outcome=Outcome.ASKED))

    monkeypatch.setattr(app._gate.decider, "answer", asked)

    async def run() -> None:
        waiting = asyncio.ensure_future(app(dict(SCOPE), receive_nothing, nothing))
        await asyncio.to_thread(waits.wait)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        is_there.set()
        await asyncio.get_running_loop().shutdown_default_executor()
        # What the thread has answered is delivered, and then released.
        for _ in range(10):
            await asyncio.sleep(0)

    asyncio.run(run())
    assert permits.peek("k").remaining == 1


def wsgi_call(app: Any) -> tuple[str, Iterable[bytes]]:
    environ: dict[str, Any] = {"REMOTE_ADDR": "192.0.2.1"}
    setup_testing_defaults(environ)
    statuses: list[str] = []
    body = app(environ, lambda status, *_: statuses.append(status))
    return statuses[0][:3] if statuses else "", body


@limited
def test_a_response_of_wsgi_has_its_permit_until_it_is_closed(limits: Callable[[], Any]) -> None:
    class Body:
        closed = 0

        def __iter__(self) -> Iterator[bytes]:
            yield b"some"

        def close(self) -> None:
            Body.closed += 1

    def stream(environ: Any, start_response: Any) -> Iterable[bytes]:
        start_response("200 OK", [])
        return Body()

    app = ratecell.wsgi.RateLimitMiddleware(stream, limits())
    for count in range(1, 4):
        status, body = wsgi_call(app)
        assert (status, wsgi_call(app)[0]) == ("200", "429")
        assert list(body) == [b"some"]
        assert wsgi_call(app)[0] == "429"
        body.close()  # type: ignore[attr-defined]
        assert Body.closed == count


@limited
def test_an_application_of_wsgi_that_fails(limits: Callable[[], Any]) -> None:
    def fails(environ: Any, start_response: Any) -> Iterable[bytes]:
        raise OSError("the application fails")

    app = ratecell.wsgi.RateLimitMiddleware(fails, limits())
    for _ in range(3):
        with pytest.raises(OSError, match="fails"):
            wsgi_call(app)


def test_of_several_limits_all_are_held_or_none() -> None:
    window, permits, full = (
        Limiter("fixed_window 2/1d"),
        Limiter("in_flight 2 hold=1h"),
        Limiter("in_flight 1 hold=1h"),
    )
    decisions: list[Joint] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        decisions.append(scope["ratecell.decision"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    app = RateLimitMiddleware(
        inner, [Limit(limiter, one_key) for limiter in (window, permits, full)], denied=inner
    )

    def left() -> list[int]:
        return [limiter.peek("k").remaining for limiter in (window, permits, full)]

    with full.reserve("k"):
        asyncio.run(status_of(app))
        assert left() == [2, 2, 0]
        assert not decisions[-1]
        assert [bool(decision) for decision in decisions[-1].decisions] == [True, True, False]
    for _ in range(3):
        asyncio.run(status_of(app))
    assert [bool(decision) for decision in decisions] == [False, True, True, False]
    assert left() == [0, 2, 1]
