"""Polynomials with whole coefficients over named integers: the values that both programs compute with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Monomial: TypeAlias = tuple[str, ...]
"""A product of named integers, in the order of their names; the empty one is 1."""

U32 = (1 << 32) - 1
U64 = (1 << 64) - 1
WORD_LIMIT = (1 << 64) - (1 << 48)
"""Words at and above this belong to no policy's state."""


class Term:
    """A sum of monomials, each with its coefficient."""

    __slots__ = ("_key", "parts")

    def __init__(self, parts: dict[Monomial, int]):
        self.parts = {monomial: factor for monomial, factor in parts.items() if factor}
        self._key: tuple[tuple[Monomial, int], ...] | None = None

    @staticmethod
    def of(value: Term | int) -> Term:
        """A number as a term."""
        return value if isinstance(value, Term) else Term({(): int(value)})

    @property
    def key(self) -> tuple[tuple[Monomial, int], ...]:
        """Equal for equal terms, and hashable."""
        if self._key is None:
            self._key = tuple(sorted(self.parts.items()))
        return self._key

    def number(self) -> int | None:
        """Its value, if it is a number."""
        if not self.parts:
            return 0
        return self.parts[()] if len(self.parts) == 1 and () in self.parts else None

    def name(self) -> str | None:
        """Its name, if it is one named integer."""
        if len(self.parts) == 1:
            ((monomial, factor),) = self.parts.items()
            if factor == 1 and len(monomial) == 1:
                return monomial[0]
        return None

    def names(self) -> set[str]:
        """All named integers in it."""
        return {name for monomial in self.parts for name in monomial}

    def times(self, factor: int) -> Term:
        """Its multiple by a number."""
        return Term({monomial: part * factor for monomial, part in self.parts.items()})

    def __add__(self, other: Term | int) -> Term:
        return total((self, Term.of(other)))

    __radd__ = __add__

    def __sub__(self, other: Term | int) -> Term:
        return self + Term.of(other).times(-1)

    def __rsub__(self, other: Term | int) -> Term:
        return Term.of(other) - self

    def __mul__(self, other: Term | int) -> Term:
        if not isinstance(other, Term):
            return self.times(other)
        parts: dict[Monomial, int] = {}
        for one, factor in self.parts.items():
            for two, by in other.parts.items():
                monomial = tuple(sorted(one + two))
                parts[monomial] = parts.get(monomial, 0) + factor * by
        return Term(parts)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return " + ".join(f"{factor}*{'*'.join(monomial)}" for monomial, factor in self.key) or "0"

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Term) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]

    def divided(self, name: str) -> tuple[Term, Term]:
        """Quotient and rest by a named integer: the rest is what does not contain it."""
        whole: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for monomial, factor in self.parts.items():
            if name in monomial:
                at = monomial.index(name)
                whole[monomial[:at] + monomial[at + 1 :]] = factor
            else:
                rest[monomial] = factor
        return Term(whole), Term(rest)


def total(terms: Iterable[Term]) -> Term:
    """The sum of terms."""
    parts: dict[Monomial, int] = {}
    for term in terms:
        for monomial, factor in term.parts.items():
            parts[monomial] = parts.get(monomial, 0) + factor
    return Term(parts)
