"""Limits by rules in a file, which processes that name it have in common."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ratecell import Limiter, Rules
from test_together import in_a_child

LIMIT = 2_000


def text(limit: str) -> str:
    return f"""
ratecell_rules = 1

[[rule]]
name = "site"
key = []
limit = "{limit}"

[[rule]]
name = "login"
match.path = "/login"
key = ["client"]
limit = {{ by = "header:tier", of = {{ pro = "fixed_window 5/1d" }}, default = "fixed_window 3/1d" }}
"""


HELD = text(f"fixed_window {LIMIT}/1d")
LOGIN = {"path": "/login", "client": "203.0.113.7"}


def admitted(rules: Rules, attributes: dict[str, str], most: int) -> int:
    return next((count for count in range(most) if not rules.decide(attributes, at_ns=0)), most)


def test_four_processes(tmp_path: Path) -> None:
    file = tmp_path / "limits"
    rules = Rules(HELD, file=file, max_keys=1_000)
    program = f"""if True:
        from ratecell import Rules
        rules = Rules({HELD!r}, file={str(file)!r})
        print(sum(bool(rules.decide({{"path": "/"}}, at_ns=0)) for _ in range({LIMIT})))
    """
    workers = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    counts = [int(worker.communicate(timeout=60)[0]) for worker in workers]
    assert sum(counts) == LIMIT
    assert not rules.decide({"path": "/"}, at_ns=0)
    assert in_a_child(lambda: int(bool(rules.decide({"path": "/"}, at_ns=0)))) == 0


def test_a_change_is_for_all(tmp_path: Path) -> None:
    file = tmp_path / "limits"
    here, there = Rules(HELD, file=file), Rules(HELD, file=str(file))
    assert admitted(here, LOGIN, 2) == 2
    here.change(HELD.replace("3/1d", "4/1d"), at_ns=0)
    assert admitted(there, LOGIN, 100) == 2
    assert admitted(there, {**LOGIN, "header:tier": "pro"}, 100) == 5
    assert there.stats(at_ns=0).live == 3


def test_another_limit(tmp_path: Path) -> None:
    file = tmp_path / "limits"
    Rules(HELD, file=file)
    other = HELD.replace("5/1d", "6/1d")
    with pytest.raises(
        ValueError, match=r"`fixed_window 5/d` of rule login;limit=pro; expected `fixed_window 6/d`"
    ):
        Rules(other, file=file)
    pro = {**LOGIN, "header:tier": "pro"}
    assert admitted(Rules(other, file=file, follow=True), pro, 100) == 5
    assert admitted(Rules(other, file=file, change=True), pro, 100) == 1
    with pytest.raises(ValueError, match="the limits of rules; expected one policy"):
        Limiter("3/h", path=file)


def test_what_does_not_go_together(tmp_path: Path) -> None:
    file = tmp_path / "limits"
    for wrong, why in [
        ({"follow": True}, "expected neither without a file"),
        ({"file": file, "follow": True, "change": True}, "expected one of them, or neither"),
        ({"file": file, "forked": True}, "forked: expected none with a file"),
        ({"file": file, "epoch_s": 5}, "epoch: expected none"),
        ({"file": file, "when_full": "share"}, "when_full: a cell that newcomers share"),
    ]:
        with pytest.raises(ValueError, match=why):
            Rules(HELD, **wrong)  # type: ignore[arg-type]
    assert not file.exists()
    with pytest.raises(FileNotFoundError):
        Rules(HELD, file=tmp_path / "none" / "limits")
    with pytest.raises(ValueError, match="rule log: a sliding_log"):
        Rules("ratecell_rules = 1\n[[rule]]\nname = 'log'\nkey = []\nlimit = 'sliding_log 3/h'\n", file=file)
