"""Loads the extension module, or says how to come by it."""

from __future__ import annotations

import sysconfig

WHEELS = "Linux on x86-64 and aarch64, with glibc 2.17 or musl 1.2 and later"
"""For which platforms `ci/wheels.sh` makes wheels."""
RUST = "1.88"
"""The oldest compiler that builds it."""

try:
    from ratecell import _native  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"ratecell has no extension module for this platform, {sysconfig.get_platform()} ({error}). "
        f"There are wheels for {WHEELS}. On another Unix `pip install --no-binary ratecell ratecell` "
        f"builds it, with Rust {RUST} or later from https://rustup.rs"
    ) from error
