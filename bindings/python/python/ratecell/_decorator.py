"""Functions under a limit."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ratecell._outcome import RateLimitExceeded

if TYPE_CHECKING:
    from ratecell._limiter import Limiter

_Function = TypeVar("_Function", bound=Callable[..., Any])


def limited(
    limiter: Limiter,
    key: str | bytes | Callable[..., str | bytes] | None,
    cost: int,
    timeout: float | None,
) -> Callable[[_Function], _Function]:
    """The decorator that `Limiter.limit` returns."""
    if key is not None and not callable(key) and not isinstance(key, str | bytes):
        raise TypeError(
            f"key is of type {type(key).__name__}: expected str, bytes or a function that returns one"
        )

    def decorate(function: _Function) -> _Function:
        key_of = (
            key
            if callable(key)
            else _constant(f"{function.__module__}.{function.__qualname__}" if key is None else key)
        )

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def limited_coroutine(*args: Any, **kwargs: Any) -> Any:
                whose = key_of(*args, **kwargs)
                if not (decision := await limiter.acquire(whose, cost, timeout)):
                    raise RateLimitExceeded(whose, decision)
                return await function(*args, **kwargs)

            return cast("_Function", limited_coroutine)

        @functools.wraps(function)
        def limited_function(*args: Any, **kwargs: Any) -> Any:
            whose = key_of(*args, **kwargs)
            if not (decision := limiter.wait(whose, cost, timeout)):
                raise RateLimitExceeded(whose, decision)
            return function(*args, **kwargs)

        return cast("_Function", limited_function)

    return decorate


def _constant(key: str | bytes) -> Callable[..., str | bytes]:
    return lambda *_args, **_kwargs: key
