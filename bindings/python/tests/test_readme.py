"""The README's programs run, and print what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import ratecell
from test_http import get, hello


def test_the_readme() -> None:
    tried = doctest.testfile(str(Path(__file__).parents[1] / "README.md"), module_relative=False)
    assert tried.failed == 0
    assert tried.attempted > 25


def test_the_programs_of_the_readme(tmp_path: Path) -> None:
    """Those that print nothing, on files of the test's own."""
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    programs = [p for p in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if ">>>" not in p]
    (tmp_path / "limits.toml").write_text(FILE)
    placed = [
        p.replace("/dev/shm", str(tmp_path)).replace('path="l', f'path="{tmp_path}/l') for p in programs
    ]
    by_limit, by_rules = placed
    for program, statuses in (by_limit, [200, 200]), (by_rules, [200, 429]):
        shown: dict[str, Any] = {"app": hello}
        exec(program, shown)
        assert isinstance(shown["app"], ratecell.RateLimitMiddleware)
        answers = get(shown["app"], "/", "/", **{"X-Forwarded-For": "203.0.113.7"})
        assert [answer.status_code for answer in answers] == statuses


FILE = """
ratecell_rules = 1
attributes = ["tier"]

[[rule]]
name = "address"
match.client = "203.0.113.7"
key = ["client"]
limit = "fixed_window 1/365d"
"""


def test_the_projects_readme(tmp_path: Path) -> None:
    """What it shows of Python, on a file of the test's own: its blocks are one program."""
    text = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    program = "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert "/run/limits" in program
    shown: dict[str, object] = {"ratecell": ratecell}
    exec(program.replace("/run/limits", str(tmp_path / "limits")), shown)
    assert shown["decision"] == ratecell.Limiter("100/s burst=200").check("user:42", at_ns=0)
