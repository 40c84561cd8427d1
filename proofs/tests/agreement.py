"""The executor and a real engine give the same, on random numbers: `python tests/agreement.py MODULE`."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path as File
from typing import Any

import wasmtime

sys.path.insert(0, str(File(__file__).parent.parent))

from prover.machine import Machine
from prover.path import PanicReached, Path
from prover.term import Term
from prover.wasm import Module

CALLS_OF_EACH = 200
I32 = 0x7F
EDGES = (0, 1, 2, (1 << 32) - 1, 1 << 32, (1 << 64) - (1 << 48) - 1, (1 << 64) - (1 << 48), (1 << 64) - 2, (1 << 64) - 1)


def numbers(chance: random.Random, types: list[int]) -> list[int]:
    """One of any size for each parameter; small ones and edges often, and the bits of a count where they may be."""
    chosen = []
    for at, kind in enumerate(types):
        width = 32 if kind == I32 else 64
        number = chance.getrandbits(width) >> chance.randrange(width)
        if chance.random() < 0.1:
            number = chance.choice(EDGES) % (1 << width)
        if kind == I32 and at in (1, 2) and chance.random() < 0.9:
            number = chance.randrange(1, 32)
        if kind == I32 and chance.random() < 0.2:
            number = chance.randrange(8)
        chosen.append(number)
    return chosen


class Engine:
    """Wasmtime, with the module that is proved."""

    def __init__(self, file: File):
        self.store = wasmtime.Store()
        self.module = wasmtime.Module.from_file(self.store.engine, str(file))
        self.results: list[int] = []
        kind = wasmtime.FuncType([wasmtime.ValType.i64()], [])
        self.host = wasmtime.Func(self.store, kind, lambda number: self.results.append(number % (1 << 64)))
        self.start()

    def start(self) -> None:
        """An instance with memory as it is at first."""
        self.exports = wasmtime.Instance(self.store, self.module, [self.host]).exports(self.store)

    def call(self, name: str, types: list[int], numbers: list[int]) -> list[int] | str:
        """What an export gives to the host and returns, or that it panics."""
        self.results.clear()
        try:
            returned: int | None = self.exports[name](self.store, *(map(signed, types, numbers)))
        except wasmtime.Trap:
            self.start()
            return "panic"
        return [*self.results, *([] if returned is None else [returned % (1 << 64)])]


def signed(kind: int, number: int) -> int:
    """A number as the engine takes it."""
    width = 32 if kind == I32 else 64
    return number - (1 << width) if number >> (width - 1) else number


def executed(module: Module, export: str, arguments: list[int]) -> Any:
    """What the executor gives."""
    path = Path([], [], Counter())
    machine = Machine(module, path, atoms=True)
    try:
        returned = machine.call(export, [Term.of(number) for number in arguments])
    except PanicReached:
        return "panic"
    return [term.number() for term in (*machine.results, *returned)]


def main() -> int:
    """Prints how many calls agree, of how many exports; 1 if one does not, or if most of an export's are not executed."""
    file = File(sys.argv[1])
    module = Module(file.read_bytes())
    types = {name: module.functions[number].arity[0] for name, number in module.exports.items()}
    chance, engine = random.Random(1), Engine(file)
    calls = [(name, numbers(chance, kinds)) for name, kinds in types.items() for _ in range(CALLS_OF_EACH)]
    panics = unknown = 0
    compared = dict.fromkeys(types, 0)
    for name, chosen in calls:
        try:
            got = executed(module, name, chosen)
        except NotImplementedError:
            # On such a path nothing is proved.
            unknown += 1
            continue
        answer = engine.call(name, types[name], chosen)
        panics += got == "panic"
        compared[name] += 1
        if got != answer:
            print(f"{name}{tuple(chosen)}: the executor gives {got}, the engine {answer}", file=sys.stderr)
            return 1
    left = [name for name, times in compared.items() if times < CALLS_OF_EACH // 2]
    if left:
        print(f"{', '.join(left)}: most calls are not executed", file=sys.stderr)
        return 1
    same = len(calls) - unknown
    print(f"{same} calls of {len(types)} exports are the engine's, {panics} of them panics; {unknown} are not executed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
