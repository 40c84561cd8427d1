"""The divider that ships gives the quotients that the kernels are proved with: for every `u64` and every divisor above 0."""

from __future__ import annotations

from collections.abc import Iterator

from . import wasm
from .machine import Machine
from .path import Path
from .search import Claim, must
from .term import U64, Term

WHOLE = 1 << 64


def claims(module: wasm.Module) -> Iterator[tuple[str, Claim]]:
    """One claim for each rounding and each `ceil(log2 d)`, of which all divisors have one."""
    for rounding in ("floor", "ceil"):
        for power in range(65):
            yield f"divider-{rounding} {power}", _claim(module, rounding, power)


def _claim(module: wasm.Module, rounding: str, power: int) -> Claim:
    low, high = (1, 1) if power == 0 else ((1 << power - 1) + 1, min(1 << power, U64))

    def claim(path: Path) -> None:
        divisor, dividend = path.named("d", low, high), path.named("n", 0, U64)
        (got,) = Machine(module, path).call(f"divider_{rounding}", [divisor, dividend])
        if power == 0:
            must(path, rounding, path.equal(got, dividend))
            return
        below = dividend
        if rounding == "ceil":
            if path.decide(path.equal(dividend, 0)):
                must(path, "ceil of 0", path.equal(got, 0))
                return
            # ceil(n / d) is floor((n - 1) / d) + 1.
            below = dividend - 1
        quotient = path.floor(below, divisor)
        _tell(path, power, divisor, below, quotient)
        must(path, rounding, path.equal(got, quotient if rounding == "floor" else quotient + 1))

    return claim


def _tell(path: Path, power: int, divisor: Term, dividend: Term, quotient: Term) -> None:
    """Tells what the multiplier is for: with 2^64 added it is m, and m * d = 2^(64 + power) + e for an e from 1 to d.

    So n * e is at most n * 2^power, and m * n is between q * 2^(64 + power) and (q + 1) * 2^(64 + power): both are compared
    with the divisor as a factor.
    """
    unit = 1 << (64 + power)
    multiplier = path.floor(Term.of(unit) - divisor * WHOLE, divisor) + 1 + WHOLE
    excess = multiplier * divisor - unit
    path.told(excess, 1 << power, dividend)
    path.told(0, excess, dividend)
    path.told((quotient + 1) * unit, multiplier * dividend, divisor)
    path.told(multiplier * dividend + 1, quotient * unit, divisor)
