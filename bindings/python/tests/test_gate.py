"""A fault of the limiter is no fault of the application: it is let through or refused, counted and logged."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ratecell import ByRequest, Decision, Header, Limit, Limiter, RateLimitExceeded, Rules, RulesDecision
from ratecell._gate import Counts, Gate
from ratecell._http import refusal_of
from test_http import kinds

RULES = """
ratecell_rules = 1
[[rule]]
name = "never"
match.path = "/never"
key = []
limit = "blocked"
[[rule]]
name = "one"
key = ["client"]
limit = "fixed_window 1/365d"
"""


def raises(request: Any) -> str:
    raise LookupError("no such user")


def returns_a_number(request: Any) -> Any:
    return 42


@kinds
@pytest.mark.parametrize("key", [raises, returns_a_number])
def test_a_fault_lets_requests_through(
    key: Any, middleware: Any, inner: Any, fetch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app = middleware(inner, Limit(Limiter("1/h"), key))
    answers = fetch(app, "/", "/", "/")
    assert [(answer.status_code, answer.text) for answer in answers] == [(200, "unlimited")] * 3
    assert "ratelimit" not in answers[0].headers
    assert app.counts == Counts(failed_open=3)
    # One of them, for each might be so.
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("ratecell", logging.ERROR)
    assert record.getMessage() == "a request that could not be decided was let through"
    assert record.exc_info


@kinds
def test_a_fault_refuses_requests_where_it_is_told_to(middleware: Any, inner: Any, fetch: Any) -> None:
    app = middleware(inner, Limit(Limiter("1/h"), raises), fail="closed")
    (answer,) = fetch(app, "/")
    assert (answer.status_code, answer.text) == (503, "The rate limiter cannot decide\n")
    assert app.counts == Counts(failed_closed=1)


def test_faults_that_were_not_logged_are_counted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    monkeypatch.setattr("ratecell._gate.time.monotonic", lambda: now)
    gate = Gate(Limit(Limiter("1/h"), raises), fail="closed")
    for now in (0.0, 1.0, 9.0, 10.0, 11.0):  # noqa: B007 - it is the clock
        assert gate.decide({}) is not None
    assert [record.getMessage() for record in caplog.records] == [
        "a request that could not be decided was refused",
        "a request that could not be decided was refused, and 2 before it",
    ]


@kinds
def test_a_fault_of_the_attributes_of_rules(middleware: Any, inner: Any, fetch: Any) -> None:
    app = middleware(inner, Rules(RULES), attributes=raises)
    assert [answer.status_code for answer in fetch(app, "/", "/")] == [200, 200]
    assert app.counts.failed_open == 2


@kinds
def test_a_fault_of_the_application_is_its_own(middleware: Any, inner: Any, fetch: Any) -> None:
    def fails(*_: Any) -> Any:
        raise LookupError("of the application")

    app = middleware(fails, Limiter("5/h"))
    with pytest.raises(LookupError, match="of the application"):
        fetch(app, "/")
    assert app.counts == Counts(allowed=1)


@kinds
def test_what_became_of_requests_is_counted(middleware: Any, inner: Any, fetch: Any) -> None:
    by_request = ByRequest()

    def attributes(request: Any) -> Any:
        known = by_request(request)
        return None if known["path"] == b"/free" or known["path"] == "/free" else known

    app = middleware(inner, Rules(RULES), attributes=attributes)
    fetch(app, "/", "/", "/", "/never", "/free")
    assert app.counts == Counts(allowed=1, denied=2, refused=1, unlimited=1)


@kinds
def test_what_cannot_be_is_refused_at_the_start(middleware: Any, inner: Any, fetch: Any) -> None:
    limit: Any = Limit
    header: Any = Header

    async def later(request: Any) -> str:
        return "k"

    def of_two(one: Any, other: Any) -> str:
        return "k"

    limiter: Any = Limiter("1/h")
    wrongs: list[Any] = [
        (lambda: limit(limiter, later), TypeError, "key is a coroutine function: expected"),
        (lambda: limit(limiter, of_two), TypeError, "expected a function of one argument, the request"),
        (lambda: limit(limiter, cost=lambda: 1), TypeError, "cost takes (): expected a function of one"),
        (lambda: limit(limiter, cost=-1), ValueError, "a cost of -1: expected 0 to 4294967295"),
        (lambda: header("x", otherwise=of_two), TypeError, "otherwise takes (one"),
        (lambda: middleware(inner, Rules(RULES), attributes=of_two), TypeError, "attributes takes (one"),
        (
            lambda: middleware(inner, limiter, fail="soft"),
            ValueError,
            'fail is \'soft\': expected "open" or "closed"',
        ),
    ]
    for wrong, error, sentence in wrongs:
        with pytest.raises(error) as refused:
            wrong()
        assert sentence in str(refused.value)
    # What has no signature to look at is taken at its word.
    assert Limit(limiter, {}.get).cost == 1
    assert fetch(middleware(inner, limiter), "/")[0].status_code == 200


def test_the_refusal_of_what_is_exceeded_inside() -> None:
    limiter, rules = Limiter("3/s burst=3"), Rules(RULES)
    assert limiter.check("k", 3, at_ns=0)
    # A third of a second, rounded up.
    denied = limiter.check("k", at_ns=0)
    late = limiter.check("k", at_ns=limiter.max_now_ns + 1)
    cases: list[tuple[Decision | RulesDecision, int, list[tuple[str, str]]]] = [
        (denied, 429, [("Retry-After", "1")]),
        (limiter.check("k", 4), 413, []),
        (late, 503, []),
        (rules.decide({"path": "/never"}), 403, []),
    ]
    for decision, status, fields in cases:
        refusal = refusal_of(RateLimitExceeded("k", decision))
        assert (refusal.status, refusal.fields) == (status, fields)
