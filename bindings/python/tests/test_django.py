"""Django and Django REST framework: middleware, decorator, throttles, and the checks of their settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import AsyncClient, AsyncRequestFactory, Client, RequestFactory, override_settings
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.request import Request

import django_project
from ratecell import ByRequest, Clients, Header, Limit, Limiter, Rules, client_key, rest_framework
from ratecell._gate import Counts
from ratecell.django import HttpResponseTooManyRequests, RateLimitMiddleware, rate_limit
from ratecell.rest_framework import RateLimitThrottle, ScopedRateThrottle, SimpleRateThrottle, counts

ONCE = "fixed_window 1/365d"
BLOCKED = "ratecell_rules = 1\n[[rule]]\nname = 'no'\nkey = []\nlimit = 'blocked'\n"


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    """Each test has limits of its own."""
    rest_framework._gates.clear()
    with override_settings(RATECELL=dict(django_project.RATECELL)):
        yield


def get(*paths: str, client: Any = None, **fields: str) -> list[Any]:
    client = Client(raise_request_exception=False) if client is None else client
    return [client.get(path, headers=fields) for path in paths]


def aget(*paths: str, **fields: str) -> list[Any]:
    async def run() -> list[Any]:
        client = AsyncClient(raise_request_exception=False)
        return [await client.get(path, headers=fields) for path in paths]

    return asyncio.run(run())


fetchers = pytest.mark.parametrize("fetch", [get, aget])


@fetchers
def test_the_middleware(fetch: Any) -> None:
    first, second, denied = fetch("/", "/", "/no/such/view", **{"x-user": "ann"})
    assert [answer.content.split(b": ")[1] for answer in (first, second)] == [b"1", b"0"]
    assert first["RateLimit-Policy"] == '"fixed_window 2/365d";q=2;w=31536000'
    assert "Retry-After" not in first
    after = denied["Retry-After"]
    assert (denied.status_code, denied.content.decode()) == (
        429,
        f"Too many requests: retry after {after} s\n",
    )
    assert denied["RateLimit"] == f'"fixed_window 2/365d";r=0;t={after}'
    assert fetch("/", **{"x-user": "ben"})[0].status_code == 200
    assert RateLimitMiddleware.counts() == Counts(allowed=3, denied=1)


@fetchers
def test_a_limit_inside_a_view(fetch: Any) -> None:
    (denied,) = fetch("/inside")
    assert (denied.status_code, denied.content) == (413, b"Too large for the rate limit\n")


@fetchers
def test_the_middleware_gives_permits_back(fetch: Any) -> None:
    with override_settings(RATECELL={"POLICY": "in_flight 1 hold=1h", "KEY": "django_project.by_user"}):
        paths = ["/", "/no/such/view", "/inside", "/"]
        assert [answer.status_code for answer in fetch(*paths)] == [200, 404, 413, 200]


def test_a_permit_is_held_until_the_response_is_closed() -> None:
    limits = Limit(django_project.permits, lambda _: "k")
    view, other = rate_limit(limits)(django_project.stream), rate_limit(limits)(django_project.view)
    request = RequestFactory().get("/stream")
    for _ in range(2):
        response = view(request)
        assert other(request).status_code == 429
        assert b"".join(response) == b"some"
        assert django_project.seen[-1] == 0
        response.close()
    assert django_project.permits.peek("k").remaining == 1

    def fails(request: Any) -> HttpResponse:
        raise OSError("the view fails")

    with pytest.raises(OSError, match="the view fails"):
        rate_limit(limits)(fails)(request)
    assert django_project.permits.peek("k").remaining == 1


def test_the_decorator() -> None:
    limit = rate_limit(Limiter(ONCE), lambda request: request.GET.get("user"))

    @limit
    def view(request: Any, number: int) -> HttpResponse:
        return HttpResponse(str(number))

    @limit
    async def later(request: Any) -> HttpResponse:
        return HttpResponse("later")

    @method_decorator(limit, name="get")
    class Page(View):
        def get(self, request: Any) -> HttpResponse:
            return HttpResponse("page")

    def asked(user: str) -> Any:
        return RequestFactory().get("/", {"user": user})

    served, denied = view(asked("ann"), 7), asyncio.run(later(asked("ann")))
    assert (served.content, served["RateLimit-Policy"]) == (b"7", f'"{ONCE}";q=1;w=31536000')
    assert isinstance(denied, HttpResponseTooManyRequests)
    assert (denied.status_code, denied.decision.allowed) == (429, False)
    page = Page.as_view()
    assert [page(asked(user)).status_code for user in ("ann", "ben", "ben")] == [429, 200, 429]
    assert asyncio.run(later(asked("cid"))).content == b"later"
    assert view(RequestFactory().get("/"), 8).content == b"8"
    assert limit.counts == Counts(allowed=3, denied=3, unlimited=1)
    with pytest.raises(TypeError, match="key is given with limits of type Rules"):
        rate_limit(Rules(BLOCKED), client_key)


def test_the_fields_of_two_limits_are_one_line() -> None:
    @rate_limit(Limiter("fixed_window 9/365d"), styles="x")
    @rate_limit(Limiter("fixed_window 7/365d"), styles="x")
    def view(request: Any) -> HttpResponse:
        return HttpResponse("served")

    assert view(RequestFactory().get("/"))["X-RateLimit-Limit"] == "7, 9"

    @rate_limit(Limiter("5/h"))
    def refuses(request: Any) -> HttpResponse:
        return HttpResponse(status=503, headers={"Retry-After": "7"})

    assert refuses(RequestFactory().get("/"))["Retry-After"] == "7"


def test_keys_know_every_request_of_django() -> None:
    fields = {"x-api-key": "1", "x-own": "203.0.113.7"}
    wsgi = RequestFactory().get("/a%2Fb", headers=fields)
    asgi = AsyncRequestFactory().get("/a%2Fb", headers=fields)
    rest = Request(RequestFactory().get("/a%2Fb", headers=fields))
    for request in wsgi, asgi, rest:
        assert client_key(request) == "127.0.0.1"
        assert Clients(field="x-own", hops=1)(request) == "203.0.113.7"
        assert Header("x-api-key")(request) == "x-api-key=1"
        assert ByRequest()(request)["header:x-api-key"] == b"1"
    with pytest.raises(TypeError, match="a request of type int: expected an ASGI scope, a WSGI environ"):
        client_key(1)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("10/m", "RATECELL is of type str: expected a dict"),
        ({"policy": "10/m"}, "RATECELL has 'policy': expected names in capital letters, as POLICY"),
        ({}, "RATECELL: no limit is set: expected a POLICY, a PATH or RULES"),
        ({"POLICY": "10/m", "PROXIES": 1}, "RATECELL: PROXIES is no setting: expected some of POLICY, PATH"),
        ({"POLICY": "ten"}, "RATECELL: "),
        ({"POLICY": "10/m", "PATH": "/no/such/folder/limits"}, "/no/such/folder"),
        ({"POLICY": "10/m", "KEY": "django_project.nobody"}, "KEY is 'django_project.nobody', and "),
        ({"RULES": "/no/such/file"}, "/no/such/file"),
    ],
)
def test_what_is_wrong_with_the_settings(setting: Any, sentence: str) -> None:
    with override_settings(RATECELL=setting):
        # They come in any order.
        assert sentence in {error.id: error.msg for error in run_checks()}["ratecell.E001"]
        with pytest.raises(ImproperlyConfigured) as refused:
            RateLimitMiddleware(lambda request: None)
        assert sentence in str(refused.value)


def test_the_checks(tmp_path: Path) -> None:
    assert run_checks() == []
    path = tmp_path / "limits"
    with override_settings(RATECELL={"POLICY": "10/m", "PATH": path}):
        assert run_checks() == []
        # The server makes the file, and not the check, whose user may be another.
        assert not path.exists()
        Limiter("fixed_window 5/1s", path=path)
        assert "the region's words" in run_checks()[0].msg
    deployed = run_checks(include_deployment_checks=True)
    assert "ratecell.W001" in [message.id for message in deployed]
    with override_settings(RATECELL={"POLICY": "10/m", "PATH": tmp_path / "other"}):
        deployed = run_checks(include_deployment_checks=True)
        assert not [message for message in deployed if str(message.id).startswith("ratecell")]


def test_throttles() -> None:
    with override_settings(MIDDLEWARE=[]):
        first, second, denied = get("/api", "/api", "/api")
        assert first["RateLimit"].startswith('"anon";r=1;t=')
        assert second.status_code == 200
        after = denied["Retry-After"]
        assert (denied.status_code, denied["RateLimit"]) == (429, f'"anon";r=0;t={after}')
        assert denied.json() == {"detail": f"Request was throttled. Expected available in {after} seconds."}
        assert counts() == {"anon": Counts(allowed=2, denied=1)}
        # Another view, another scope.
        assert [answer.status_code for answer in get("/uploads", "/uploads")] == [200, 429]


def test_the_longest_of_two_throttles_is_told() -> None:
    class Long(RateLimitThrottle):
        limits = Limiter("1/2h")

    class Short(RateLimitThrottle):
        limits = Limiter("1/1h")

    class Page(django_project.Api):
        throttle_classes = (Long, Short)

    page = Page.as_view()
    served, denied = (page(RequestFactory().get("/")) for _ in range(2))
    assert served["RateLimit-Policy"] == '"1/2h";q=1;w=7200, "1/h";q=1;w=3600'
    assert (denied.status_code, 7000 < int(denied["Retry-After"]) <= 7200) == (429, True)


def test_a_throttle_with_a_folder(tmp_path: Path) -> None:
    with override_settings(MIDDLEWARE=[], RATECELL={"THROTTLE_FOLDER": tmp_path / "made"}):
        assert get("/uploads")[0].status_code == 200
        # As another process would.
        rest_framework._gates.clear()
        assert get("/uploads")[0].status_code == 429
        assert [file.name for file in (tmp_path / "made").iterdir()] == ["uploads"]


def test_a_throttle_that_cannot_be_made() -> None:
    class Closed(SimpleRateThrottle):
        scope, rate, fail = "closed", "1/h", "closed"

        def get_cache_key(self, request: Any, view: Any) -> str:
            return "k"

    class Page(django_project.Api):
        throttle_classes = (Closed,)

    with override_settings(MIDDLEWARE=[], RATECELL={"THROTTLE_FOLDER": "/dev/null/folder"}):
        # It was started all the same.
        assert [answer.status_code for answer in get("/api", "/api")] == [200, 200]
        assert Page.as_view()(RequestFactory().get("/")).status_code == 429
    assert counts() == {"anon": Counts(failed_open=2), "closed": Counts(failed_closed=1)}


def test_a_throttle_of_limits() -> None:
    class Exports(RateLimitThrottle):
        limits = (Limit(Limiter(ONCE), Header("x-user")), Limiter("fixed_window 9/365d"))

    class Large(RateLimitThrottle):
        limits = Limit(Limiter(ONCE), cost=2)

    class Faulty(RateLimitThrottle):
        limits = Limit(Limiter(ONCE), lambda request: request.no_such_thing)

    class Closed(Faulty):
        limits = Faulty.limits
        fail = "closed"

    request = Request(RequestFactory().get("/", headers={"x-user": "ann"}))

    def ask(throttle: Any) -> tuple[bool, float | None]:
        made = throttle()
        return made.allow_request(request, None), made.wait()

    assert ask(Exports) == (True, 0.0)
    allowed, wait = ask(Exports)
    assert (allowed, wait is not None and wait > 300 * 86400) == (False, True)
    assert Exports.counts() == Counts(allowed=1, denied=1)
    assert ask(Large) == (False, None)
    assert (ask(Faulty), ask(Closed)) == ((True, None), (False, None))
    assert (Faulty.counts(), Closed.counts()) == (Counts(failed_open=1), Counts(failed_closed=1))
    with pytest.raises(ValueError, match="Held counts requests in flight: expected other policies"):
        type("Held", (RateLimitThrottle,), {"limits": Limiter("in_flight 2 hold=1h")})


def test_the_rates_of_django_rest_framework_are_policies() -> None:
    for rate in "3/sec", "10/min", "5/hour", "100/day", "7/s", "7/m", "7/h", "7/d":
        assert Limiter(rate).capacity


@pytest.mark.parametrize(
    ("rates", "folder", "sentence"),
    [
        ({"anon": "ten"}, None, "the rate of 'anon': "),
        ({"anon": "10/m"}, "/no/such/folder/here", "there is no folder /no/such/folder"),
    ],
)
def test_what_is_wrong_with_throttles(
    rates: Any, folder: str | None, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", rates)
    setting = {**django_project.RATECELL, **({"THROTTLE_FOLDER": folder} if folder else {})}
    with override_settings(RATECELL=setting):
        (error,) = run_checks()
    assert error.id == "ratecell.E002"
    assert error.msg.startswith("ratecell.rest_framework.AnonRateThrottle: ")
    assert sentence in error.msg
    assert set(ScopedRateThrottle.rates()) == set(rates)
