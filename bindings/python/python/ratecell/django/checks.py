"""Checks of the settings: `manage.py check`, and each start of a command, says what is wrong with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.checks import Warning as CheckWarning
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from ratecell._limiter import Limiter
from ratecell._settings import gate_of
from ratecell.django.settings import NAME, configured, throttle_folder

MIDDLEWARE = "ratecell.django.RateLimitMiddleware"
WRONG = (ValueError, TypeError, OSError, MemoryError, ImproperlyConfigured)


def check_limit(**_: Any) -> list[CheckMessage]:
    """ratecell.E001: the middleware cannot be made of the setting RATECELL."""
    if not _is_in_use():
        return []
    try:
        found = configured()
        path = found.get("path")
        if path is not None and not Path(path).exists():
            # The file is the server's to make, whose user this command's need not be.
            _check_folder(Path(path).parent)
            found.pop("path")
            found.setdefault("max_keys", 1)
        gate_of(found)
    except WRONG as error:
        return [Error(f"{NAME}: {error}", id="ratecell.E001")]
    return []


def check_throttles(**_: Any) -> list[CheckMessage]:
    """ratecell.E002: a throttle of `ratecell.rest_framework` has a rate that is no policy, or no folder."""
    framework = getattr(settings, "REST_FRAMEWORK", None) or {}
    found: list[CheckMessage] = []
    for name in framework.get("DEFAULT_THROTTLE_CLASSES", ()):
        if not (isinstance(name, str) and name.startswith("ratecell.")):
            continue
        try:
            throttle = import_string(name)
            folder = throttle_folder()
            if folder is not None and not folder.is_dir():
                _check_folder(folder.parent)
            for scope, rate in getattr(throttle, "rates", dict)().items():
                _check_rate(scope, rate)
        except (*WRONG, ImportError) as error:
            found.append(Error(f"{name}: {error}", id="ratecell.E002"))
    return found


def check_deployment(**_: Any) -> list[CheckMessage]:
    """ratecell.W001: the limit is in memory, where each worker has one of its own."""
    if not _is_in_use():
        return []
    try:
        found = configured()
    except ImproperlyConfigured:
        return []
    if found.get("path") or found.get("forked"):
        return []
    return [
        CheckWarning(
            f"{NAME} has its limits in memory, so each worker process has limits of its own",
            hint="Set PATH to a file that they share, or FORKED for RULES and workers that are forked.",
            id="ratecell.W001",
        )
    ]


def _is_in_use() -> bool:
    return (
        MIDDLEWARE in settings.MIDDLEWARE
        or "ratecell.django.middleware.RateLimitMiddleware" in settings.MIDDLEWARE
    )


def _check_rate(scope: str, rate: str) -> None:
    try:
        Limiter(rate, max_keys=1)
    except (ValueError, TypeError) as error:
        raise ValueError(f"the rate of {scope!r}: {error}") from error


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}: expected one for the file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"nothing can be made in the folder {folder}: expected one that this user may write")
