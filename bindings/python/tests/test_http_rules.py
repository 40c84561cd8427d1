"""The middleware with rules: before applications of both kinds, and under real servers."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote
from wsgiref.simple_server import WSGIRequestHandler, make_server
from wsgiref.util import setup_testing_defaults

import pytest
import uvicorn

import ratecell.wsgi
from ratecell import ByRequest, Clients, Limiter, Outcome, RateLimitMiddleware, Rules, RulesDecision
from test_http import asgi_scope, hello, kinds, websocket, wsgi_environ, wsgi_hello

FILE = """
ratecell_rules = 1
attributes = ["user"]
unclear_path = "refuse"

[[rule]]
name = "health"
match.path = "/health"
mode = "skip"

[[rule]]
name = "closed"
match.path = "/closed"
key = []
limit = "blocked"

[[rule]]
name = "site"
key = []
limit = "fixed_window 100/365d"

[[rule]]
name = "login"
match.path = "/login"
key = ["client"]
limit = "fixed_window 2/365d"
"""


def rule(conditions: str, limit: str = "fixed_window 1/365d", key: str = "[]") -> str:
    return (
        "ratecell_rules = 1\nattributes = ['user']\n"
        f"[[rule]]\nname = 'one'\n{conditions}\nkey = {key}\nlimit = '{limit}'\n"
    )


@kinds
def test_the_rules_that_apply_decide(middleware: Any, inner: Any, fetch: Any) -> None:
    app = middleware(inner, Rules(FILE), styles=("draft11", "x"))
    first, second, denied, other, health = fetch(app, "/login", "/login", "/login", "/", "/health")
    assert (first.status_code, first.text, first.headers["x-own"]) == (200, "1 left", "1")
    assert first.headers["ratelimit-policy"] == '"site";q=100;w=31536000, "login";q=2;w=31536000'
    assert first.headers["ratelimit"].startswith('"site";r=99;t=')
    assert "retry-after" not in first.headers
    assert second.text == "0 left"
    assert denied.status_code == 429
    after = denied.headers["retry-after"]
    assert denied.text == f"Too many requests: retry after {after} s\n"
    assert denied.headers["ratelimit"].startswith('"site";r=98;t=')
    assert denied.headers["x-ratelimit-limit"]
    # What was refused has charged no other rule.
    assert (other.text, other.headers["ratelimit"].partition(";t=")[0]) == ("97 left", '"site";r=97')
    # Where no rule limits a request there are no fields.
    assert (health.status_code, health.text) == (200, "0 left")
    assert "ratelimit" not in health.headers


@kinds
def test_refusals_that_are_no_denials(middleware: Any, inner: Any, fetch: Any) -> None:
    rules = Rules(FILE)
    app = middleware(inner, rules, status=423)
    never, unclear = fetch(app, "/closed", "/%2561/%2e%2e%2fb")
    assert (never.status_code, never.text) == (403, "The rules never allow it\n")
    assert (unclear.status_code, unclear.text) == (400, "The path can be read in several ways\n")
    for refused in (never, unclear):
        assert "retry-after" not in refused.headers
        assert refused.headers["content-length"] == str(len(refused.content))
    assert [a.status_code for a in fetch(app, "/login", "/login", "/login")] == [200, 200, 423]
    # Neither was charged to the site.
    assert rules.decide({"path": "/"}).remaining == 97


@kinds
def test_a_shadow_rule_refuses_nothing(middleware: Any, inner: Any, fetch: Any) -> None:
    seen: list[RulesDecision] = []

    def app(request: Any, *rest: Any) -> Any:
        seen.append(request["ratecell.decision"])
        return inner(request, *rest)

    shadow = rule("mode = 'shadow'")
    answers = fetch(middleware(app, Rules(shadow)), "/", "/")
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [decision.shadow for decision in seen] == [[("one", Outcome.ALLOWED)], [("one", Outcome.DENIED)]]
    assert "ratelimit" not in answers[1].headers


@kinds
def test_attributes_of_the_program(middleware: Any, inner: Any, fetch: Any) -> None:
    by_request = ByRequest()

    def attributes(request: Any) -> Any:
        path = request.get("path") or request.get("PATH_INFO")
        return None if path == "/exempt" else {**by_request(request), "user": path[1:]}

    app = middleware(inner, Rules(rule("match.user = true", key="['user']")), attributes=attributes)
    answers = fetch(app, "/ann", "/ben", "/ann", "/exempt", "/exempt")
    assert [answer.status_code for answer in answers] == [200, 200, 429, 200, 200]
    assert answers[3].text == "unlimited"


@kinds
@pytest.mark.parametrize(
    ("condition", "path", "headers"),
    [
        ("match.method = 'GET'", "/", {}),
        ("match.path = '/a b'", "/a%20b", {}),
        ("match.host = 'test'", "/", {}),
        ("match.client = '192.0.2.1'", "/", {}),
        ("match.'header:x-api-key' = 'k*'", "/", {"X-API-Key": "key"}),
        ("match.'header:user-agent' = 'x'", "/", {"User-Agent": "x"}),
    ],
)
def test_what_a_request_has(
    condition: str, path: str, headers: dict[str, str], middleware: Any, inner: Any, fetch: Any
) -> None:
    app = middleware(inner, Rules(rule(condition)))
    assert [answer.status_code for answer in fetch(app, path, path, **headers)] == [200, 429]
    other = middleware(inner, Rules(rule(condition.replace(" = ", " = { not = ") + " }")))
    assert [answer.status_code for answer in fetch(other, path, path, **headers)] == [200, 200]


@kinds
def test_a_queue_s_delay_is_held(
    middleware: Any, inner: Any, fetch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[float] = []

    async def sleep(seconds: float) -> None:
        held.append(seconds)

    monkeypatch.setattr("time.sleep", held.append)
    monkeypatch.setattr("asyncio.sleep", sleep)
    app = middleware(inner, Rules(rule("", "leaky_queue 1/h queue=1")))
    assert [answer.status_code for answer in fetch(app, "/", "/", "/")] == [200, 200, 429]
    assert [seconds for seconds in held if seconds > 1] == [pytest.approx(3600, abs=60)]


@kinds
def test_a_refusal_may_be_answered_by_another_application(middleware: Any, inner: Any, fetch: Any) -> None:
    app = middleware(inner, Rules(rule("")), denied=inner)
    answer = fetch(app, "/", "/")[1]
    assert (answer.status_code, answer.text) == (200, "0 left")
    assert "retry-after" in answer.headers


@kinds
def test_another_file_is_in_force_at_once(middleware: Any, inner: Any, fetch: Any) -> None:
    rules = Rules(rule(""))
    app = middleware(inner, rules)
    assert [answer.status_code for answer in fetch(app, "/", "/")] == [200, 429]
    rules.change(rule("", "fixed_window 3/365d").replace("'one'", "'another'"))
    assert [answer.text for answer in fetch(app, "/", "/")] == ["2 left", "1 left"]


@kinds
def test_what_is_wrong_is_told_before_the_first_request(middleware: Any, inner: Any, fetch: Any) -> None:
    rules = Rules(FILE)
    with pytest.raises(TypeError, match="attributes is of type str: expected a function of the request"):
        middleware(inner, rules, attributes="client")
    with pytest.raises(TypeError, match="attributes are given with limits of type Limiter: expected Rules"):
        middleware(inner, Limiter("1/h"), attributes=ByRequest())
    with pytest.raises(TypeError, match="client is of type str: expected a function of the request"):
        ByRequest("ip")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no style is called"):
        middleware(inner, rules, styles="draft12")


def test_the_attributes_of_a_scope() -> None:
    scope = asgi_scope(("2001:db8::1", 1), host=["a.example", "b.example"])
    scope["headers"] += [(b"X-Own", b"1"), (b"x-own", b""), (b"x-own", b"\xff")]
    scope |= {"method": "PUT", "path": "/é//x", "raw_path": b"/%C3%A9//x"}
    of_it = {
        "method": "PUT",
        "path": b"/%C3%A9//x",
        "host": b"a.example",
        "header:host": b"a.example, b.example",
        "header:x-own": b"1, , \xff",
    }
    # Whole, for widths are those of the rules.
    assert ByRequest()(scope) == {**of_it, "client": "2001:db8::1"}
    assert ByRequest(Clients())(scope)["client"] == "2001:db8::/64"
    assert ByRequest(lambda _: None)(scope) == of_it
    bare: Any = {"type": "websocket", "path": "/%/é\udcff?", "client": None}
    assert ByRequest()(bare) == {"method": "GET", "path": "/%25/%C3%A9%FF%3F", "client": "unix"}


def test_the_attributes_of_an_environ() -> None:
    environ = wsgi_environ(("192.0.2.7", 1), host="a.example:80", x_own="ÿ")
    environ |= {
        "SCRIPT_NAME": "/app",
        "PATH_INFO": "/Ã©//x?",
        "CONTENT_TYPE": "text/plain",
        "CONTENT_LENGTH": "",
    }
    of_it = {
        "method": "GET",
        "path": "/app/%C3%A9//x%3F",
        "host": b"a.example:80",
        "header:host": b"a.example:80",
        "header:x-own": b"\xff",
        "header:content-type": b"text/plain",
        "client": "192.0.2.7",
    }
    assert ByRequest()(environ) == of_it
    # As servers hand on what was sent.
    for variable in ("REQUEST_URI", "RAW_URI"):
        sent = {variable: "/app/%C3%A9//x%3f?y"}
        assert ByRequest()({**environ, **sent})["path"] == b"/app/%C3%A9//x%3f?y"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/a%2Fb?c", b"/a%2Fb?c"),
        (b"//a", b"//a"),
        (b"*", b"*"),
        (b"http://host/login", b"/login"),
        (b"HTTP://user@host:80//a", b"//a"),
        (b"http://host", b"/"),
        (b"http://host?x=/login", b"/?x=/login"),
        (b"host:443", "/decoded"),
        (b"", "/decoded"),
    ],
)
def test_the_path_of_a_target(target: bytes, path: bytes | str) -> None:
    scope = {"type": "http", "path": "/decoded", "raw_path": target}
    assert ByRequest()(scope)["path"] == path
    environ: dict[str, Any] = {"REQUEST_URI": target.decode()}
    setup_testing_defaults(environ)
    decoded = path if isinstance(path, str) else unquote(path.decode().partition("?")[0])
    for served in {decoded, target.decode()} if b"://" in target and b"?" not in target else {decoded}:
        environ["PATH_INFO"] = served
        assert ByRequest()(environ)["path"] == path


def test_a_method_is_in_capital_letters() -> None:
    environ: dict[str, Any] = {"REQUEST_METHOD": "post"}
    setup_testing_defaults(environ)
    for request in (environ, {"type": "http", "path": "/", "method": "post"}):
        assert ByRequest()(request)["method"] == "POST"


def test_a_hash_in_a_scope_is_a_byte_of_the_path() -> None:
    """Servers of ASGI cut a target at its question mark alone."""
    targets = {
        b"/a#b/edit": b"/a%23b/edit",
        b"/a#b/edit?c#d": b"/a%23b/edit?c#d",
        b"http://host#/edit": b"/%23/edit",
    }
    for target, path in targets.items():
        assert ByRequest()({"type": "http", "path": "/decoded", "raw_path": target})["path"] == path
    assert ByRequest()({"type": "http", "path": "/a#b/edit"})["path"] == "/a%23b/edit"


def test_a_path_that_a_wsgi_server_does_not_serve() -> None:
    environ: dict[str, Any] = {}
    setup_testing_defaults(environ)

    def path(target: str, served: str, script: str = "") -> str | bytes:
        given = {"RAW_URI": target, "PATH_INFO": served, "SCRIPT_NAME": script}
        return ByRequest()({**environ, **given})["path"]

    # gunicorn's urlsplit takes tabs away.
    assert path("/lo\tgin", "/login") == "/login"
    # A middleware has rewritten it.
    assert path("/old", "/new") == "/new"
    assert path("/a%2Fb?c", "/a/b?c") == "/a/b%3Fc"
    # A hash that the server serves, and one where it ends the path.
    assert path("/a#b", "/a#b") == "/a%23b"
    assert path("/a#b?c", "/a") == b"/a#b?c"
    # What was sent is what is served.
    assert path("/app/%C3%A9%2F?x", "/Ã©/", "/app") == b"/app/%C3%A9%2F?x"
    assert path("/ÿ", "/ÿ") == b"/\xff"
    assert path("http://host", "") == b"/"
    assert path("", "") == "/"


def test_an_absolute_target_that_was_decoded() -> None:
    environ: dict[str, Any] = {"PATH_INFO": "http://host/a b"}
    setup_testing_defaults(environ)
    assert ByRequest()(environ)["path"] == "/a%20b"
    assert ByRequest()({"type": "http", "path": "http://host/a b"})["path"] == "/a%20b"


def test_a_websocket_is_limited_when_it_opens() -> None:
    async def accept(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})

    def attributes(scope: Any) -> Any:
        return ByRequest()({**scope, "path": "/"})

    app = RateLimitMiddleware(accept, Rules(rule("match.method = 'GET'")), attributes=attributes)
    (accepted,) = websocket(app, {})
    assert accepted["headers"][1][0] == b"ratelimit"
    assert websocket(app, {}) == [{"type": "websocket.close", "code": 1008}]
    start, _body = websocket(app, {"websocket.http.response": {}})
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 429)


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def wsgi_server(app: Any) -> Iterator[int]:
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def asgi_server(app: Any) -> Iterator[int]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive()
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def status(port: int, target: str) -> int:
    """That of the answer to a request for this target."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("GET", target, skip_host=True)
    connection.putheader("Host", "a.example")
    connection.endheaders()
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


real_servers = pytest.mark.parametrize(
    ("limited", "inner", "server"),
    [
        pytest.param(RateLimitMiddleware, hello, asgi_server, id="asgi"),
        pytest.param(ratecell.wsgi.RateLimitMiddleware, wsgi_hello, wsgi_server, id="wsgi"),
    ],
)


@real_servers
def test_real_servers(limited: Any, inner: Any, server: Callable[..., Any]) -> None:
    """Whatever spelling of the path the client sends, it has two logins."""
    text = FILE.replace('unclear_path = "refuse"', "")
    with server(limited(inner, Rules(text))) as port:
        statuses = []
        for target in ("/login?a", "//%6cogin/", "/x/../login", f"http://127.0.0.1:{port}/login", "/"):
            statuses.append(status(port, target))
        assert statuses == [200, 200, 429, 429, 200]


@real_servers
def test_real_servers_serve_a_hash(limited: Any, inner: Any, server: Callable[..., Any]) -> None:
    with server(limited(inner, Rules(rule("match.path = '/*/edit'")))) as port:
        assert [status(port, "/a#b/edit?c#d") for _ in range(2)] == [200, 429]
