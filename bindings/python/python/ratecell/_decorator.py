"""Functions under a limit."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Protocol, TypeVar, cast

from ratecell._exceeded import RateLimitExceeded
from ratecell._native import Decision

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Waits(Protocol):
    """What the decorator needs of a limiter."""

    @property
    def policy(self) -> str:
        """The policy as text."""

    def wait(self, key: str | bytes, cost: int, timeout: float | None) -> Decision:
        """Waits in a thread."""

    async def acquire(self, key: str | bytes, cost: int, timeout: float | None) -> Decision:
        """Waits in asyncio."""


def refuse_permits(limiter: Waits, who: str) -> None:
    """Raises ValueError for a policy of requests in flight, whose permits nobody would release."""
    if "in_flight" in limiter.policy:
        raise ValueError(
            f"{limiter.policy}: {who} releases no permit; expected a policy without in_flight, or "
            "`with limiter.reserve(key):` around the work"
        )


def limited(
    limiter: Waits,
    key: str | bytes | Callable[..., str | bytes] | None,
    cost: int,
    timeout: float | None,
) -> Callable[[_Function], _Function]:
    """The decorator that `Limiter.limit` returns."""
    if key is not None and not callable(key) and not isinstance(key, str | bytes):
        raise TypeError(
            f"key is of type {type(key).__name__}: expected str, bytes or a function that returns one"
        )
    refuse_permits(limiter, "a decorator")

    def decorate(function: _Function) -> _Function:
        key_of = key if callable(key) else _constant(_name(function) if key is None else key)

        async def admit(args: Any, kwargs: Any) -> None:
            whose = key_of(*args, **kwargs)
            if not (decision := await limiter.acquire(whose, cost, timeout)):
                raise RateLimitExceeded(whose, decision)

        if _is(inspect.iscoroutinefunction, function):

            @functools.wraps(function)
            async def limited_coroutine(*args: Any, **kwargs: Any) -> Any:
                await admit(args, kwargs)
                return await function(*args, **kwargs)

            return cast("_Function", limited_coroutine)

        if _is(inspect.isasyncgenfunction, function):

            @functools.wraps(function)
            async def limited_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
                await admit(args, kwargs)
                async with aclosing(function(*args, **kwargs)) as inner:
                    step = inner.asend(None)
                    while True:
                        try:
                            item = await step
                        except StopAsyncIteration:
                            return
                        try:
                            step = inner.asend((yield item))
                        except GeneratorExit:
                            raise
                        except BaseException as thrown:
                            step = inner.athrow(thrown)

            return cast("_Function", limited_generator)

        @functools.wraps(function)
        def limited_function(*args: Any, **kwargs: Any) -> Any:
            whose = key_of(*args, **kwargs)
            if not (decision := limiter.wait(whose, cost, timeout)):
                raise RateLimitExceeded(whose, decision)
            return function(*args, **kwargs)

        return cast("_Function", limited_function)

    return decorate


def _is(kind: Callable[[Any], bool], function: Callable[..., Any]) -> bool:
    """Whether `function`, or the method that calls it where it is an object, is of this kind."""
    return kind(function) or kind(getattr(function, "__call__", None))  # noqa: B004 - not whether, but which


def _name(function: Callable[..., Any]) -> str:
    try:
        return f"{function.__module__}.{function.__qualname__}"
    except AttributeError:
        raise TypeError(f"{function!r} has no name to be the key: expected key=") from None


def _constant(key: str | bytes) -> Callable[..., str | bytes]:
    return lambda *_args, **_kwargs: key
