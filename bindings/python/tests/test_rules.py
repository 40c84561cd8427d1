"""Limits by a file of rules."""

from __future__ import annotations

import itertools
import signal
import threading
import warnings
import weakref
from collections import UserDict
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from ratecell import Limiter, Outcome, Rules, RulesError
from test_together import FORK, in_a_child

TEXT = """
ratecell_rules = 1
attributes = ["user"]
unclear_path = "refuse"

[[rule]]
name = "site"
key = []
limit = "10/m"

[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
key = ["client"]
limit = "2/m"

[[rule]]
name = "tighter"
match.user = true
key = ["user"]
limit = "1/m"
mode = "shadow"
"""

LOGIN = {"method": "POST", "path": "/login", "client": "203.0.113.7"}


def test_all_or_none() -> None:
    rules = Rules(TEXT)
    first = rules.decide(LOGIN, at_ns=0)
    assert first
    assert first.allowed
    assert (first.outcome, first.rule) == (Outcome.ALLOWED, "login")
    assert (first.limit, first.remaining, first.retry_after, first.retry_after_ns) == (2, 1, 0.0, 0)
    assert (first.reset_after, first.reset_after_ns) == (30.0, 30 * 10**9)
    assert (first.delay, first.delay_ns, first.shadow, first.is_unclear_path) == (0.0, 0, [], False)
    assert repr(first) == "<RulesDecision allowed: login limit=2 remaining=1>"
    assert rules.decide(LOGIN, at_ns=0)
    refused = rules.decide(LOGIN, at_ns=0)
    assert not refused
    assert not refused.allowed
    assert (refused.outcome, refused.rule) == (Outcome.DENIED, "login")
    assert (refused.retry_after, refused.retry_after_ns) == (30.0, 30 * 10**9)
    assert repr(refused) == "<RulesDecision denied: login limit=2 remaining=0>"
    # What was refused is not charged to the site.
    other = rules.decide({"path": "/"}, at_ns=0)
    assert (other.rule, other.remaining) == ("site", 7)
    assert rules.decide({}, at_ns=0).remaining == 6
    assert rules.decide({"path": "/"})


def test_no_rule_limits_it() -> None:
    free = Rules("ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = 'unlimited'\n").decide({})
    assert (free.outcome, free.rule, free.limit, free.remaining) == (Outcome.ALLOWED, None, 0, 0)
    assert (free.fields(), repr(free)) == ([], "<RulesDecision allowed>")


def test_a_blocked_request_never_goes() -> None:
    blocked = Rules("ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = 'blocked'\n").decide({})
    assert (blocked.outcome, blocked.rule, blocked.retry_after) == (Outcome.NEVER, "a", None)
    assert (blocked.retry_after_ns, blocked.fields()) == (None, [])


def test_a_delay() -> None:
    text = "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = 'leaky_queue 2/s queue=5'\n"
    rules = Rules(text)
    assert [rules.decide({}, at_ns=0).delay for _ in range(2)] == [0.0, 0.5]
    assert rules.decide({}, at_ns=0).delay_ns == 10**9


def test_an_unclear_path_is_refused() -> None:
    rules = Rules(TEXT)
    unclear = rules.decide({"path": "/x/../login"}, at_ns=0)
    assert not unclear
    assert unclear.is_unclear_path
    assert (unclear.outcome, unclear.rule) == (Outcome.NEVER, None)
    assert repr(unclear) == "<RulesDecision unclear_path>"
    assert rules.decide({"path": "/"}, at_ns=0).remaining == 9


def test_shadows_refuse_nothing() -> None:
    rules = Rules(TEXT)
    request: dict[str, str | bytes] = {"path": "/", "user": b"\xff"}
    decided = [rules.decide(request, at_ns=0) for _ in range(2)]
    assert all(decided)
    assert [d.shadow for d in decided] == [[("tighter", Outcome.ALLOWED)], [("tighter", Outcome.DENIED)]]


def test_a_str_is_its_utf8() -> None:
    rules = Rules(TEXT)
    rules.decide({"user": "é"}, at_ns=0)
    assert rules.decide({"user": "é".encode()}, at_ns=0).shadow == [("tighter", Outcome.DENIED)]
    assert rules.decide({"user": "é".encode("latin-1")}, at_ns=0).shadow == [("tighter", Outcome.ALLOWED)]


def test_attributes_are_any_mapping() -> None:
    rules = Rules(TEXT)
    rules.decide(UserDict(LOGIN), at_ns=0)
    assert rules.decide({**LOGIN, "what the file does not use": "x"}, at_ns=0).remaining == 0


def test_none_is_absent() -> None:
    rules = Rules(TEXT)
    d = rules.decide({**LOGIN, "method": None, "user": None, "unused": None}, at_ns=0)
    assert (d.rule, d.shadow) == ("site", [])


BAD: list[tuple[Any, type[Exception], str]] = [
    ({"user": 3}, TypeError, "the attribute user is of type int: expected str, bytes or None"),
    ({"unused": 3}, TypeError, "the attribute unused is of type int: expected str, bytes or None"),
    ({b"user": None}, TypeError, "an attribute's name is of type bytes: expected str"),
    ({b"user": "x"}, TypeError, "an attribute's name is of type bytes: expected str"),
    ([("user", "x")], TypeError, "attributes is of type list: expected a mapping of names to values"),
    ({"user": "\ud800"}, UnicodeEncodeError, "surrogates not allowed"),
]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_attributes_charge_nothing(number: int) -> None:
    attributes, error, text = BAD[number]
    rules = Rules(TEXT)
    with pytest.raises(error) as refused:
        rules.decide(attributes)
    assert text in str(refused.value)
    assert rules.stats().live == 0


def test_a_bad_file_changes_nothing(tmp_path: Path) -> None:
    rules = Rules(TEXT)
    rules.decide(LOGIN, at_ns=0)
    bad = TEXT.replace('"2/m"', '"0/m"')
    file = tmp_path / "rules.toml"
    file.write_text(bad)
    with pytest.raises(RulesError) as of_text:
        rules.change(bad)
    with pytest.raises(RulesError) as of_file:
        rules.change(path=file)
    for refused in (of_text.value, of_file.value):
        assert isinstance(refused, ValueError)
        assert (refused.code, refused.line, refused.rule, refused.field) == (
            "bad_policy",
            16,
            "login",
            "limit",
        )
    assert str(of_text.value).startswith("line 16: rule login, limit: bad_policy: `0/m`: zero_limit ")
    assert str(of_file.value).startswith(f"{file}:16: rule login, limit: bad_policy: `0/m`: zero_limit ")
    assert rules.names == ["site", "login", "tighter"]
    assert rules.decide(LOGIN, at_ns=0).remaining == 0


A_LOG = "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = 'sliding_log 5/1h'\n"

BAD_FILES: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: Rules("ratecell_rules = 1"), RulesError, "line 1: rule: missing_field"),
    (lambda: Rules(b"\xff"), RulesError, "syntax"),
    (lambda: Rules(), ValueError, "neither text nor path is given: expected one of them"),
    (lambda: Rules(TEXT, path="x"), ValueError, "text and path are both given: expected one of them"),
    (lambda: Rules(3), TypeError, "text is of type int: expected str or bytes"),  # type: ignore[arg-type]
    (lambda: Rules(TEXT, max_keys=0), ValueError, "max_keys is 0: expected 1 to"),
    (lambda: Rules(TEXT, forked="yes"), TypeError, "forked is of type str: expected bool"),  # type: ignore[arg-type]
    (lambda: Rules(A_LOG, forked=True), ValueError, "a sliding_log keeps its entries in one process"),
    (lambda: Rules(TEXT, when_full="share"), ValueError, "when_full: a cell that newcomers share"),
    (lambda: Rules(TEXT, when_full="burn"), ValueError, "when_full is 'burn'"),  # type: ignore[arg-type]
    (lambda: Rules(path="/nowhere/rules.toml"), FileNotFoundError, "/nowhere/rules.toml"),
    (lambda: Rules(path="/"), IsADirectoryError, "'/'"),
]


A_NAME = "; this is the text of a file: expected path=... for a file's name"


def test_the_name_of_a_file_is_no_text() -> None:
    for name in ("limits.toml", b"/run/limits.toml"):
        with pytest.raises(RulesError, match=f"^line 1: syntax: .*{A_NAME}$"):
            Rules(name)
    rules = Rules(TEXT)
    with pytest.raises(RulesError, match=A_NAME):
        rules.change("limits.toml")
    for text in ("", "limits.toml\n", "limits = "):
        with pytest.raises(RulesError) as refused:
            Rules(text)
        assert A_NAME not in str(refused.value)


@pytest.mark.parametrize("number", range(len(BAD_FILES)))
def test_what_is_no_file_of_rules(number: int) -> None:
    call, error, text = BAD_FILES[number]
    with pytest.raises(error) as refused:
        call()
    assert text in str(refused.value)


def test_a_rule_without_a_name_has_its_number() -> None:
    with pytest.raises(RulesError) as refused:
        Rules("ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = '1/s'\n[[rule]]\nkey = []\n")
    assert refused.value.rule == 2
    with pytest.raises(RulesError) as refused:
        Rules(b"\xff")
    assert (refused.value.code, refused.value.rule, refused.value.field) == ("syntax", None, None)


def test_a_change_keeps_what_stays(tmp_path: Path) -> None:
    rules = Rules(TEXT)
    before = rules.decide(LOGIN, at_ns=0)
    file = tmp_path / "rules.toml"
    file.write_text(TEXT.replace('"2/m"', '"5/m"').replace('"tighter"', '"other"'))
    rules.change(path=file, at_ns=0)
    assert rules.names == ["site", "login", "other"]
    after = rules.decide(LOGIN, at_ns=0)
    assert (after.rule, after.remaining) == ("login", 3)
    assert rules.decide({}, at_ns=0).remaining == 7
    # A decision keeps the rules that made it.
    assert (before.rule, before.limit) == ("login", 2)
    assert before.fields()[0] == ("RateLimit-Policy", '"site";q=10;w=60, "login";q=2;w=60')


def test_threads_decide_while_it_changes() -> None:
    """Each request is decided by one of two files, and what both have is counted across all changes."""
    files = [
        "ratecell_rules = 1\n"
        "[[rule]]\nname = 'all'\nkey = []\nlimit = 'fixed_window 100/1h'\n"
        f"[[rule]]\nname = '{name}'\nkey = ['client']\nlimit = 'fixed_window 1000000/1h'\nmode = 'shadow'\n"
        for name in ("one", "other")
    ]
    rules = Rules(files[0], max_keys=100)
    seen: list[list[tuple[bool, str | None, str]]] = [[] for _ in range(4)]
    begun = threading.Barrier(5)

    def decide(mine: list[tuple[bool, str | None, str]]) -> None:
        begun.wait()
        for _ in range(2000):
            d = rules.decide(LOGIN, at_ns=0)
            ((shadow, _),) = d.shadow
            mine.append((bool(d), d.rule, shadow))

    threads = [threading.Thread(target=decide, args=(mine,)) for mine in seen]
    for thread in threads:
        thread.start()
    begun.wait()
    changes = 0
    while any(thread.is_alive() for thread in threads) or changes < 2:
        changes += 1
        rules.change(files[changes % 2])
    for thread in threads:
        thread.join()
    all_seen = [one for mine in seen for one in mine]
    assert len(all_seen) == 8000
    assert sum(allowed for allowed, _, _ in all_seen) == 100
    assert {(rule, shadow) for _, rule, shadow in all_seen} <= {("all", "one"), ("all", "other")}


def test_fields() -> None:
    d = Rules(TEXT).decide(LOGIN, at_ns=0)
    draft11 = [
        ("RateLimit-Policy", '"site";q=10;w=60, "login";q=2;w=60'),
        ("RateLimit", '"site";r=9;t=6, "login";r=1;t=30'),
    ]
    assert d.fields() == d.fields("draft11") == d.fields(["draft11"]) == draft11
    assert d.fields(style for style in ("x_unix", "draft11")) != draft11
    reset = dict(d.fields("x_unix", now_unix_ns=1_000 * 10**9))["X-RateLimit-Reset"]
    assert reset == "1030"
    with pytest.raises(ValueError, match='no style is called "draft12"'):
        d.fields("draft12")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="styles is empty"):
        d.fields([])
    with pytest.raises(ValueError, match="the styles x and github write fields of the same name"):
        d.fields(["x", "github"])


def test_stats_and_clock() -> None:
    rules = Rules(TEXT, max_keys=1000, epoch_s=1_000_000)
    rules.decide(LOGIN, at_ns=0)
    stats = rules.stats(at_ns=1)
    assert stats.live == 2
    assert stats.slots >= 1000
    assert 1000 * 16 < stats.bytes < 2 * 1000 * 32
    assert rules.epoch == datetime.fromtimestamp(1_000_000, timezone.utc)
    now_ns = rules.now_ns()
    assert 0 < now_ns <= rules.now_ns()
    assert repr(rules) == "<Rules: 3 rules>"
    assert weakref.ref(rules)() is rules


def test_a_full_table_denies() -> None:
    text = "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = ['client']\nlimit = '1/h'\n"
    rules = Rules(text, max_keys=1, when_full="deny")
    decided = [rules.decide({"client": f"10.0.0.{n}"}, at_ns=0) for n in range(100)]
    assert not all(decided)
    assert rules.stats(at_ns=0).denied_full == sum(not d for d in decided)


def test_a_fork_warns_once() -> None:
    rules = Rules(TEXT)

    def child() -> int:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            rules.decide(LOGIN)
            rules.decide(LOGIN)
            rules.change(TEXT)
        assert "rules in memory were used across a fork" in str(warned[0].message)
        return len(warned)

    assert in_a_child(child) == 1


def test_forked_processes_share_the_limits() -> None:
    """Together they admit exactly the limit, and nothing warns."""
    limit = 10_000
    rules = Rules(
        f"ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = ['client']\nlimit = '{limit}/100d'\n", forked=True
    )
    assert rules.decide(LOGIN)
    start = FORK.Barrier(2)
    counts = FORK.Queue()

    def work() -> None:
        start.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            counts.put(sum(bool(rules.decide(LOGIN)) for _ in range(limit)))

    processes = [FORK.Process(target=work) for _ in range(2)]
    for process in processes:
        process.start()
    assert sum(counts.get(timeout=60) for _ in processes) == limit - 1
    for process in processes:
        process.join()
    assert rules.decide(LOGIN).remaining == 0


def test_a_fork_waits_for_a_change() -> None:
    """Of what a change locks, a child has nothing locked: it decides and changes."""

    def file(limit: int) -> str:
        # One rule stays; a table is made for each of the others, in most of the time of a change.
        names = ["stays", *(f"r{n}-{limit}" for n in range(8))]
        every = (f"[[rule]]\nname = '{name}'\nkey = []\nlimit = '{limit}/h'\n" for name in names)
        return "ratecell_rules = 1\n" + "".join(every)

    rules, limiter = Rules(file(1000)), Limiter("1000/h")
    is_over = threading.Event()

    def change() -> None:
        for limit in itertools.cycle((2000, 3000)):
            rules.change(file(limit))
            limiter.change(f"{limit}/h")
            if is_over.is_set():
                break

    def child() -> int:
        # Where it waits for ever, this ends it.
        signal.alarm(60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decided = rules.decide({}), limiter.check("k")
            rules.change(file(4000))
            limiter.change("4000/h")
        return 7 if all(decided) and (rules.decide({}).limit, limiter.capacity) == (4000, 4000) else 0

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            assert in_a_child(child) == 7
    finally:
        is_over.set()
        thread.join()
