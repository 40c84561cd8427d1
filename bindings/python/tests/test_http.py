"""The middleware, before applications of both kinds; and who a request is counted for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import httpx
import pytest

import ratecell.wsgi
from ratecell import Clients, Header, Joint, Label, Limit, Limiter, RateLimitMiddleware, client_key


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """Says what remains."""
    decision = scope.get("ratecell.decision")
    text = "unlimited" if decision is None else f"{decision.remaining} left"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})
    await send({"type": "http.response.body", "body": text.encode()})


def get(app: Any, *paths: str, **headers: str) -> list[httpx.Response]:
    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=app, client=("192.0.2.1", 123))
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return [await client.get(path, headers=headers) for path in paths]

    return asyncio.run(run())


def wsgi_hello(environ: Any, start_response: Any) -> Iterable[bytes]:
    decision = environ.get("ratecell.decision")
    text = "unlimited" if decision is None else f"{decision.remaining} left"
    start_response("200 OK", [("X-Own", "1"), ("Content-Type", "text/plain")])
    return [text.encode()]


def wsgi_get(app: Any, *paths: str, **headers: str) -> list[httpx.Response]:
    # The validator is strict about what the middleware hands on in both directions.
    transport = httpx.WSGITransport(app=validator(app), remote_addr="192.0.2.1")
    with httpx.Client(transport=transport, base_url="http://test") as client:
        return [client.get(path, headers=headers) for path in paths]


KINDS = [
    pytest.param(RateLimitMiddleware, hello, get, id="asgi"),
    pytest.param(ratecell.wsgi.RateLimitMiddleware, validator(wsgi_hello), wsgi_get, id="wsgi"),
]
kinds = pytest.mark.parametrize(("middleware", "inner", "fetch"), KINDS)


@kinds
def test_the_allowed_are_told_and_the_denied_refused(middleware: Any, inner: Any, fetch: Any) -> None:
    limit = Limit(Limiter("2/h"), client_key, label=Label("api"))
    app = middleware(inner, limit, styles=("draft11", "x"))
    first, second, third = fetch(app, "/", "/", "/")
    assert (first.status_code, first.text, first.headers["x-own"]) == (200, "1 left", "1")
    assert first.headers["ratelimit-policy"] == '"api";q=2;w=3600'
    assert first.headers["ratelimit"] == '"api";r=1;t=1800'
    assert "retry-after" not in first.headers
    assert second.text == "0 left"
    assert third.status_code == 429
    after = third.headers["retry-after"]
    assert third.text == f"Too many requests: retry after {after} s\n"
    assert third.headers["ratelimit"] == f'"api";r=0;t={after}'
    assert third.headers["x-ratelimit-limit"] == "2"
    assert third.headers["content-length"] == str(len(third.content))
    assert 1 <= int(after) <= 1800


@kinds
def test_a_request_without_a_key_is_not_limited(middleware: Any, inner: Any, fetch: Any) -> None:
    def key(request: Any) -> str | None:
        path = request.get("path") or request.get("PATH_INFO")
        return None if path == "/health" else "all"

    app = middleware(inner, Limit(Limiter("1/h"), key))
    answers = fetch(app, "/health", "/", "/", "/health")
    assert [answer.status_code for answer in answers] == [200, 200, 429, 200]
    assert answers[0].text == "unlimited"
    assert "ratelimit" not in answers[3].headers


@kinds
def test_a_cost_and_a_status_of_ones_own(middleware: Any, inner: Any, fetch: Any) -> None:
    limiter = Limiter("5/h")
    app = middleware(inner, Limit(limiter, cost=lambda _: 3), status=420 + 3)
    assert [answer.status_code for answer in fetch(app, "/", "/")] == [200, 423]
    assert limiter.peek("192.0.2.1").remaining == 2


@kinds
def test_what_cannot_pass_later_is_no_429(middleware: Any, inner: Any, fetch: Any) -> None:
    never = fetch(middleware(inner, Limit(Limiter("5/h"), cost=6)), "/")[0]
    assert (never.status_code, never.text) == (413, "Too large for the rate limit\n")
    assert "retry-after" not in never.headers
    assert never.headers["ratelimit"] == '"5/h";r=5'
    ended = fetch(middleware(inner, Late("5/h")), "/")[0]
    assert (ended.status_code, ended.text) == (503, "The rate limiter cannot decide\n")
    assert "retry-after" not in ended.headers
    assert "ratelimit" not in ended.headers


class Late(Limiter):
    """Past the range of its policy."""

    def decide(self, key: str | bytes, cost: int = 1, **options: Any) -> Any:
        return super().decide(key, cost, at_ns=self.max_now_ns + 1, **options)


@kinds
def test_several_limits_are_charged_all_or_none(middleware: Any, inner: Any, fetch: Any) -> None:
    seen: list[Any] = []

    def app(request: Any, *rest: Any) -> Any:
        seen.append(request["ratecell.decision"])
        return inner({**request, "ratecell.decision": seen[-1].decisions[0]}, *rest)

    def member(request: Any) -> str | None:
        path = request.get("path") or request.get("PATH_INFO")
        return "red" if path == "/team" else None

    person, team = Limiter("3/h"), Limiter("1/h")
    limits = [Limit(person, label=Label("person")), Limit(team, member, label=Label("team"))]
    limited = middleware(validator(app) if fetch is wsgi_get else app, limits)
    first, alone, refused = fetch(limited, "/team", "/", "/team")
    assert first.headers["ratelimit-policy"] == '"person";q=3;w=3600, "team";q=1;w=3600'
    assert first.headers["ratelimit"] == '"person";r=2;t=1200, "team";r=0;t=3600'
    assert alone.headers["ratelimit"].startswith('"person";r=1;t=1')
    assert refused.status_code == 429
    assert 3500 < int(refused.headers["retry-after"]) <= 3600
    # The person has what the team's refusal did not take.
    assert refused.headers["ratelimit"].startswith('"person";r=1;t=')
    assert person.peek("192.0.2.1").remaining == 1
    assert [type(decision) for decision in seen] == [Joint, Joint]
    assert [len(decision.decisions) for decision in seen] == [2, 1]


@kinds
def test_one_limit_within_another_adds_to_its_fields(middleware: Any, inner: Any, fetch: Any) -> None:
    tight, wide = Limiter("1/h"), Limiter("2/100h")
    within = middleware(inner, Limit(tight, label=Label("tight")))
    first, denied, both = fetch(middleware(within, Limit(wide, label=Label("wide")), denied=within), *"///")
    assert first.headers.get_list("ratelimit") == ['"tight";r=0;t=3600', '"wide";r=1;t=180000']
    assert denied.status_code == 429
    # The outer allows it, and so has no Retry-After of its own.
    assert 3500 < int(denied.headers["retry-after"]) <= 3600
    # Both refuse: the greater stands, once.
    (after,) = both.headers.get_list("retry-after")
    assert 170_000 < int(after) <= 180_000
    assert int(both.headers.get_list("ratelimit")[0].partition("t=")[2]) <= 3600


@kinds
def test_what_is_denied_may_be_answered_by_another_application(
    middleware: Any, inner: Any, fetch: Any
) -> None:
    answer = fetch(middleware(inner, Limiter("1/h"), denied=inner), "/", "/")[1]
    assert (answer.status_code, answer.text) == (200, "0 left")
    assert "retry-after" in answer.headers


@kinds
def test_what_is_wrong_is_told_before_the_first_request(middleware: Any, inner: Any, fetch: Any) -> None:
    with pytest.raises(TypeError, match="key is of type str: expected a function of the request"):
        middleware(inner, Limit(Limiter("1/h"), "ip"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="write fields of the same name"):
        middleware(inner, Limiter("1/h"), styles=("x", "github"))
    with pytest.raises(ValueError, match="no style is called"):
        middleware(inner, Limiter("1/h"), styles="draft12")
    with pytest.raises(ValueError, match="the claims have 65 layers"):
        middleware(inner, [Limiter("1/h")] * 65)


@kinds
def test_a_queues_delay_is_held_before_the_application(
    middleware: Any, inner: Any, fetch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[float | str] = []

    def key(request: Any) -> str:
        seen.append("asked")
        return "k"

    async def sleep(seconds: float) -> None:
        seen.append(seconds)

    def app(*request: Any) -> Any:
        seen.append("served")
        return inner(*request)

    monkeypatch.setattr(time, "sleep", seen.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    limiter = Limiter("leaky_queue 1/h queue=1")
    assert [a.status_code for a in fetch(middleware(app, Limit(limiter, key)), "/", "/", "/")] == [
        200,
        200,
        429,
    ]
    assert seen[:3] == ["asked", "served", "asked"]
    assert seen[3] == pytest.approx(3600, abs=60)
    assert seen[4:] == ["served", "asked"]


def websocket(app: Any, extensions: dict[str, Any], **more: Any) -> list[Any]:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope = {"type": "websocket", "client": ("192.0.2.1", 1), "headers": [], "extensions": extensions}
    asyncio.run(app(scope | more, receive, send))
    return sent


def test_websockets_are_counted_when_they_open() -> None:
    async def accept(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})

    app = RateLimitMiddleware(accept, Limiter("1/h"))
    (accepted,) = websocket(app, {})
    assert accepted["type"] == "websocket.accept"
    assert accepted["headers"][1][0] == b"ratelimit"
    assert websocket(app, {}) == [{"type": "websocket.close", "code": 1008}]
    start, body = websocket(app, {"websocket.http.response": {}})
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 429)
    assert b"ratelimit" in dict(start["headers"])
    assert body["type"] == "websocket.http.response.body"


def test_an_application_that_refuses_a_websocket_with_a_response() -> None:
    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.http.response.start", "status": 404, "headers": [(b"a", b"b")]})
        await send({"type": "websocket.http.response.body", "body": b"none"})

    start, body = websocket(RateLimitMiddleware(refuse, Limiter("1/h")), {"websocket.http.response": {}})
    fields = dict(start["headers"])
    assert fields[b"a"] == b"b"
    assert fields[b"ratelimit"].startswith(b'"1/h";r=0')
    assert body["body"] == b"none"


def test_the_lifespan_passes_through() -> None:
    seen = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    limited: Callable[..., Any] = RateLimitMiddleware(app, Limiter("1/h"))
    for _ in range(3):
        asyncio.run(limited({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"] * 3


def asgi_scope(peer: Any, **headers: str | list[str]) -> Any:
    lines = [(name, [value] if isinstance(value, str) else value) for name, value in headers.items()]
    fields = [(name.replace("_", "-").encode(), v.encode()) for name, values in lines for v in values]
    return {"type": "http", "client": peer, "headers": fields}


def wsgi_environ(peer: Any, **headers: str | list[str]) -> Any:
    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)
    if peer:
        environ["REMOTE_ADDR"] = peer[0]
    for name, value in headers.items():
        environ["HTTP_" + name.upper()] = value if isinstance(value, str) else ",".join(value)
    return environ


@pytest.mark.parametrize("request_from", [asgi_scope, wsgi_environ])
def test_addresses(request_from: Callable[..., Any]) -> None:
    for peer, key in [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("no address", "unknown"),
        ("/run/app.sock", "unix"),
    ]:
        assert client_key(request_from((peer, 1))) == key
        # A field that anyone can write is not looked at where no proxy is trusted.
        assert client_key(request_from((peer, 1), x_forwarded_for="198.51.100.1")) == key
    assert client_key(request_from(None)) == "unix"
    assert Clients(v6_width=48)(request_from(("2001:db8:1:2::", 1))) == "2001:db8:1::/48"


@pytest.mark.parametrize("request_from", [asgi_scope, wsgi_environ])
@pytest.mark.parametrize(
    ("hops", "field", "key"),
    [
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        (2, "203.0.113.9, 198.51.100.1", "203.0.113.9"),
        (2, ["203.0.113.9", "198.51.100.1, 198.51.100.2"], "198.51.100.1"),
        (1, "198.51.100.1:5000", "198.51.100.1"),
        (1, "[2001:db8::1]:5000", "2001:db8::/64"),
        (1, "2001:db8::1", "2001:db8::/64"),
        (3, "203.0.113.9, 198.51.100.1", "203.0.113.9"),
        (1, "unknown", "10.0.0.1"),
        (1, "", "10.0.0.1"),
    ],
)
def test_trusted_proxies(request_from: Callable[..., Any], hops: int, field: Any, key: str) -> None:
    assert (
        Clients(field="X-Forwarded-For", hops=hops)(request_from(("10.0.0.1", 1), x_forwarded_for=field))
        == key
    )


@pytest.mark.parametrize("request_from", [asgi_scope, wsgi_environ])
def test_a_field_as_the_key(request_from: Callable[..., Any]) -> None:
    key = Header("X-API-Key")
    assert key(request_from(("192.0.2.1", 1), x_api_key="192.0.2.2")) == "X-API-Key=192.0.2.2"
    assert key(request_from(("192.0.2.1", 1))) == "192.0.2.1"
    assert Header("X-API-Key", lambda _: None)(request_from(("192.0.2.1", 1))) is None
