"""Limits by the settings of a framework, which are plain values by name."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from ratecell._gate import Gate
from ratecell._http import Limit
from ratecell._limiter import Limiter
from ratecell._native import Label
from ratecell._rules import Rules
from ratecell.keys import client_key

LIMITER = ("policy", "path", "max_keys", "when_full", "key", "cost", "name")
RULES = ("rules", "attributes", "forked", "reserving")
OF_BOTH = ("styles", "status", "fail")
NAMES = (*LIMITER, *RULES, *OF_BOTH)


def gate_of(settings: Mapping[str, Any]) -> Gate:
    """The gate that the settings describe, by their names in lower case.

    Raises what the limiter or the rules raise, and ValueError for settings that do not go together.
    """
    if unknown := sorted(set(settings) - set(NAMES)):
        raise ValueError(f"{unknown[0].upper()} is no setting: expected some of {_upper(NAMES)}")
    has_rules = "rules" in settings
    foreign = sorted(set(settings) & set(LIMITER if has_rules else RULES))
    if foreign:
        raise ValueError(f"{foreign[0].upper()} does not go with {'RULES' if has_rules else 'a POLICY'}")
    options: dict[str, Any] = {name: settings[name] for name in OF_BOTH if name in settings}
    if has_rules:
        made = {name: settings[name] for name in ("forked", "reserving") if name in settings}
        rules = Rules(path=settings["rules"], **made)
        return Gate(rules, attributes=_function(settings.get("attributes"), "ATTRIBUTES"), **options)
    if not settings.keys() & {"policy", "path"}:
        raise ValueError("no limit is set: expected a POLICY, a PATH or RULES")
    made = {name: settings[name] for name in ("path", "max_keys", "when_full") if name in settings}
    limit = Limit(
        Limiter(settings.get("policy"), **made),
        _function(settings.get("key"), "KEY") or client_key,
        _function(settings.get("cost", 1), "COST"),
        label=Label(settings["name"]) if "name" in settings else None,
    )
    return Gate(limit, **options)


def _function(value: Any, name: str) -> Any:
    """A function that a setting names, or is itself."""
    if not isinstance(value, str):
        return value
    try:
        return resolve_name(value)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{name} is {value!r}, and {error}: expected the name of a function, as a.b.c"
        ) from error


def _upper(names: tuple[str, ...]) -> str:
    return ", ".join(name.upper() for name in names)
