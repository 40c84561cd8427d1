"""What the solver knows of named integers and of their products."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import z3

from .term import Monomial, Term

Condition: TypeAlias = Any
"""A truth value, or a formula of z3."""


@cache
def _variable(monomial: Monomial) -> Any:
    return z3.Int("*".join(monomial))


@cache
def _formula(key: tuple[tuple[Monomial, int], ...]) -> Any:
    return z3.Sum(
        [z3.IntVal(0)] + [factor * _variable(monomial) if monomial else z3.IntVal(factor) for monomial, factor in key]
    )


@cache
def _not_above(key: tuple[tuple[Monomial, int], ...]) -> Any:
    return _formula(key) <= 0


@cache
def _bounded(left: Monomial, right: Monomial, product: Monomial, low: int, high: int) -> Any:
    """Lemmas of `left * right` with a `left` from `low` to `high` and a `right` of at least 0."""
    x, y, xy = _variable(left), _variable(right), _variable(product)
    return z3.And(
        xy >= low * y,
        xy <= high * y,
        z3.Implies(x >= 1, xy >= y),
        z3.Implies(x <= 1, xy <= y),
        z3.Implies(x <= 0, xy <= 0),
    )


@cache
def _ordered(left: Monomial, right: Monomial, product: Monomial, other: Monomial, multiple: Monomial) -> Any:
    """Lemmas of two multiples of a `right` of at least 0: it keeps order and distance."""
    x, y, xy, z, zy = (_variable(monomial) for monomial in (left, right, product, other, multiple))
    return z3.And(
        [
            z3.And(z3.Implies(x + step <= z, xy + step * y <= zy), z3.Implies(z + step <= x, zy + step * y <= xy))
            for step in (0, 1, 2)
        ]
    )


LINEAR_STEPS = 30_000_000
"""How long the solver works on a question, in its own steps: other work on the machine changes no answer."""


class Products:
    """Named integers with their bounds, and products of them.

    The solver decides linear arithmetic: to it a product is one more integer. It is told true lemmas of products, so that
    `unsat` is a proof, whatever the lemmas leave out. `equations` say what the products are: where lemmas do not do, and for
    counterexamples.
    """

    def __init__(self, numbers: dict[str, int] | None) -> None:
        self.numbers = numbers
        """With them every named integer is this number."""
        self.solver = z3.Solver()
        self.solver.set("rlimit", LINEAR_STEPS)
        self.bounds: dict[Monomial, tuple[int, int]] = {}
        self.variables: dict[Monomial, Any] = {}
        self.equations: list[Any] = []
        self._cofactors: dict[Monomial, list[tuple[Monomial, Monomial]]] = {}
        self._sums: dict[Monomial, tuple[Term, int, int]] = {}
        self._count = 0

    def named(self, name: str, low: int, high: int) -> Term:
        """An integer of these bounds, both included."""
        if self.numbers is not None and name in self.numbers:
            return Term.of(self.numbers[name])
        if (name,) in self.variables:
            raise ValueError(f"{name} is named twice")
        self.bounds[(name,)] = (low, high)
        variable = self.variables[(name,)] = _variable((name,))
        self.solver.add(variable >= low, variable <= high)
        return Term({(name,): 1})

    def unnamed(self, kind: str, low: int, high: int) -> Term:
        """An integer that only this path knows."""
        self._count += 1
        return self.named(f"{kind}.{self._count}", low, high)

    def bounds_of(self, monomial: Monomial) -> tuple[int, int]:
        """Bounds of a product by those of its factors."""
        known = self.bounds.get(monomial)
        if known is not None:
            return known
        low = high = 1
        for name in monomial:
            least, most = self.bounds[(name,)]
            corners = (low * least, low * most, high * least, high * most)
            low, high = min(corners), max(corners)
        self.bounds[monomial] = (low, high)
        return low, high

    def bound(self, total: Term, first: Monomial, low: int, high: int) -> None:
        """Assumes bounds of a sum that has the monomial `first` once: those of terms with it follow."""
        self.solver.add(self.not_above(total - high), self.not_above(low - total))
        self._sums[first] = (total, low, high)

    def interval(self, term: Term) -> tuple[int, int]:
        """Bounds of a term by those of its monomials, and of the sums in it."""
        low, high = self._interval(term)
        for first, (total, least, most) in self._sums.items():
            factor = term.parts.get(first, 0)
            if factor:
                rest_low, rest_high = self._interval(term - total.times(factor))
                ends = (factor * least, factor * most)
                low, high = max(low, rest_low + min(ends)), min(high, rest_high + max(ends))
        return low, high

    def _interval(self, term: Term) -> tuple[int, int]:
        low = high = 0
        for monomial, factor in term.parts.items():
            least, most = self.bounds_of(monomial) if monomial else (1, 1)
            low += factor * (least if factor > 0 else most)
            high += factor * (most if factor > 0 else least)
        return low, high

    def formula(self, term: Term) -> Any:
        """The term as the solver has it."""
        for monomial in term.parts:
            if monomial not in self.variables and monomial:
                self.variable(monomial)
        return _formula(term.key)

    def not_above(self, term: Term) -> Any:
        """That the term is at most 0, as the solver has it."""
        self.formula(term)
        return _not_above(term.key)

    def variable(self, monomial: Monomial) -> Any:
        """The solver's integer of a product, with the lemmas about it."""
        known = self.variables.get(monomial)
        if known is not None:
            return known
        variable = self.variables[monomial] = _variable(monomial)
        low, high = self.bounds_of(monomial)
        self.solver.add(variable >= low, variable <= high)
        product = self.variables[(monomial[0],)]
        for name in monomial[1:]:
            product = product * self.variables[(name,)]
        self.equations.append(variable == product)
        done = set()
        for at in range(len(monomial)):
            one, rest = (monomial[at],), monomial[:at] + monomial[at + 1 :]
            for left, right in ((one, rest), (rest, one)):
                if (left, right) not in done:
                    done.add((left, right))
                    self._relate(left, right, monomial)
        return variable

    def _relate(self, left: Monomial, right: Monomial, product: Monomial) -> None:
        """Lemmas of `left * right` beside the other multiples of `right`, which keep order and distance."""
        if self.bounds_of(right)[0] < 0:
            return
        for monomial in (left, right, product):
            self.variable(monomial)
        self.solver.add(_bounded(left, right, product, *self.bounds_of(left)))
        others = self._cofactors.setdefault(right, [])
        for other, multiple in others:
            self.solver.add(_ordered(left, right, product, other, multiple))
        others.append((left, product))

    def told(self, low: Term | int, high: Term | int, factor: Term | int) -> None:
        """Tells the lemma: `low <= high` and `factor >= 0` have `low * factor <= high * factor`."""
        difference, factor = Term.of(low) - high, Term.of(factor)
        given = z3.And(self.not_above(difference), self.not_above(factor.times(-1)))
        self.solver.add(z3.Implies(given, self.not_above(difference * factor)))
