"""Where there is no extension module for a platform, importing says which there are and how to build it."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

from ratecell import _extension

HERE = Path(__file__).parent


def test_a_platform_without_a_wheel() -> None:
    # The sources alone, as on a platform for which nothing was built.
    program = f"import sys; sys.path.insert(0, {str(HERE.parent / 'python')!r}); import ratecell"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    told = done.stderr.splitlines()[-1]
    assert told.startswith(
        f"ImportError: ratecell has no extension module for this platform, {sysconfig.get_platform()} ("
    )
    assert _extension.WHEELS in told
    assert "pip install --no-binary ratecell ratecell` builds it, with Rust" in told


def test_the_compiler_is_the_manifests() -> None:
    manifest = (HERE.parent / "Cargo.toml").read_text(encoding="utf-8")
    assert re.findall(r'rust-version = "(.*)"', manifest) == [_extension.RUST]
