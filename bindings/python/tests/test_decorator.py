"""Functions of every kind under a limit."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ratecell import Limiter, Outcome, RateLimitExceeded


def test_a_decorated_function_is_called_or_raises() -> None:
    limiter = Limiter("2/h")

    @limiter.limit(key=lambda user, **_: f"user:{user}")
    def greet(user: int, *, loudly: bool = False) -> str:
        """Greets."""
        return "HELLO" if loudly else "hello"

    assert greet(1, loudly=True) == "HELLO"
    assert greet(1) == greet(2) == "hello"
    with pytest.raises(
        RateLimitExceeded, match=r"rate limit exceeded for 'user:1': retry after \d+"
    ) as denied:
        greet(1)
    assert denied.value.key == "user:1"
    assert denied.value.decision.outcome is Outcome.DENIED
    assert (greet.__name__, greet.__doc__) == ("greet", "Greets.")


def test_a_decorated_coroutine_function_stays_one() -> None:
    limiter = Limiter("1/h")

    @limiter.limit()
    async def fetch(number: int) -> int:
        return number

    async def run() -> None:
        assert await fetch(5) == 5
        with pytest.raises(RateLimitExceeded, match="fetch"):
            await fetch(6)

    assert asyncio.iscoroutinefunction(fetch)
    asyncio.run(run())


def test_a_decorated_asynchronous_generator_waits_without_holding_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limiter = Limiter("1000/s burst=1")
    # To be waited for in asyncio, or not at all.
    monkeypatch.setattr(Limiter, "wait", None)

    @limiter.limit(timeout=None)
    async def numbers(count: int) -> AsyncIterator[int]:
        for number in range(count):
            yield number

    async def run(count: int) -> list[int]:
        return [number async for number in numbers(count)]

    assert inspect.isasyncgenfunction(numbers)
    assert [asyncio.run(run(count)) for count in (3, 0, 2)] == [[0, 1, 2], [], [0, 1]]

    @Limiter("1/h").limit("k")
    async def once() -> AsyncIterator[int]:
        yield 1

    async def twice() -> None:
        assert [number async for number in once()] == [1]
        denied = once()
        with pytest.raises(RateLimitExceeded):
            await denied.__anext__()

    asyncio.run(twice())


def test_a_decorated_asynchronous_generator_hears_all_that_its_caller_says() -> None:
    heard: list[Any] = []

    @Limiter("9/h").limit()
    async def listening() -> Any:
        try:
            heard.append((yield 1))
            yield 2
        except ValueError as thrown:
            heard.append(str(thrown))
            yield 3
        finally:
            heard.append("closed")

    async def run() -> None:
        generator = listening()
        assert await generator.asend(None) == 1
        assert await generator.asend("sent") == 2
        assert await generator.athrow(ValueError("thrown")) == 3
        await generator.aclose()

        with pytest.raises(ValueError, match="inside"):
            async with asynccontextmanager(reraising)():
                raise ValueError("inside")

    @Limiter("9/h").limit()
    async def reraising() -> Any:
        try:
            yield
        finally:
            heard.append("left")

    asyncio.run(run())
    assert heard == ["sent", "thrown", "closed", "left"]


class Called:
    def __call__(self, number: int) -> int:
        return number


class Awaited:
    async def __call__(self, number: int) -> int:
        return number


def test_what_is_called_without_being_a_function() -> None:
    limiter = Limiter("1/h")
    assert limiter.limit("object")(Called())(5) == 5
    assert limiter.limit("partial")(functools.partial(int, "11", base=2))() == 3
    awaited = limiter.limit("awaited")(Awaited())
    assert inspect.iscoroutinefunction(awaited)
    assert asyncio.run(awaited(5)) == 5
    for key in ("object", "partial", "awaited"):
        assert limiter.peek(key).remaining == 0


@pytest.mark.parametrize("nameless", [Called(), functools.partial(int, "11")])
def test_what_has_no_name_needs_a_key(nameless: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="has no name to be the key: expected key="):
        Limiter("1/h").limit()(nameless)


def test_a_permit_that_nobody_releases_is_refused() -> None:
    with pytest.raises(ValueError, match="a decorator releases no permit"):
        Limiter("in_flight 2 hold=1s").limit("key")
