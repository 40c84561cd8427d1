"""A real server: four workers of uvicorn, one file, one limit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "four_workers.py"


def test_four_workers_admit_exactly_the_limit() -> None:
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.fullmatch(
        r"admitted 300 of 1000 by (\d) workers: exactly the limit", done.stdout.splitlines()[-1]
    )
    assert told is not None
    # Which worker takes a connection is the system's choice; that several do is what this is about.
    assert int(told[1]) > 1
