"""What becomes of a request in Django: its refusal, or its response with the fields."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from ratecell._gate import Gate
from ratecell._http import DECISION, Answered, Fields, Refusal, merged


class HttpResponseTooManyRequests(HttpResponse):
    """The response to a request that is not allowed, in plain text.

    `decision` is the decision, or None where a fault refused the request.
    """

    status_code = 429

    def __init__(self, refusal: Refusal, decision: Any = None) -> None:
        super().__init__(f"{refusal.text}\n", content_type="text/plain; charset=utf-8", status=refusal.status)
        self.decision = decision
        add_fields(self, refusal.fields)


def serve(gate: Gate, request: HttpRequest, view: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """The response of `view`, if the request is allowed."""
    answered = gate.decide(request)
    if answered is None:
        return view()
    request.META[DECISION] = answered.decision
    if not answered:
        return HttpResponseTooManyRequests(answered.refusal(), answered.decision)
    try:
        if answered.delay:
            time.sleep(answered.delay)
        return _finished(answered, view())
    except BaseException:
        answered.release()
        raise


async def serve_async(
    gate: Gate, request: HttpRequest, view: Callable[[], Awaitable[HttpResponseBase]]
) -> HttpResponseBase:
    """The same where views are coroutine functions."""
    answered = await gate.decide_async(request)
    if answered is None:
        return await view()
    request.META[DECISION] = answered.decision
    if not answered:
        return HttpResponseTooManyRequests(answered.refusal(), answered.decision)
    try:
        if answered.delay:
            await asyncio.sleep(answered.delay)
        return _finished(answered, await view())
    except BaseException:
        answered.release()
        raise


def _finished(answered: Answered, response: HttpResponseBase) -> HttpResponseBase:
    """The response to a request that was allowed; when it is closed, the permits come back."""
    add_fields(response, answered.fields())
    if answered.holds:
        close = response.close

        def close_and_release() -> None:
            with answered:
                close()

        response.close = close_and_release
    return response


def add_fields(response: HttpResponseBase, own: Fields) -> None:
    """Adds fields; those of another limiter stay, in a list, for Django has one line of each field."""
    names = {name.lower() for name, _ in own}
    present = [(name, value) for name, value in response.items() if name.lower() in names]
    lines: dict[str, tuple[str, list[str]]] = {}
    for name, value in merged(present, own):
        lines.setdefault(name.lower(), (name, []))[1].append(value)
    for name, values in lines.values():
        response[name] = ", ".join(values)
