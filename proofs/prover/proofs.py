"""The list of proofs, and what each is a proof of: a digest of the code, of the definition and of the prover."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import symtable
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import z3

import definition.change
import definition.core
import definition.hold
import definition.reserve

from . import (
    arithmetic,
    bounds,
    changing,
    divider,
    kernels,
    laws,
    leases,
    lending,
    machine,
    memory,
    numbers,
    path,
    products,
    search,
    settling,
    starting,
    term,
    wasm,
)
from .kernels import KERNELS, Kernel
from .search import Claim

WIDTH = 7
"""The bits of a count in each proof, where not all widths are proved."""

_SOURCES: tuple[ModuleType, ...] = (
    *(arithmetic, machine, memory, numbers, path, products, search, term, wasm),
    *(definition.core, definition.hold),
)


@dataclass
class Proof:
    """A claim of the exports that it calls."""

    name: str
    claim: Claim
    exports: tuple[str, ...]
    said: tuple[tuple[ModuleType, str], ...]
    """What of the prover says the claim, beside what all proofs share."""

    def digest(self, module: wasm.Module) -> str:
        """Of all that the verdict depends on, but for comments."""
        parts = [self.name, z3.get_version_string()]
        parts += [_code(module, module.exports[export]) for export in self.exports]
        parts += [meaning(source) for source in _SOURCES]
        parts += [meaning(source, name) for source, name in self.said]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class _Family:
    """Laws of kernels, with the exports that they call beside a kernel's own."""

    source: ModuleType
    laws: Mapping[str, Callable[[Kernel], Claim]]
    of: Collection[str]
    calls: tuple[str, ...] = ()
    healing: Collection[str] = ()
    reads: tuple[ModuleType, ...] = ()
    """What of the definition they are about, beside the kernels."""


_FAMILIES = (
    _Family(laws, starting.OTHERS, KERNELS, healing=laws.HEALING),
    _Family(laws, {"carried": laws.carried}, KERNELS.keys() - starting.STARTED),
    _Family(starting, {"carried": starting.carried}, starting.STARTED),
    _Family(lending, lending.LAWS, lending.LENT, calls=("taken",)),
    _Family(settling, settling.LAWS, settling.SETTLED, calls=("given_back",), reads=(definition.reserve,)),
    _Family(bounds, bounds.RATES, bounds.OF_A_RATE),
    _Family(bounds, bounds.WINDOWS, bounds.OF_WINDOWS),
)


def proofs(module: wasm.Module, *, all_widths: bool = False) -> Iterator[Proof]:
    """Every proof: at one width of a count, or at the narrowest, that one and the widest."""
    for family in _FAMILIES:
        for name in family.laws:
            for export in KERNELS:
                if export in family.of:
                    for heals in (False, True) if name in family.healing else (False,):
                        yield from _of_a_kernel(module, family, name, KERNELS[export], heals, all_widths)
    for claim_name, claim, exports in leases.claims(module):
        yield Proof(claim_name, claim, exports, ((leases, "claims"), (kernels, "CALLS")))
    for defined, claim_name, claim, exports in changing.claims(module):
        said = ((changing, defined), (kernels, "CALLS"), (kernels, "MAX_PERIOD"), (definition.change, ""))
        yield Proof(claim_name, claim, exports, said)
    for claim_name, claim in divider.claims(module):
        yield Proof(claim_name, claim, (claim_name.split()[0].replace("-", "_"),), ((divider, "claims"),))


def _of_a_kernel(
    module: wasm.Module, family: _Family, name: str, kind: type[Kernel], heals: bool, all_widths: bool
) -> Iterator[Proof]:
    widths = [WIDTH] if not all_widths else [1, WIDTH, kind.widest]
    exports = (kind.export, *(f"{kind.export}_{call}" for call in family.calls))
    said = ((family.source, name), (kernels, kind.__name__), *((source, "") for source in family.reads))
    for bits in widths if kind.has_bits else [32]:
        words = [name, kind.export, *(["heal"] if heals else []), *([f"{bits} bits"] if kind.has_bits else [])]
        yield Proof(" ".join(words), family.laws[name](kind(module, bits, heals)), exports, said)


def at_one_width(name: str) -> str:
    """The name of a proof as it is at the width that is always proved."""
    return re.sub(r"\d+ bits$", f"{WIDTH} bits", name)


@cache
def meaning(source: ModuleType, name: str = "") -> str:
    """A module of Python, or what of it a name stands on, without comments and documentation."""
    tree = ast.parse(inspect.getsource(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
    if name:
        tree.body = _reached(tree.body, name)
    return ast.dump(tree)


def _reached(statements: list[ast.stmt], name: str) -> list[ast.stmt]:
    """Those that define a name, or a name that one of them uses. No statement has another effect than to define."""
    kept: list[ast.stmt] = []
    wanted = {name}
    while True:
        more = [one for one in statements if one not in kept and wanted & _defined(one)]
        if not more:
            return [one for one in statements if one in kept]
        kept += more
        wanted |= {name for one in more for name in _used(one)}


def _used(statement: ast.stmt) -> set[str]:
    """The names of the module that a statement uses: those of its own variables are none."""
    module = symtable.symtable(ast.unparse(statement), "", "exec")

    def within(scope: symtable.SymbolTable) -> Iterator[str]:
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (scope is module or symbol.is_global()):
                yield symbol.get_name()
        for inner in scope.get_children():
            yield from within(inner)

    return set(within(module))


def _defined(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(alias.asname or alias.name).split(".")[0] for alias in names}
        case ast.Assign(targets=targets):
            return {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
        case ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case _:
            raise ValueError(f"line {statement.lineno}: expected a definition")


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
