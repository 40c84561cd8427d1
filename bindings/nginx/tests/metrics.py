"""The metrics that docs/OPERATIONS.md lists, and those that a text of Prometheus describes."""

import pathlib
import re


def documented():
    """Name, type and meaning of those that limiters have, and of nginx's own."""
    page = pathlib.Path(__file__).parents[3] / "docs" / "OPERATIONS.md"
    rows = re.findall(r"^\| `(ratecell_\w+)` \| (\w+) \| (.*?) \| (.*) \|$", page.read_text(encoding="utf-8"),
                      re.MULTILINE)
    return {name: (kind, meaning) for name, kind, field, meaning in rows
            if field != "—" or name == "ratecell_requests_total"}


def described(text):
    meanings = dict(re.findall(r"^# HELP (\S+) (.*)$", text, re.MULTILINE))
    return {name: (kind, meanings[name]) for name, kind in re.findall(r"^# TYPE (\S+) (.*)$", text, re.MULTILINE)}
