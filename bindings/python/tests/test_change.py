"""A policy that is changed while the limiter goes on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ratecell import Answer, Decision, Limiter, Outcome, PolicyError, fields

SECOND = 10**9


def test_what_is_used_stays_used() -> None:
    limiter = Limiter("1/s burst=10")
    limiter.check("key", 10, at_ns=0)
    limiter.change("10/s burst=10", at_ns=SECOND)
    assert limiter.policy == "10/s burst=10"
    assert limiter.peek("key", at_ns=SECOND).remaining == 1
    assert limiter.peek("key", at_ns=SECOND * 19 // 10).remaining == 10
    limiter.change("10/s burst=3", at_ns=SECOND)
    assert (limiter.capacity, limiter.peek("key", at_ns=SECOND).outcome) == (3, Outcome.DENIED)


def test_all_limiters_of_the_keys_follow(tmp_path: Path) -> None:
    path = tmp_path / "cells"
    one, other = (Limiter("fixed_window 5/365d", path=path, max_keys=100) for _ in range(2))
    tier = one.with_policy("fixed_window 7/365d")
    one.check("key", 3)
    one.change("fixed_window 20/365d")
    assert [limiter.peek("key").remaining for limiter in (one, other, tier)] == [17, 17, 4]
    assert other.policy == one.policy == tier.policy.replace(" 7/", " 20/")
    denied = tier.check("key", 7)
    assert "q=7;" in dict(fields([Answer(tier, denied)]))["RateLimit-Policy"]


@pytest.mark.parametrize(
    ("policy", "code", "says"),
    [
        ("10/s", "different_table", "expected as many layers"),
        ("10/s & fixed_window 50/d", "different_table", "the same window"),
        ("0/s & fixed_window 50/h", "zero_limit", "limit is 0"),
        ("10 a second", "syntax", "expected LIMIT/PERIOD"),
        ("1/10000d & fixed_window 50/h", "range", "does not fit the words in use"),
    ],
)
def test_what_cannot_follow_is_named(policy: str, code: str, says: str) -> None:
    limiter = Limiter("1000000/s & fixed_window 50/h")
    limiter.check("key", 5, at_ns=0)
    with pytest.raises(PolicyError, match=says) as refused:
        limiter.change(policy, at_ns=0)
    assert refused.value.code == code
    assert limiter.policy == "1000000/s & fixed_window 50/h"
    assert limiter.peek("key", at_ns=0).remaining == 45


def test_an_instant_past_the_last_is_refused() -> None:
    limiter = Limiter("10/s")
    with pytest.raises(PolicyError, match="a change at .*ns: expected at most") as refused:
        limiter.change("9/s", at_ns=2**64 - 1)
    assert (refused.value.code, refused.value.column) == ("clock_range", None)


def test_arguments_of_other_types_are_refused() -> None:
    limiter = Limiter("10/s")
    with pytest.raises(TypeError, match="policy"):
        limiter.change(b"9/s")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="at_ns"):
        limiter.change("9/s", at_ns="now")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at_ns"):
        limiter.change("9/s", at_ns=-1)


def test_who_waits_asks_by_the_new_policy() -> None:
    limiter = Limiter("4/365d")
    for key in ("key", "other"):
        limiter.check(key, 4)
    got: dict[str, Decision | ValueError] = {}

    def wait(key: str, cost: int) -> None:
        try:
            got[key] = limiter.wait(key, cost)
        except ValueError as error:
            got[key] = error

    threads = [threading.Thread(target=wait, args=args) for args in (("key", 1), ("other", 3))]
    for thread in threads:
        thread.start()
    limiter.change("4/365d burst=2")
    threads[1].join()
    assert isinstance(got["other"], ValueError)
    limiter.change("4/365d burst=5")
    threads[0].join()
    assert got["key"]
    assert limiter.wait("new", 5)


def test_requests_are_decided_meanwhile() -> None:
    limiter = Limiter("fixed_window 1000/365d")
    allowed = []

    def ask() -> None:
        allowed.append(sum(bool(limiter.check("key")) for _ in range(500)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(50):
        limiter.change(f"fixed_window {(1500, 1000)[turn % 2]}/365d")
    for thread in threads:
        thread.join()
    assert 1000 <= sum(allowed) <= 1500


def test_a_limiter_without_a_policy_has_the_files(tmp_path: Path) -> None:
    path = tmp_path / "cells"
    with pytest.raises(FileNotFoundError):
        Limiter(path=path)
    assert not path.exists()
    first = Limiter("fixed_window 10/365d", path=path)
    follower = Limiter(path=path)
    first.change("fixed_window 20/365d")
    assert follower.policy == first.policy == "fixed_window 20/365d"
    assert follower.check("key", 20)
    assert not first.check("key")
    with pytest.raises(TypeError, match="policy is missing"):
        Limiter()


def test_another_rate_is_refused_followed_or_changed(tmp_path: Path) -> None:
    path = tmp_path / "cells"
    first = Limiter("10/365d", path=path, max_keys=100)
    assert first.check("key", 10)
    with pytest.raises(ValueError, match=r"`10/365d` in force; expected `12/365d` to have the same rate"):
        Limiter("12/365d", path=path)
    own = Limiter("10/365d burst=11", path=path)
    assert [bool(own.check("key")), bool(own.check("key")), first.policy] == [True, False, "10/365d"]
    follower = Limiter("12/365d", path=path, follow=True)
    assert follower.policy == "10/365d"
    changer = Limiter("12/365d", path=path, change=True)
    assert first.policy == follower.policy == "12/365d"
    assert [bool(follower.check("key")), bool(changer.check("key"))] == [True, False]
    with pytest.raises(PolicyError, match="cannot follow"):
        Limiter("fixed_window 12/365d", path=path, change=True)


def test_what_to_do_with_another_policy_is_for_a_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "cells"
    for option in ({"follow": True}, {"change": True}):
        with pytest.raises(ValueError, match="expected neither without a path and a policy"):
            Limiter("10/s", **option)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="expected neither without a path and a policy"):
            Limiter(path=path, **option)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected one of them, or neither"):
        Limiter("10/s", path=path, follow=True, change=True)
    assert not path.exists()
