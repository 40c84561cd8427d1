"""The list of proofs, and what each is a proof of: a digest of the code, of the definition and of the prover."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import z3

import definition.core
import definition.hold

from . import arithmetic, divider, kernels, laws, machine, memory, numbers, path, products, search, term, wasm
from .kernels import KERNELS
from .laws import HEALING, LAWS
from .search import Claim

WIDTH = 7
"""The bits of a count in each proof, where not all widths are proved."""

_SOURCES: tuple[ModuleType, ...] = (
    *(arithmetic, divider, kernels, laws, machine, memory, numbers, path, products, search, term, wasm),
    *(definition.core, definition.hold),
)


@dataclass
class Proof:
    """A claim of the exports that it calls."""

    name: str
    claim: Claim
    exports: tuple[str, ...]

    def digest(self, module: wasm.Module) -> str:
        """Of all that the verdict depends on, but for comments."""
        parts = [self.name, z3.get_version_string()]
        parts += [_code(module, module.exports[export]) for export in self.exports]
        parts += [_meaning(source) for source in _SOURCES]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def proofs(module: wasm.Module, *, all_widths: bool = False) -> Iterator[Proof]:
    """Every proof: at one width of a count, or at the narrowest, that one and the widest."""
    for name, law in LAWS.items():
        for export, kind in KERNELS.items():
            widths = [WIDTH] if not all_widths else [1, WIDTH, kind.widest]
            for bits in widths if kind.has_bits else [32]:
                for heals in (False, True) if name in HEALING else (False,):
                    kernel = kind(module, bits, heals)
                    words = [name, export, *(["heal"] if heals else []), *([f"{bits} bits"] if kind.has_bits else [])]
                    yield Proof(" ".join(words), law(kernel), (export,))
    for claim_name, claim in divider.claims(module):
        yield Proof(claim_name, claim, (claim_name.split()[0].replace("-", "_"),))


def at_one_width(name: str) -> str:
    """The name of a proof as it is at the width that is always proved."""
    return re.sub(r"\d+ bits$", f"{WIDTH} bits", name)


@cache
def _meaning(source: ModuleType) -> str:
    """A module of Python without its comments and documentation."""
    tree = ast.parse(inspect.getsource(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)


@cache
def _code(module: wasm.Module, number: int, above: tuple[int, ...] = ()) -> str:
    """The code of a function and of those that it calls, without their numbers. A function that panics is its name."""
    function = module.functions[number]
    name = function.name
    if any(panic in name for panic in machine.PANICS):
        return "panic"
    if function.body is None:
        return name
    if number in above:
        return "itself"

    def written(code: tuple[wasm.Instruction, ...]) -> str:
        parts = []
        for at, one in enumerate(code):
            if one.code == wasm.CALL:
                parts.append("{" + _code(module, one.number, (*above, number)) + "}")
            elif one.code == wasm.I32_CONST and _panics_next(module, code, at):
                parts.append("where")
            else:
                parts.append(
                    f"{one.code:x}.{one.number}.{one.labels}.{one.arity}[{written(one.body)}][{written(one.other)}]"
                )
        return ",".join(parts)

    return f"{function.arity} {function.locals} {written(function.body)}"


def _panics_next(module: wasm.Module, code: tuple[wasm.Instruction, ...], at: int) -> bool:
    """Whether a number is the place in the sources that a panic tells."""
    after = code[at + 1] if at + 1 < len(code) else None
    if after is None or after.code != wasm.CALL:
        return False
    return any(panic in module.functions[after.number].name for panic in machine.PANICS)
