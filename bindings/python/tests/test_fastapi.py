"""FastAPI: the dependency, the decorator, and what a limit inside the application denies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

import httpx
import pytest
from fastapi import Depends, FastAPI, Header, HTTPException, Request, WebSocket
from fastapi.responses import PlainTextResponse, StreamingResponse

from ratecell import Header as ByHeader
from ratecell import Limit, Limiter, RateLimitExceeded, Rules
from ratecell._gate import Counts
from ratecell.fastapi import RateLimit, TooManyRequests, install, rate_limit
from test_http import websocket

ONCE = "fixed_window 1/365d"


def get(app: Any, *paths: str, **headers: str) -> list[httpx.Response]:
    """The answers, also to what the application fails at."""

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app, client=("192.0.2.1", 1), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return [await client.get(path, headers=headers) for path in paths]

    return asyncio.run(run())


def statuses(app: Any, *paths: str, **headers: str) -> list[int]:
    return [answer.status_code for answer in get(app, *paths, **headers)]


def test_a_limit_inside_an_endpoint_is_a_429_where_it_is_installed() -> None:
    def made() -> FastAPI:
        app = FastAPI()

        @app.get("/")
        @Limiter(ONCE).limit(key="k")
        async def endpoint() -> str:
            return "served"

        @app.get("/never")
        @Limiter(ONCE).limit(key="k", cost=2)
        def never() -> str:
            return "served"

        return app

    # By itself a denial is an exception that nobody handles.
    assert statuses(made(), "/", "/") == [200, 500]
    app = made()
    install(app)
    _, denied, too_large = get(app, "/", "/", "/never")
    after = denied.headers["retry-after"]
    assert (denied.status_code, denied.json()) == (
        429,
        {"detail": f"Too many requests: retry after {after} s"},
    )
    assert 300 * 86400 < int(after) <= 365 * 86400
    assert (too_large.status_code, "retry-after" in too_large.headers) == (413, False)


def test_the_application_shapes_refusals() -> None:
    app = FastAPI(dependencies=[Depends(RateLimit(Limiter(ONCE)))])

    @app.exception_handler(HTTPException)
    async def shaped(request: Request, error: HTTPException) -> PlainTextResponse:
        return PlainTextResponse("shaped", error.status_code, error.headers)

    install(app)

    @app.get("/")
    def endpoint() -> str:
        return "served"

    def inside() -> None:
        raise RateLimitExceeded("k", Limiter("1/h").check("k", 2))

    denied = get(app, "/", "/")[1]
    assert (denied.status_code, denied.text) == (429, "shaped")
    assert denied.headers["retry-after"]

    other = FastAPI()
    other.exception_handler(413)(lambda request, error: PlainTextResponse("shaped, too", 413))
    other.get("/")(inside)
    install(other)
    assert [(answer.status_code, answer.text) for answer in get(other, "/")] == [(413, "shaped, too")]


def test_the_dependency() -> None:
    limit = RateLimit(Limiter("fixed_window 2/365d"), styles=("draft11", "x"))
    app = FastAPI(dependencies=[Depends(limit)])

    @app.get("/")
    def endpoint(decision: Any = Depends(limit)) -> int:  # noqa: B008 - a local name
        remaining = decision.remaining
        assert isinstance(remaining, int)
        return remaining

    first, second, denied = get(app, "/", "/", "/")
    # Twice in one request, and charged once.
    assert (first.json(), second.json()) == (1, 0)
    assert first.headers["ratelimit-policy"] == '"fixed_window 2/365d";q=2;w=31536000'
    assert (first.headers["x-ratelimit-remaining"], "retry-after" in first.headers) == ("1", False)
    after = denied.headers["retry-after"]
    assert (denied.status_code, denied.json()) == (
        429,
        {"detail": f"Too many requests: retry after {after} s"},
    )
    assert denied.headers["x-ratelimit-remaining"] == "0"
    assert limit.counts == Counts(allowed=2, denied=1)


def test_the_key_may_be_a_dependency() -> None:
    async def user(authorization: Annotated[str, Header()]) -> str | None:
        return None if authorization == "admin" else f"user:{authorization}"

    app = FastAPI()
    limiter = Limiter(ONCE)

    @app.get("/", dependencies=[Depends(RateLimit(limiter, Depends(user)))])
    async def endpoint() -> str:
        return "served"

    @app.get("/decorated")
    @rate_limit(limiter, Depends(user))
    async def decorated() -> str:
        return "served"

    assert statuses(app, "/", "/", "/decorated", authorization="ann") == [200, 429, 429]
    assert statuses(app, "/decorated", "/", authorization="ben") == [200, 429]
    assert statuses(app, "/", "/", authorization="admin") == [200, 200]
    # What the dependency itself refuses was not charged.
    assert statuses(app, "/") == [422]
    assert limiter.peek("user:ann").remaining == 0


@pytest.mark.parametrize("is_async", [True, False])
def test_the_decorator_adds_fields_to_responses_of_ones_own(is_async: bool) -> None:
    app = FastAPI()
    limit = rate_limit(Limiter(ONCE), ByHeader("x-api-key"))

    if is_async:

        @app.get("/{name}")
        @limit
        async def endpoint(name: str, response_kind: str = "own") -> Any:
            return PlainTextResponse(name) if response_kind == "own" else {"name": name}
    else:

        @app.get("/{name}")
        @limit
        def endpoint(name: str, response_kind: str = "own") -> Any:
            return PlainTextResponse(name) if response_kind == "own" else {"name": name}

    own, denied = get(app, "/a", "/a", **{"X-API-Key": "1"})
    (made,) = get(app, "/b?response_kind=made", **{"X-API-Key": "2"})
    assert (own.text, made.json(), denied.status_code) == ("a", {"name": "b"}, 429)
    for answer in (own, made, denied):
        assert answer.headers["ratelimit"].startswith(f'"{ONCE}";r=0;t=')
    assert own.headers.get_list("ratelimit") == [own.headers["ratelimit"]]
    assert limit.counts == Counts(allowed=2, denied=1)


def test_several_decorators_and_what_they_refuse() -> None:
    app = FastAPI()

    @app.get("/")
    @rate_limit(Limiter("fixed_window 9/365d"))
    @rate_limit([Limit(Limiter(ONCE)), Limiter("5/h")])
    def endpoint() -> str:
        return "served"

    assert statuses(app, "/", "/") == [200, 429]
    # Without FastAPI it is the function that it was.
    assert endpoint() == "served"

    def generator() -> Iterator[str]:
        yield "item"

    with pytest.raises(TypeError, match=r"is a generator: expected dependencies=\[Depends"):
        rate_limit(Limiter(ONCE))(generator)
    with pytest.raises(TypeError, match="key is given with limits of type list: expected a Limiter"):
        RateLimit([Limiter(ONCE)], ByHeader("x"))
    with pytest.raises(TypeError, match="key is of type str: expected a function"):
        RateLimit(Limiter(ONCE), "client")  # type: ignore[arg-type]


def test_rules() -> None:
    text = f"""
ratecell_rules = 1
[[rule]]
name = "login"
match.path = "/login"
key = ["client"]
limit = "{ONCE}"
"""
    app = FastAPI(dependencies=[Depends(RateLimit(Rules(text)))])

    @app.get("/{name}")
    def endpoint(name: str) -> str:
        return name

    assert statuses(app, "/login", "/login", "/other", "/other") == [200, 429, 200, 200]


def test_a_fault_is_no_500() -> None:
    async def user() -> int:
        return 42

    for fail, status in ("open", 200), ("closed", 503):
        limit = RateLimit(Limiter(ONCE), Depends(user), fail=fail)  # type: ignore[arg-type]
        app = FastAPI(dependencies=[Depends(limit)])
        app.get("/")(lambda: "served")
        assert statuses(app, "/", "/") == [status, status]
        assert limit.counts == Counts(**{f"failed_{fail}": 2})


def test_a_permit_is_held_until_the_response_has_ended() -> None:
    limiter = Limiter("in_flight 1 hold=1h")
    app = FastAPI(dependencies=[Depends(RateLimit(limiter, lambda _: "k"))])
    seen: list[int] = []

    @app.get("/")
    async def endpoint() -> StreamingResponse:
        async def stream() -> Any:
            seen.append(limiter.peek("k").remaining)
            yield "some"

        return StreamingResponse(stream())

    @app.get("/fails")
    async def fails() -> None:
        raise OSError("the endpoint fails")

    assert statuses(app, "/", "/", "/fails", "/") == [200, 200, 500, 200]
    assert (seen, limiter.peek("k").remaining) == ([0, 0, 0], 1)


def test_a_websocket() -> None:
    app = FastAPI(dependencies=[Depends(RateLimit(Limiter(ONCE)))])

    @app.websocket("/")
    async def endpoint(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    extensions: dict[str, Any] = {"websocket.http.response": {}}
    scope = {"path": "/", "query_string": b"", "subprotocols": []}
    assert websocket(app, extensions, **scope)[0]["type"] == "websocket.accept"
    start = websocket(app, extensions, **scope)[0]
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 429)


def test_the_exception_says_the_decision() -> None:
    app = FastAPI()
    seen: list[Any] = []

    @app.exception_handler(TooManyRequests)
    async def shaped(request: Request, error: TooManyRequests) -> PlainTextResponse:
        seen.append(error.decision)
        return PlainTextResponse("later", error.status_code)

    @app.get("/", dependencies=[Depends(RateLimit(Limiter(ONCE)))])
    async def endpoint() -> str:
        return "served"

    assert get(app, "/", "/")[1].text == "later"
    assert (seen[0].allowed, seen[0].limit) == (False, 1)
