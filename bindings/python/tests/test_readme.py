"""The README's programs run, and print what it says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.test import Client, RequestFactory, override_settings
from django.utils.module_loading import import_string

import django_project  # noqa: F401 - sets Django up
import ratecell
from ratecell import Limiter
from test_http import get, hello


def test_the_readme() -> None:
    tried = doctest.testfile(str(Path(__file__).parents[1] / "README.md"), module_relative=False)
    assert tried.failed == 0
    assert tried.attempted > 25


def programs(folder: Path, page: str, count: int) -> list[dict[str, Any]]:
    """What the programs of a page define: they print nothing, and have their files in `folder`."""
    text = (Path(__file__).parents[1] / page).read_text(encoding="utf-8")
    found = [p for p in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if ">>>" not in p]
    assert len(found) == count
    run = []
    for program in found:
        shown: dict[str, Any] = {"app": hello, "__name__": __name__}
        exec(program.replace("/dev/shm", str(folder)).replace('path="l', f'path="{folder}/l'), shown)
        run.append(shown)
    return run


def framework(folder: Path, name: str) -> dict[str, Any]:
    """What the program of FRAMEWORKS.md for this framework defines."""
    names = ["fastapi", "flask", "django", "rest_framework", "celery"]
    return programs(folder, "FRAMEWORKS.md", len(names))[names.index(name)]


def test_the_programs_of_the_readme(tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text(FILE)
    by_limit, by_fastapi, by_rules = programs(tmp_path, "README.md", 3)
    by_fastapi["app"].get("/")(lambda: "served")
    assert get(by_fastapi["app"], "/")[0].headers["ratelimit-policy"] == '"100/m";q=100;w=60'
    for shown, statuses in (by_limit, [200, 200]), (by_rules, [200, 429]):
        assert isinstance(shown["app"], ratecell.RateLimitMiddleware)
        answers = get(shown["app"], "/", "/", **{"X-Forwarded-For": "203.0.113.7"})
        assert [answer.status_code for answer in answers] == statuses


def test_fastapi(tmp_path: Path) -> None:
    shown = framework(tmp_path, "fastapi")
    answers = get(shown["app"], "/report?token=ann", "/report?token=ann", "/decorated", "/decorated")
    assert [answer.status_code for answer in answers] == [200, 429, 200, 429]
    assert "ratelimit" in answers[0].headers


def test_flask(tmp_path: Path) -> None:
    shown = framework(tmp_path, "flask")
    client = shown["app"].test_client()
    answers = [client.get("/report", headers={"x-user": "ann"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert len(answers[0].headers.getlist("RateLimit")) == 2


def test_django(tmp_path: Path) -> None:
    shown = framework(tmp_path, "django")
    with override_settings(MIDDLEWARE=shown["MIDDLEWARE"], RATECELL=shown["RATECELL"]):
        assert run_checks() == []
        assert Client().get("/")["RateLimit-Policy"] == '"100/m";q=100;w=60'
        asked = RequestFactory().get("/", headers={"x-user": "ann"})
        assert [shown["report"](asked).status_code for _ in range(2)] == [200, 429]


def test_rest_framework(tmp_path: Path) -> None:
    shown = framework(tmp_path, "rest_framework")
    merged = settings.REST_FRAMEWORK | shown["REST_FRAMEWORK"]
    with override_settings(MIDDLEWARE=[], RATECELL=shown["RATECELL"], REST_FRAMEWORK=merged):
        assert run_checks() == []
        # What the settings name is there, and has the rate that they say.
        (throttle,) = map(import_string, shown["REST_FRAMEWORK"]["DEFAULT_THROTTLE_CLASSES"])
        throttle.THROTTLE_RATES = shown["REST_FRAMEWORK"]["DEFAULT_THROTTLE_RATES"]
        try:
            assert Client().get("/api")["RateLimit-Policy"] == '"anon";q=100;w=60'
        finally:
            del throttle.THROTTLE_RATES
        assert (tmp_path / "my-site-throttles" / "anon").exists()


def test_celery(tmp_path: Path) -> None:
    shown = framework(tmp_path, "celery")
    assert shown["mail"]("ann") == "mail to ann"
    assert Limiter(path=tmp_path / "my-mails").stats().live == 1


FILE = """
ratecell_rules = 1
attributes = ["tier"]

[[rule]]
name = "address"
match.client = "203.0.113.7"
key = ["client"]
limit = "fixed_window 1/365d"
"""


def test_the_page_of_the_languages(tmp_path: Path) -> None:
    text = (Path(__file__).parents[3] / "docs" / "LANGUAGES.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "/run/limits" in program
    shown: dict[str, Any] = {}
    exec(program.replace("/run/limits", str(tmp_path / "limits")), shown)
    (answer,) = get(shown["app"], "/")
    assert (answer.json(), answer.headers["ratelimit-policy"]) == ("served", '"100/m";q=100;w=60')
    assert Limiter(path=tmp_path / "limits").peek("192.0.2.1").remaining == 99


def test_the_projects_readme(tmp_path: Path) -> None:
    """What it shows of Python, on a file of the test's own: its blocks are one program."""
    text = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    program = "".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert "/run/limits" in program
    shown: dict[str, object] = {"ratecell": ratecell}
    exec(program.replace("/run/limits", str(tmp_path / "limits")), shown)
    assert shown["decision"] == ratecell.Limiter("100/s burst=200").check("user:42", at_ns=0)
