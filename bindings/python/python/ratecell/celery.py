"""Limits for Celery: a task that may not run yet is put back in its queue until it may.

    from ratecell import Limiter
    from ratecell.celery import rate_limit

    @app.task
    @rate_limit(Limiter("10/m", path="/dev/shm/mails"), lambda account: account)
    def mail(account): ...

Celery's own `rate_limit` is of each worker, and of all calls of a task together. This one is of all workers
that share the file, and of each key.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from celery import current_task
from celery.exceptions import Reject, Retry

from ratecell._exceeded import RateLimitExceeded
from ratecell._gate import Decorator, Fail, Gate
from ratecell._http import Limit
from ratecell._limiter import Limiter
from ratecell._native import RulesDecision
from ratecell._rules import Rules
from ratecell.attributes import Attributes

__all__ = ["rate_limit"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_TURN = "ratecell_turn"
"""The header of a call that has its turn in a queue and is not charged again; its value is `retries` then."""


_LIMITED = "_is_limited_by_ratecell"


@dataclass(slots=True)
class _Call:
    """A call of a task, which the limits see as a request."""

    task: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    key: str | bytes | None = None

    def ask(self, function: Callable[..., Any]) -> Any:
        """What a function of the task's arguments returns; a bound task is not among them."""
        is_bound = bool(self.args) and self.args[0] is self.task
        return function(*self.args[is_bound:], **self.kwargs)


def rate_limit(
    limits: Limiter | Rules,
    key: Callable[..., str | bytes | None] | str | bytes | None = None,
    *,
    cost: int | Callable[..., int] = 1,
    attributes: Callable[..., Attributes | None] | None = None,
    max_countdown: float | None = None,
    fail: Fail = "open",
) -> Decorator:
    """Decorates the function of a task with a limit; `@app.task` stands above it.

    `key` is a key, or a function of the task's arguments that returns one, or None for a call that is not
    limited; without it the task's name is the key. `cost` is the units of a call, or a function of its
    arguments. Rules need `attributes`, a function of the arguments, too.

    A call that is denied is sent again with the countdown that its decision says, and its state is RETRY.
    That is not counted as one of the task's own retries. Many calls of one key that are denied at once come
    back at once, and all but some are sent again; under a `leaky_queue` each has a turn of its own, and is
    sent once. What can never be allowed raises RateLimitExceeded, and so does a denied call without a worker,
    as under `task_always_eager`.

    Under `in_flight` a call has its permit until it ends, however it does. The decision cannot say when
    another call will end, so give `max_countdown`, the most seconds until a denied call asks again.

    After a fault here the call runs, or with `fail="closed"` raises RuntimeError. It is logged, and `counts`
    has it.
    """
    if max_countdown is not None and not max_countdown > 0:
        raise ValueError(f"a max_countdown of {max_countdown}: expected seconds above 0")
    gate = _gate(limits, key, cost, attributes, fail)

    def decorate(function: _Function) -> _Function:
        if getattr(function, _LIMITED, False):
            # What one of them sends again, the other would have charged twice.
            raise TypeError(
                f"{function!r} has a limit already: expected one, whose policy may have several layers"
            )

        @functools.wraps(function)
        def limited(*args: Any, **kwargs: Any) -> Any:
            task = current_task._get_current_object()
            if task is None or _has_its_turn(task):
                return function(*args, **kwargs)
            call = _Call(task, args, kwargs)
            answered = gate.decide(call)
            if answered is None:
                return function(*args, **kwargs)
            if not answered:
                if answered.decision is None:
                    raise RuntimeError(f"the rate limiter of the task {task.name} cannot decide")
                _refuse(call, answered.decision, max_countdown)
            # What has a permit waits with it, here.
            if answered.delay and _is_in_a_worker(task) and not answered.holds:
                _send(task, answered.delay, {_TURN: task.request.retries})
                raise Retry(f"its turn is in {answered.delay:.9g} s", when=answered.delay)
            time.sleep(answered.delay)
            with answered:
                return function(*args, **kwargs)

        setattr(limited, _LIMITED, True)
        # Celery goes by it where a call is sent.
        limited.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return cast("_Function", limited)

    return Decorator(gate, decorate)


def _gate(limits: Any, key: Any, cost: Any, attributes: Any, fail: Fail) -> Gate:
    if isinstance(limits, Rules):
        if not callable(attributes):
            raise TypeError("Rules are given without attributes: expected a function of the task's arguments")
        return Gate(limits, attributes=lambda call: call.ask(attributes), fail=fail)
    if not isinstance(limits, Limiter):
        raise TypeError(f"limits are of type {type(limits).__name__}: expected a Limiter or Rules")
    if attributes is not None:
        raise TypeError("attributes are given with a Limiter: expected Rules, or none")
    if key is not None and not callable(key) and not isinstance(key, str | bytes):
        raise TypeError(
            f"key is of type {type(key).__name__}: expected str, bytes or a function of the arguments"
        )

    def key_of(call: _Call) -> str | bytes | None:
        call.key = call.ask(key) if callable(key) else call.task.name if key is None else key
        return call.key

    return Gate(Limit(limits, key_of, (lambda call: call.ask(cost)) if callable(cost) else cost), fail=fail)


def _is_in_a_worker(task: Any) -> bool:
    return not (task.request.called_directly or task.request.is_eager)


def _has_its_turn(task: Any) -> bool:
    """Whether the queue has sent this call: a retry of its own is another request."""
    return _is_in_a_worker(task) and (task.request.headers or {}).get(_TURN) == task.request.retries


def _refuse(call: _Call, decision: Any, max_countdown: float | None) -> NoReturn:
    """Sends a denied call again, and ends it here."""
    name = decision.rule if isinstance(decision, RulesDecision) else call.key
    assert name is not None, "what is denied has a key, or a rule"
    exceeded = RateLimitExceeded(name, decision)
    seconds = decision.retry_after
    if seconds is None or not _is_in_a_worker(call.task):
        raise exceeded
    if max_countdown is not None:
        seconds = min(seconds, max_countdown)
    _send(call.task, seconds, {})
    raise Retry(str(exceeded), exceeded, seconds)


def _send(task: Any, seconds: float, headers: dict[str, Any]) -> None:
    """Sends the call that runs again, with its number of retries as it is."""
    others = {name: value for name, value in (task.request.headers or {}).items() if name != _TURN}
    again = task.signature_from_request(
        countdown=seconds, retries=task.request.retries, headers={**others, **headers}
    )
    try:
        again.apply_async()
    except Exception as error:
        # As Celery's own retry: the broker has the message yet.
        raise Reject(error, requeue=True) from error
