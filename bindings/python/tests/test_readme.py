"""The README's programs run, and print what it says."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_readme() -> None:
    tried = doctest.testfile(str(Path(__file__).parents[1] / "README.md"), module_relative=False)
    assert tried.failed == 0
    assert tried.attempted > 25
