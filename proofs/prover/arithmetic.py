"""The numeric instructions of WebAssembly on terms: each gives what the instruction gives, on the path that is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .path import Path, negated
from .products import Condition
from .term import Term

HALF, WHOLE = 1 << 32, 1 << 64
WIDE = WHOLE * WHOLE

ADD_WIDE, SUB_WIDE, MUL_WIDE = 0xFC13, 0xFC14, 0xFC16
_EQZ = (0x45, 0x50)
_CLZ = {0x67: 32, 0x79: 64}
_WRAP, _EXTEND_UNSIGNED = 0xA7, 0xAD


@dataclass(frozen=True)
class Truth:
    """The result of a comparison, whose answer may not be asked for."""

    condition: Condition


Value: TypeAlias = Term | Truth


def number(path: Path, value: Value) -> Term:
    """A value as a term: a comparison is decided for that."""
    if isinstance(value, Truth):
        return Term.of(1 if path.decide(value.condition) else 0)
    return value


def condition(path: Path, value: Value) -> Condition:
    """Whether a value is not 0."""
    return value.condition if isinstance(value, Truth) else negated(path.equal(value, 0))


def only(path: Path, value: Value) -> int:
    """The one number that a value is on this path."""
    term = number(path, value)
    known = term.number()
    if known is not None:
        return known
    if str(path.solver.check()) != "sat":
        raise NotImplementedError("a number that the solver does not find")
    found = int(path.solver.model().eval(path.formula(term), model_completion=True).as_long())
    if not path.surely(path.equal(term, found)):
        raise NotImplementedError("a shift or an address that is not one number")
    return found


def halves(path: Path, value: Term) -> tuple[Term, Term]:
    """A number below 2^128 as its lower and its upper half."""
    fits = path.interval(value)[1] < WHOLE or path.surely(path.at_most(value, WHOLE - 1))
    high = Term.of(0) if fits else path.floor(value, WHOLE)
    return value - high.times(WHOLE), high


def compute(path: Path, code: int, stack: list[Value]) -> None:
    """Takes an instruction's operands from the stack and puts its result there."""
    if code in _EQZ:
        stack.append(Truth(negated(condition(path, stack.pop()))))
    elif code in (_WRAP, _EXTEND_UNSIGNED):
        stack.append(_converted(path, code, stack.pop()))
    elif code in _CLZ:
        stack.append(_leading_zeros(path, number(path, stack.pop()), _CLZ[code]))
    elif code in (ADD_WIDE, SUB_WIDE, MUL_WIDE):
        _wide(path, code, stack)
    else:
        right, left = stack.pop(), stack.pop()
        stack.append(_binary(path, code, left, right))


def _converted(path: Path, code: int, value: Value) -> Value:
    if isinstance(value, Truth) or code == _EXTEND_UNSIGNED:
        return value
    if path.interval(value)[1] < HALF or path.surely(path.at_most(value, HALF - 1)):
        return value
    return value - path.floor(value, HALF).times(HALF)


def _leading_zeros(path: Path, value: Term, width: int) -> Term:
    for zeros in range(width):
        if path.decide(path.at_most(1 << (width - 1 - zeros), value)):
            return Term.of(zeros)
    return Term.of(width)


def _wide(path: Path, code: int, stack: list[Value]) -> None:
    if code == MUL_WIDE:
        right, left = number(path, stack.pop()), number(path, stack.pop())
        stack.extend(halves(path, left * right))
        return
    right_high, right_low, left_high, left_low = (number(path, stack.pop()) for _ in range(4))
    left, right = left_low + left_high.times(WHOLE), right_low + right_high.times(WHOLE)
    if code == ADD_WIDE:
        value = path.wrapped(left + right, WIDE, 0, 2 * WIDE - 2)
    else:
        value = path.wrapped(left - right, WIDE, 1 - WIDE, WIDE - 1)
    stack.extend(halves(path, value))


def _binary(path: Path, code: int, left: Value, right: Value) -> Value:
    if code in (0x71, 0x72, 0x73) and _are_bits(left, right):
        one, two = path.decide(condition(path, left)), path.decide(condition(path, right))
        return Term.of({0x71: one and two, 0x72: one or two, 0x73: one != two}[code])
    a, b = number(path, left), number(path, right)
    if 0x46 <= code <= 0x4F:
        return Truth(_compared(path, code - 0x46, a, b, 32))
    if 0x51 <= code <= 0x5A:
        return Truth(_compared(path, code - 0x51, a, b, 64))
    if 0x6A <= code <= 0x78:
        return _calculated(path, code - 0x6A, a, b, 32)
    if 0x7C <= code <= 0x8A:
        return _calculated(path, code - 0x7C, a, b, 64)
    raise NotImplementedError(f"instruction {code:#x}")


def _are_bits(*values: Value) -> bool:
    """Whether all are 0 or 1, and one of them is a comparison."""
    return any(isinstance(value, Truth) for value in values) and all(
        isinstance(value, Truth) or value.number() in (0, 1) for value in values
    )


def _compared(path: Path, kind: int, a: Term, b: Term, width: int) -> Condition:
    """Comparisons in the order of their codes: eq, ne, lt, gt, le and ge, of which the last four are signed or unsigned."""
    if kind in (2, 4, 6, 8):
        a, b = _signed(path, a, width), _signed(path, b, width)
    match kind:
        case 0:
            return path.equal(a, b)
        case 1:
            return negated(path.equal(a, b))
        case 2 | 3:
            return path.below(a, b)
        case 4 | 5:
            return path.below(b, a)
        case 6 | 7:
            return path.at_most(a, b)
        case _:
            return path.at_most(b, a)


def _signed(path: Path, value: Term, width: int) -> Term:
    is_negative = path.decide(path.at_most(1 << (width - 1), value))
    return value - (1 << width) if is_negative else value


def _calculated(path: Path, kind: int, a: Term, b: Term, width: int) -> Term:
    """Operations in the order of their codes, from add on."""
    modulus = 1 << width
    match kind:
        case 0:
            return path.wrapped(a + b, modulus, 0, 2 * modulus - 2)
        case 1:
            return path.wrapped(a - b, modulus, 1 - modulus, modulus - 1)
        case 2:
            return path.wrapped(a * b, modulus, 0)
        case 4:
            return path.floor(a, b)
        case 6:
            return a - path.floor(a, b) * b
        case 7:
            return _and(path, a, b)
        case 8:
            return either(path, a, b)
        case 9:
            return _exclusive(path, a, b, modulus)
        case 10:
            shift = only(path, b) % width
            kept = a if _fits(path, a.times(1 << shift), modulus) else _low_bits(path, a, width - shift)
            return kept.times(1 << shift)
        case 11:
            shift = only(path, b) % width
            is_negative = path.decide(path.at_most(modulus // 2, a))
            if shift == width - 1:
                return Term.of(modulus - 1 if is_negative else 0)
            return path.floor(a, 1 << shift) + (modulus - (modulus >> shift) if is_negative else 0)
        case 12:
            return path.floor(a, 1 << (only(path, b) % width))
        case _:
            raise NotImplementedError(f"operation {kind} of {width} bits")


def _fits(path: Path, value: Term, modulus: int) -> bool:
    return path.interval(value)[1] < modulus or path.surely(path.at_most(value, modulus - 1))


def _low_bits(path: Path, value: Term, bits: int) -> Term:
    return value - path.floor(value, 1 << bits).times(1 << bits)


def _and(path: Path, a: Term, b: Term) -> Term:
    if a.number() is not None:
        a, b = b, a
    mask = only(path, b)
    known = a.number()
    if known is not None:
        return Term.of(known & mask)
    if mask & (mask + 1) == 0:
        return _low_bits(path, a, mask.bit_length())
    low = (mask & -mask).bit_length() - 1
    shifted = mask >> low
    if shifted & (shifted + 1) == 0:
        return _low_bits(path, path.floor(a, 1 << low), shifted.bit_length()).times(1 << low)
    raise NotImplementedError(f"an and with {mask:#x}")


def either(path: Path, a: Term, b: Term) -> Term:
    """The bits of both: their sum, where none is in both; else a number of which no more is known than bounds."""
    one, two = a.number(), b.number()
    if one is not None and two is not None:
        return Term.of(one | two)
    for upper, lower in ((a, b), (b, a)):
        if not upper.parts:
            return lower
        unit = min(factor & -factor for factor in upper.parts.values())
        if unit > 1 and path.surely(path.at_most(lower, unit - 1)):
            return upper + lower
    some = path.unnamed("or", 0, WHOLE - 1)
    for part in (a - some, b - some, some - a - b):
        path.assume(path.at_most(part, 0))
    return some


def _exclusive(path: Path, a: Term, b: Term, modulus: int) -> Term:
    for one, other in ((a, b), (b, a)):
        mask = other.number()
        if mask == modulus - 1:
            return other - one
        if mask is not None and mask & (mask + 1) == 0:
            low = one if path.surely(path.at_most(one, mask)) else _low_bits(path, one, mask.bit_length())
            return one - low + other - low
    known = a.number(), b.number()
    if known[0] is None or known[1] is None:
        raise NotImplementedError("an exclusive or of two unknowns")
    return Term.of(known[0] ^ known[1])
