"""The stubs say of every name what the module says of it: an editor shows the one, `help` the other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ratecell import _native

STUBS = Path(_native.__file__).with_name("_native.pyi")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def documented(node: Documented, thing: object, name: str) -> list[tuple[str, str | None, str | None]]:
    """Name, stub's text and module's of everything in `node` that has no underscore."""
    found = [(name, ast.get_docstring(node), thing.__doc__)]
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef) and not child.name.startswith("_"):
            found += documented(child, getattr(thing, child.name), f"{name}.{child.name}")
    return found


FOUND = documented(ast.parse(STUBS.read_text()), _native, "_native")[1:]


@pytest.mark.parametrize(("name", "stub", "module"), FOUND, ids=[name for name, _, _ in FOUND])
def test_the_texts_are_the_same(name: str, stub: str | None, module: str | None) -> None:
    assert stub
    assert module
    assert stub.split() == module.split()


def test_all_that_decides_is_there() -> None:
    names = {name for name, _, _ in FOUND}
    public = {name for name in dir(_native.Limiter) if not name.startswith("_")}
    assert {f"_native.Limiter.{name}" for name in public} <= names
