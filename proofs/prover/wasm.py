"""A WebAssembly module as trees of structured code: as much of the format as the kernels need.

Source: the core specification, chapter 5, "Binary Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

BLOCK, LOOP, IF, ELSE, END = 0x02, 0x03, 0x04, 0x05, 0x0B
BR, BR_IF, BR_TABLE, RETURN, CALL, CALL_INDIRECT = 0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11
SELECT, SELECT_TYPED = 0x1B, 0x1C
LOCAL_GET, LOCAL_SET, LOCAL_TEE, GLOBAL_GET, GLOBAL_SET = 0x20, 0x21, 0x22, 0x23, 0x24
FIRST_LOAD, FIRST_STORE, LAST_STORE = 0x28, 0x36, 0x3E
I32_CONST, I64_CONST, F32_CONST, F64_CONST = 0x41, 0x42, 0x43, 0x44
PREFIXED = 0xFC

Arity: TypeAlias = tuple[list[int], list[int]]


class Instruction(NamedTuple):
    """One instruction: of blocks with the code within, of `if` with that of `else` too."""

    code: int
    number: int = 0
    labels: tuple[int, ...] = ()
    arity: Arity = ([], [])
    body: tuple[Instruction, ...] = ()
    other: tuple[Instruction, ...] = ()


@dataclass
class Function:
    """A function: with its code, unless it is imported."""

    arity: Arity
    name: str = ""
    locals: int = 0
    body: tuple[Instruction, ...] | None = None


class _Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if byte & 64 else value

    def bytes(self) -> bytes:
        length = self.unsigned()
        self.at += length
        return self.data[self.at - length : self.at]

    def name(self) -> str:
        return self.bytes().decode()

    def types(self) -> list[int]:
        return list(self.bytes())


class Module:
    """The functions of a module by their numbers, its exports by their names, and the bytes of its memory."""

    def __init__(self, data: bytes):
        if data[:8] != b"\0asm\1\0\0\0":
            raise ValueError("expected a WebAssembly module of version 1")
        self.functions: list[Function] = []
        self.exports: dict[str, int] = {}
        self.globals: list[int] = []
        self.memory: dict[int, int] = {}
        self._types: list[Arity] = []
        self._declared: list[Arity] = []
        sections = {
            1: self._type,
            2: self._import,
            3: self._declare,
            6: self._global,
            7: self._export,
            10: self._code,
        }
        reader = _Reader(data)
        reader.at = 8
        while reader.at < len(data):
            kind, content = reader.byte(), _Reader(reader.bytes())
            if kind in sections:
                for number in range(content.unsigned()):
                    sections[kind](content, number)
            elif kind == 11:
                self._data(content)
            elif kind == 0 and content.name() == "name":
                self._names(content)

    def _type(self, reader: _Reader, _: int) -> None:
        if reader.byte() != 0x60:
            raise ValueError("expected the type of a function")
        self._types.append((reader.types(), reader.types()))

    def _import(self, reader: _Reader, _: int) -> None:
        reader.name()
        name = reader.name()
        if reader.byte() != 0:
            raise ValueError(f"import {name}: expected a function")
        self.functions.append(Function(self._types[reader.unsigned()], name))

    def _declare(self, reader: _Reader, _: int) -> None:
        self._declared.append(self._types[reader.unsigned()])

    def _global(self, reader: _Reader, number: int) -> None:
        reader.at += 2
        if reader.byte() != I32_CONST:
            raise ValueError(f"global {number}: expected a number of 32 bits")
        self.globals.append(reader.signed())
        reader.byte()

    def _export(self, reader: _Reader, _: int) -> None:
        name, kind, number = reader.name(), reader.byte(), reader.unsigned()
        if kind == 0:
            self.exports[name] = number

    def _code(self, reader: _Reader, number: int) -> None:
        body = _Reader(reader.bytes())
        groups = [(body.unsigned(), body.byte()) for _ in range(body.unsigned())]
        code, _ = self._block(body)
        self.functions.append(Function(self._declared[number], "", sum(count for count, _ in groups), code))

    def _data(self, reader: _Reader) -> None:
        for number in range(reader.unsigned()):
            if reader.unsigned() != 0 or reader.byte() != I32_CONST:
                raise ValueError(f"data {number}: expected bytes at a constant address")
            start = reader.signed()
            reader.byte()
            self.memory.update(enumerate(reader.bytes(), start))

    def _names(self, reader: _Reader) -> None:
        while reader.at < len(reader.data):
            kind, content = reader.byte(), _Reader(reader.bytes())
            if kind == 1:
                for _ in range(content.unsigned()):
                    number, name = content.unsigned(), content.name()
                    self.functions[number].name = self.functions[number].name or name

    def _block(self, reader: _Reader) -> tuple[tuple[Instruction, ...], int]:
        """The instructions up to `end` or `else`, and which of the two."""
        block: list[Instruction] = []
        while True:
            code = reader.byte()
            if code in (END, ELSE):
                return tuple(block), code
            block.append(self._instruction(reader, code))

    def _instruction(self, reader: _Reader, code: int) -> Instruction:
        if code in (BLOCK, LOOP, IF):
            arity = self._block_arity(reader.signed())
            body, stop = self._block(reader)
            other = self._block(reader)[0] if stop == ELSE else ()
            return Instruction(code, arity=arity, body=body, other=other)
        if code == BR_TABLE:
            labels = tuple(reader.unsigned() for _ in range(reader.unsigned()))
            return Instruction(code, reader.unsigned(), labels)
        if code in (I32_CONST, I64_CONST):
            return Instruction(code, reader.signed())
        if FIRST_LOAD <= code <= LAST_STORE:
            reader.unsigned()
            return Instruction(code, reader.unsigned())
        if code == SELECT_TYPED:
            reader.types()
            return Instruction(SELECT)
        if code in (F32_CONST, F64_CONST):
            reader.at += 4 if code == F32_CONST else 8
            return Instruction(code)
        if code == PREFIXED:
            number = reader.unsigned()
            # memory.copy has two memories, memory.fill one.
            reader.at += {10: 2, 11: 1}.get(number, 0)
            return Instruction(PREFIXED << 8 | number)
        if code == CALL_INDIRECT:
            reader.unsigned()
            return Instruction(code, reader.unsigned())
        if code in (BR, BR_IF, CALL, LOCAL_GET, LOCAL_SET, LOCAL_TEE, GLOBAL_GET, GLOBAL_SET, 0x3F, 0x40):
            return Instruction(code, reader.unsigned())
        return Instruction(code)

    def _block_arity(self, kind: int) -> Arity:
        if kind == -64:
            return ([], [])
        return ([], [kind & 127]) if kind < 0 else self._types[kind]
