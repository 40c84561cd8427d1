"""How a request was decided."""

from __future__ import annotations

import enum


class Outcome(enum.IntEnum):
    """How a request was decided; the numbers are those of the C library."""

    ALLOWED = 0
    """It may go; its cost was charged."""
    DENIED = 1
    """Not now; nothing was charged."""
    NEVER = 2
    """It can never go: its cost exceeds the capacity, or its own units alone are delayed for too long."""
    CLOCK_RANGE = 3
    """The time is past the range of the policy. Nothing was charged."""
    ASKED = 4
    """Not known yet: the store that machines share was asked. Nothing was charged. Only with `wait=False`."""
