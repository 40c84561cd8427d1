"""Executes a function of a WebAssembly module on terms, along one path."""

from __future__ import annotations

from . import arithmetic, wasm
from .arithmetic import WHOLE, WIDE, Value, halves
from .memory import Memory
from .path import PanicReached, Path
from .term import Term

PANICS = ("panicking", "unwrap_failed", "expect_failed")
"""What is in the names of the functions that panic."""

_RETURNED = -1


class Machine:
    """A module with a memory of its own."""

    def __init__(self, module: wasm.Module, path: Path, atoms: bool = True):
        self._module, self._path = module, path
        self._memory = Memory(path, module.memory)
        self._globals = [Term.of(value) for value in module.globals]
        self._atoms = atoms
        """Whether the kernels' divisions are taken for what they are, or executed."""
        self.results: list[Term] = []
        """What the code has given to the host."""

    def call(self, export: str, arguments: list[Term]) -> list[Term]:
        """Calls an export."""
        stack: list[Value] = list(arguments)
        self._call(self._module.exports[export], stack)
        return [arithmetic.number(self._path, value) for value in stack]

    def _call(self, number: int, stack: list[Value]) -> None:
        function = self._module.functions[number]
        count = len(function.arity[0])
        arguments = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        if self._known(function.name, arguments, stack):
            return
        if function.body is None:
            raise NotImplementedError(f"import {function.name}")
        frame = [*arguments, *(Term.of(0) for _ in range(function.locals))]
        values: list[Value] = []
        self._run(function.body, frame, values)
        results = len(function.arity[1])
        stack.extend(values[len(values) - results :])

    def _known(self, name: str, arguments: list[Value], stack: list[Value]) -> bool:
        """Does what a function of this name does, if that is known without its code."""
        path = self._path
        if any(panic in name for panic in PANICS):
            raise PanicReached(name)
        if name == "result":
            self.results.append(arithmetic.number(path, arguments[0]))
        elif self._atoms and "Divider5floor" in name:
            divisor, dividend = (arithmetic.number(path, value) for value in arguments)
            stack.append(path.floor(dividend, divisor))
        elif self._atoms and "Divider4ceil" in name:
            divisor, dividend = (arithmetic.number(path, value) for value in arguments)
            stack.append(path.ceil(dividend, divisor))
        elif name in ("__udivti3", "__umodti3", "__multi3", "__ashlti3", "__lshrti3"):
            to, *numbers = (arithmetic.number(path, value) for value in arguments)
            self._store_wide(arithmetic.only(path, to), self._wide(name, numbers))
        else:
            return False
        return True

    def _wide(self, name: str, numbers: list[Term]) -> Term:
        """The compiler's functions for numbers of 128 bits."""
        path = self._path
        value = numbers[0] + numbers[1].times(WHOLE)
        if name in ("__ashlti3", "__lshrti3"):
            power = 1 << arithmetic.only(path, numbers[2])
            return path.floor(value, power) if name == "__lshrti3" else path.wrapped(value.times(power), WIDE, 0)
        by = numbers[2] + numbers[3].times(WHOLE)
        if name == "__multi3":
            return path.wrapped(value * by, WIDE, 0)
        quotient = path.floor(value, by)
        return quotient if name == "__udivti3" else value - quotient * by

    def _store_wide(self, address: int, value: Term) -> None:
        low, high = halves(self._path, value)
        self._memory.store(address, 8, low)
        self._memory.store(address + 8, 8, high)

    def _run(self, code: tuple[wasm.Instruction, ...], frame: list[Value], stack: list[Value]) -> int | None:
        """None at the end of the code, how many blocks a branch leaves, or that the function returns."""
        for instruction in code:
            left = self._step(instruction, frame, stack)
            if left is not None:
                return left
        return None

    def _step(self, instruction: wasm.Instruction, frame: list[Value], stack: list[Value]) -> int | None:
        path, number = self._path, instruction.number
        match instruction.code:
            case wasm.LOCAL_GET:
                stack.append(frame[number])
            case wasm.LOCAL_SET:
                frame[number] = stack.pop()
            case wasm.LOCAL_TEE:
                frame[number] = stack[-1]
            case wasm.I32_CONST:
                stack.append(Term.of(number % (1 << 32)))
            case wasm.I64_CONST:
                stack.append(Term.of(number % WHOLE))
            case wasm.GLOBAL_GET:
                stack.append(self._globals[number])
            case wasm.GLOBAL_SET:
                self._globals[number] = arithmetic.number(path, stack.pop())
            case wasm.BLOCK | wasm.IF:
                return self._block(instruction, frame, stack)
            case wasm.BR:
                return number
            case wasm.BR_IF:
                return number if path.decide(arithmetic.condition(path, stack.pop())) else None
            case wasm.BR_TABLE:
                chosen = arithmetic.number(path, stack.pop())
                for value, label in enumerate(instruction.labels):
                    if path.decide(path.equal(chosen, value)):
                        return label
                return number
            case wasm.RETURN:
                return _RETURNED
            case wasm.CALL:
                self._call(number, stack)
            case 0x00:
                raise PanicReached("unreachable")
            case 0x01:
                pass
            case 0x1A:
                stack.pop()
            case wasm.SELECT:
                chosen_by, other, one = stack.pop(), stack.pop(), stack.pop()
                stack.append(one if path.decide(arithmetic.condition(path, chosen_by)) else other)
            case code if wasm.FIRST_LOAD <= code <= wasm.LAST_STORE:
                self._access(code, number, stack)
            case code if code in (wasm.LOOP, wasm.CALL_INDIRECT):
                raise NotImplementedError(f"instruction {code:#x}")
            case code:
                arithmetic.compute(path, code, stack)
        return None

    def _block(self, block: wasm.Instruction, frame: list[Value], stack: list[Value]) -> int | None:
        body = block.body
        if block.code == wasm.IF and not self._path.decide(arithmetic.condition(self._path, stack.pop())):
            body = block.other
        height = len(stack) - len(block.arity[0])
        left = self._run(body, frame, stack)
        if left is None:
            return None
        if left != 0:
            return left if left == _RETURNED else left - 1
        results = len(block.arity[1])
        stack[height:] = stack[len(stack) - results :] if results else []
        return None

    def _access(self, code: int, offset: int, stack: list[Value]) -> None:
        sizes = {0x28: 4, 0x29: 8, 0x2D: 1, 0x35: 4, 0x36: 4, 0x37: 8, 0x3A: 1}
        if code not in sizes:
            raise NotImplementedError(f"instruction {code:#x}")
        value = arithmetic.number(self._path, stack.pop()) if code >= wasm.FIRST_STORE else None
        address = arithmetic.only(self._path, stack.pop()) + offset
        if value is None:
            stack.append(self._memory.load(address, sizes[code]))
        else:
            self._memory.store(address, sizes[code], value)
