"""Runs the README's first lines, with nothing but the standard library and the package that is installed.

python first_lines.py README.md
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import ratecell


def main() -> int:
    """Runs them, and says with what."""
    first = re.search(r"```python\n(>>> .*?)```", Path(sys.argv[1]).read_text(encoding="utf-8"), re.DOTALL)
    assert first, "the README has a program"
    test = doctest.DocTestParser().get_doctest(first[1], {}, "README", sys.argv[1], 0)
    failed, attempted = doctest.DocTestRunner().run(test)
    print(f"{attempted} first lines of the README: {failed} failed, with {ratecell.__file__}")
    return 0 if attempted > 3 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
