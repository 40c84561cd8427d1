"""The setting RATECELL."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from ratecell._gate import Gate
from ratecell._settings import gate_of

NAME = "RATECELL"
THROTTLE_FOLDER = "THROTTLE_FOLDER"


def _setting() -> Mapping[str, Any]:
    found = getattr(settings, NAME, {})
    if not isinstance(found, Mapping):
        raise ImproperlyConfigured(f"{NAME} is of type {type(found).__name__}: expected a dict")
    return found


def configured() -> dict[str, Any]:
    """The setting as a dictionary, without what is of the throttles; names are in lower case.

    Raises ImproperlyConfigured where it is no dictionary.
    """
    found = _setting()
    for name in found:
        if not isinstance(name, str) or not name.isupper():
            raise ImproperlyConfigured(f"{NAME} has {name!r}: expected names in capital letters, as POLICY")
    return {name.lower(): value for name, value in found.items() if name != THROTTLE_FOLDER}


def throttle_folder() -> Path | None:
    """Where the throttles have their files; None is memory."""
    found = _setting().get(THROTTLE_FOLDER)
    return None if found is None else Path(found)


@functools.cache
def gate() -> Gate:
    """The gate of the middleware, made once in a process. Raises ImproperlyConfigured."""
    try:
        return gate_of(configured())
    except (ValueError, TypeError, OSError, MemoryError) as error:
        raise ImproperlyConfigured(f"{NAME}: {error}") from error


def _forget(*, setting: str, **_: Any) -> None:
    """Tests override settings."""
    if setting == NAME:
        gate.cache_clear()


setting_changed.connect(_forget)
