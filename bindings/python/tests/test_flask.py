"""Flask: the extension, the decorator, and what a limit inside a view denies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, Response, g, request

from ratecell import Header, Limit, Limiter, PolicyError, Rules
from ratecell._gate import Counts
from ratecell.flask import RateLimit, rate_limit

ONCE = "fixed_window 1/365d"


def made(**config: Any) -> Flask:
    app = Flask(__name__)
    app.config.update(config)

    @app.get("/<name>")
    def view(name: str) -> str:
        decision = request.environ.get("ratecell.decision")
        return f"{name}: {'unlimited' if decision is None else decision.remaining}"

    return app


def by_user(_: Any) -> str:
    return str(request.headers.get("x-user", "nobody"))


def test_the_extension() -> None:
    app = made()
    RateLimit(app, Limiter("fixed_window 2/365d"), styles=("draft11", "x"))
    client = app.test_client()
    first, second, denied = (client.get("/a") for _ in range(3))
    assert (first.text, second.text) == ("a: 1", "a: 0")
    assert first.headers["RateLimit-Policy"] == '"fixed_window 2/365d";q=2;w=31536000'
    assert (first.headers["X-RateLimit-Remaining"], first.headers.get("Retry-After")) == ("1", None)
    after = denied.headers["Retry-After"]
    assert (denied.status_code, f"Too many requests: retry after {after} s" in denied.text) == (429, True)
    assert denied.headers["X-RateLimit-Remaining"] == "0"
    assert len(denied.headers.getlist("Retry-After")) == 1
    # What has no view is limited, too.
    assert client.get("/no/such/view").status_code == 429
    assert RateLimit.counts_of(app) == Counts(allowed=2, denied=2)


def test_the_limit_may_be_configured(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    extension = RateLimit()
    apps = [
        made(
            RATECELL_POLICY=ONCE,
            RATECELL_PATH=path,
            RATECELL_KEY=f"{__name__}.by_user",
            RATECELL_NAME="api",
            RATECELL_STATUS=503,
        )
        for _ in range(2)
    ]
    for app in apps:
        extension.init_app(app)
    # Both are on one file, as two workers are.
    answers = [app.test_client().get("/a", headers={"x-user": "ann"}) for app in apps]
    assert [answer.status_code for answer in answers] == [200, 503]
    assert answers[0].headers["RateLimit-Policy"] == '"api";q=1;w=31536000'
    assert Limiter(path=path).peek("ann").remaining == 0


def test_rules_may_be_configured(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text(
        f"ratecell_rules = 1\n[[rule]]\nname = 'login'\nmatch.path = '/login'\nkey = []\nlimit = '{ONCE}'\n"
    )
    app = made(RATECELL_RULES=file)
    RateLimit(app)
    client = app.test_client()
    assert [client.get(path).status_code for path in ("/login", "/login", "/a", "/a")] == [200, 429, 200, 200]


@pytest.mark.parametrize(
    ("config", "error", "sentence"),
    [
        ({}, ValueError, "no limit is set: expected a POLICY, a PATH or RULES"),
        ({"POLICY": "ten"}, PolicyError, "ten"),
        ({"POLICY": ONCE, "PATH": "/no/such/folder/limits"}, FileNotFoundError, "No such file"),
        ({"POLICY": ONCE, "KEY": "no.such.function"}, ValueError, "KEY is 'no.such.function', and No module"),
        ({"POLICY": ONCE, "KEY": "os.sep"}, TypeError, "key is of type str: expected a function"),
        ({"POLICY": ONCE, "FORKED": True}, ValueError, "FORKED does not go with a POLICY"),
        ({"RULES": "/no/such/file", "KEY": by_user}, ValueError, "KEY does not go with RULES"),
        ({"RULES": "/no/such/file"}, FileNotFoundError, "/no/such/file"),
        ({"POLICY": ONCE, "PROXIES": 1}, ValueError, "PROXIES is no setting: expected some of POLICY, PATH"),
        ({"POLICY": ONCE, "STATUS": "429"}, ValueError, "a status of '429': expected 400 to 599"),
        ({"POLICY": ONCE, "STATUS": 599}, ValueError, "a status of 599: expected one that flask.abort knows"),
        ({"POLICY": ONCE, "FAIL": "soft"}, ValueError, "fail is 'soft'"),
    ],
)
def test_what_is_wrong_with_the_configuration(
    config: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    app = made(**{f"RATECELL_{name}": value for name, value in config.items()})
    with pytest.raises(error) as refused:
        RateLimit(app)
    assert sentence in str(refused.value)


def test_options_without_limits() -> None:
    with pytest.raises(TypeError, match="options are given without limits: expected both here, or"):
        RateLimit(made(RATECELL_POLICY=ONCE), fail="closed")


def test_the_decorator() -> None:
    app = made()
    limit = rate_limit(Limiter(ONCE), lambda _: g.user)

    @app.before_request
    def who() -> None:
        g.user = by_user(request)

    @app.get("/report/<int:number>")
    @limit
    def report(number: int) -> tuple[str, int]:
        return f"report {number}", 201

    @app.get("/later")
    @limit
    async def later() -> str:
        return "later"

    @app.errorhandler(429)
    def shaped(error: Any) -> tuple[dict[str, str], int]:
        return {"error": error.description}, 429

    client = app.test_client()
    ann = {"x-user": "ann"}
    served, denied = client.get("/report/7", headers=ann), client.get("/later", headers=ann)
    assert (served.text, served.status_code) == ("report 7", 201)
    assert served.headers["RateLimit"].startswith(f'"{ONCE}";r=0')
    after = denied.headers["Retry-After"]
    assert (denied.status_code, denied.json) == (429, {"error": f"Too many requests: retry after {after} s"})
    assert client.get("/report/7", headers={"x-user": "ben"}).status_code == 201
    assert client.get("/other", headers=ann).headers.get("RateLimit") is None
    assert limit.counts == Counts(allowed=2, denied=1)


def test_the_fields_of_both_are_lists() -> None:
    app = made()
    RateLimit(app, Limiter("fixed_window 9/365d"))
    app.get("/both")(rate_limit(Limiter(ONCE))(lambda: "both"))
    client = app.test_client()
    served, denied = client.get("/both"), client.get("/both")
    for answer in served, denied:
        assert len(answer.headers.getlist("RateLimit")) == 2
    assert (denied.status_code, len(denied.headers.getlist("Retry-After"))) == (429, 1)


def test_a_limit_inside_a_view() -> None:
    app = made()
    RateLimit(app, Limiter("9/h"), styles="x")

    @app.get("/inside")
    @Limiter(ONCE).limit(key="k")
    def inside() -> str:
        return "inside"

    client = app.test_client()
    assert client.get("/inside").status_code == 200
    denied = client.get("/inside")
    assert (denied.status_code, denied.headers["X-RateLimit-Limit"]) == (429, "9")
    assert int(denied.headers["Retry-After"]) > 300 * 86400


def test_what_is_allowed_never_is_no_429() -> None:
    app = made()
    text = "ratecell_rules = 1\n[[rule]]\nname = 'no'\nkey = []\nlimit = 'blocked'\n"
    RateLimit(app, Rules(text))
    assert app.test_client().get("/a").status_code == 403


def test_a_fault_is_no_500() -> None:
    def fails(_: Any) -> str:
        raise LookupError

    for fail, status in ("open", 200), ("closed", 503):
        app = made()
        limit = rate_limit(Limiter(ONCE), fails, fail=fail)  # type: ignore[arg-type]
        app.get("/faulty")(limit(lambda: "served"))
        assert app.test_client().get("/faulty").status_code == status
        assert limit.counts == Counts(**{f"failed_{fail}": 1})


@pytest.mark.parametrize("propagates", [True, False])
def test_a_permit_is_held_until_the_response_is_closed(propagates: bool) -> None:
    outer, inner = Limiter("in_flight 1 hold=1h"), Limiter("in_flight 1 hold=1h")
    app = Flask(__name__)
    app.testing = propagates
    RateLimit(app, [Limiter("9/h"), Limit(outer, lambda _: "k")])
    seen: list[tuple[int, int]] = []

    def left() -> tuple[int, int]:
        return outer.peek("k").remaining, inner.peek("k").remaining

    @app.get("/")
    @rate_limit(inner, lambda _: "k")
    def view() -> Response:
        def stream() -> Iterator[str]:
            seen.append(left())
            yield "some"

        return Response(stream())

    @app.get("/fails")
    @rate_limit(inner, lambda _: "k")
    def fails() -> str:
        raise OSError("the view fails")

    client = app.test_client()
    with client.get("/") as answer:
        assert answer.get_data() == b"some"
    assert (seen, left()) == ([(0, 0)], (1, 1))
    if propagates:
        with pytest.raises(OSError, match="the view fails"):
            client.get("/fails")
    else:
        client.get("/fails").close()
    assert left() == (1, 1)


def test_keys_know_the_request() -> None:
    app = made()
    limiter = Limiter("2/h")
    RateLimit(app, limiter, styles="x")
    app.get("/by-header")(rate_limit(limiter, Header("x-api-key"))(lambda: "served"))
    app.test_client().get("/by-header", headers={"x-api-key": "1"})
    assert (limiter.peek("127.0.0.1").remaining, limiter.peek("x-api-key=1").remaining) == (1, 1)
