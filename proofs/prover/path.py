"""One path through both programs: what is assumed on it, and the questions that chose it."""

from __future__ import annotations

from collections import Counter

import z3

from .products import Condition, Products
from .term import Term

NONLINEAR_STEPS = 30_000_000
"""How long the solver of products as they are is asked, in its own steps."""


class PanicReached(Exception):
    """A panic of the code, or a failed assertion of the definition."""


class NotOnThisPath(Exception):
    """An assumption does not hold."""


def negated(condition: Condition) -> Condition:
    """Its negation."""
    return (not condition) if isinstance(condition, bool) else z3.Not(condition)


class Path(Products):
    """A path: the answers that its `trace` has are taken, and further ones are asked of the solver.

    Where both answers are possible, the path takes one, and the trace of the other is left in `pending`.
    """

    def __init__(
        self,
        trace: list[bool],
        pending: list[list[bool]],
        counts: Counter[str],
        numbers: dict[str, int] | None = None,
    ):
        super().__init__(numbers)
        self.trace, self.pending, self.counts = trace, pending, counts
        self.goals: list[tuple[str, Condition]] = []
        """What must hold on this path, by name."""
        self._at = 0
        self._divisors: dict[str, Term] = {}
        self._quotients: dict[tuple[object, ...], Term] = {}

    # Comparisons.

    def at_most(self, low: Term | int, high: Term | int) -> Condition:
        """`low <= high`."""
        difference = Term.of(low) - high
        least, most = self.interval(difference)
        if most <= 0:
            return True
        if least > 0:
            return False
        self._multiply(difference)
        return self.not_above(difference)

    def below(self, low: Term | int, high: Term | int) -> Condition:
        """`low < high`."""
        return self.at_most(Term.of(low) + 1, high)

    def equal(self, one: Term | int, two: Term | int) -> Condition:
        """`one == two`."""
        difference = Term.of(one) - two
        if not difference.parts:
            return True
        least, most = self.interval(difference)
        if least > 0 or most < 0:
            return False
        self._multiply(difference)
        return self.formula(difference) == 0

    def _multiply(self, difference: Term) -> None:
        """Tells that a comparison with a quotient holds of its multiple by the divisor."""
        if any(len(monomial) > 1 for monomial in difference.parts):
            return
        divisors = {self._divisors[name].key for name in difference.names() if name in self._divisors}
        for key in divisors:
            mark = ("multiplied", difference.key, key)
            if mark not in self._quotients:
                divisor = self._quotients[mark] = Term(dict(key))
                self.told(difference, 0, divisor)
                self.told(1, difference, divisor)
                self.told(difference + 1, 0, divisor)

    # Questions.

    def possible(self, condition: Condition) -> bool:
        """Whether the solver does not refute it: what it does not know is possible."""
        self.counts["queries"] += 1
        return bool(self.solver.check(condition) != z3.unsat)

    def assume(self, condition: Condition) -> None:
        """Goes on only where it holds."""
        if isinstance(condition, bool):
            if not condition:
                raise NotOnThisPath
            return
        self.solver.add(condition)

    def decide(self, condition: Condition) -> bool:
        """Takes a side of it; the other one, if it is possible, is another path."""
        if isinstance(condition, bool):
            return condition
        if self._at < len(self.trace):
            side = self.trace[self._at]
        else:
            side = self.possible(condition)
            if side and self.possible(negated(condition)):
                self.pending.append([*self.trace, False])
            self.trace.append(side)
        self._at += 1
        self.solver.add(condition if side else negated(condition))
        return side

    def surely(self, condition: Condition) -> bool:
        """Whether it holds everywhere on this path."""
        if isinstance(condition, bool):
            return condition
        if self._at < len(self.trace):
            answer = self.trace[self._at]
        else:
            answer = not self.possible(negated(condition))
            self.trace.append(answer)
        self._at += 1
        if answer:
            self.solver.add(condition)
        return answer

    def broken(self) -> tuple[str, Condition] | None:
        """The first goal that is not shown to follow: by lemmas, all at once, else by products as they are."""
        self.counts["goals"] += len(self.goals)
        goals = [(name, goal) for name, goal in self.goals if goal is not True]
        formulas = [goal for _, goal in goals if not isinstance(goal, bool)]
        if len(formulas) == len(goals) and (not formulas or not self.possible(z3.Not(z3.And(formulas)))):
            return None
        for name, goal in goals:
            is_refuted = goal is not False and not self.possible(negated(goal))
            if not is_refuted and not self.refuted(negated(goal)):
                return name, goal
        return None

    def refuted(self, condition: Condition) -> bool:
        """Whether no numbers fulfil it on this path, with products as they are."""
        self.counts["nonlinear"] += 1
        solver = z3.SolverFor("QF_NIA")
        solver.set("rlimit", NONLINEAR_STEPS)
        solver.add(self.solver.assertions())
        solver.add(self.equations)
        solver.add(condition)
        return bool(solver.check() == z3.unsat)

    # Arithmetic.

    def floor(self, dividend: Term | int, divisor: Term | int) -> Term:
        """`floor(dividend / divisor)` of a dividend of at least 0."""
        return self._quotient("floor", Term.of(dividend), Term.of(divisor))

    def ceil(self, dividend: Term | int, divisor: Term | int) -> Term:
        """`ceil(dividend / divisor)` of a dividend of at least 0."""
        return self._quotient("ceil", Term.of(dividend), Term.of(divisor))

    def _quotient(self, kind: str, dividend: Term, divisor: Term) -> Term:
        n, d = dividend.number(), divisor.number()
        if n is not None and d:
            return Term.of(n // d if kind == "floor" else -(-n // d))
        if d == 1:
            return dividend
        if self.interval(divisor)[0] < 1 and not self.surely(self.at_most(1, divisor)):
            raise PanicReached("division by zero")
        mark = (kind, dividend.key, divisor.key)
        known = self._quotients.get(mark)
        if known is not None:
            return known
        whole = self._whole(kind, dividend, divisor)
        if whole is not None:
            return whole
        most = max(self.interval(dividend)[1], 0)
        least = max(self.interval(divisor)[0], 1)
        quotient = self.unnamed(kind, 0, most // least if kind == "floor" else -(-most // least))
        multiple = quotient * divisor
        if kind == "floor":
            self.solver.add(self.not_above(multiple - dividend), self.not_above(dividend + 1 - multiple - divisor))
        else:
            self.solver.add(self.not_above(dividend - multiple), self.not_above(multiple + 1 - dividend - divisor))
        self._quotients[mark] = quotient
        name = quotient.name()
        if d is None and name is not None:
            self._divisors[name] = divisor
        self._in_order(kind, dividend, divisor, quotient)
        return quotient

    def parted(self, name: str, divisor: Term, most: int, *, up: bool = False) -> Term:
        """Any integer from 0 to `most`, as a multiple of the named `divisor` and a rest of less than that.

        The rest is taken from the multiple if `up`, and added otherwise. So the quotient by this divisor is a named integer.
        """
        multiple = self.named(f"{name}_multiple", 0, most)
        rest = self.named(f"{name}_rest", 0, self.interval(divisor)[1] - 1)
        self.assume(self.below(rest, divisor))
        whole = multiple * divisor
        value = whole - rest if up else whole + rest
        if value.number() is None and len(whole.parts) == 1 and whole.number() is None:
            self.bound(value, next(iter(whole.parts)), 0, most)
        else:
            self.assume(self.at_most(0, value))
            self.assume(self.at_most(value, most))
        self._quotients["ceil" if up else "floor", value.key, divisor.key] = multiple
        return value

    def _whole(self, kind: str, dividend: Term, divisor: Term) -> Term | None:
        """The quotient as a term, where the rest is surely less than the divisor."""
        d, name = divisor.number(), divisor.name()
        if d is not None:
            multiples = {monomial: factor for monomial, factor in dividend.parts.items() if factor % d == 0}
            whole, rest = (
                Term({m: factor // d for m, factor in multiples.items()}),
                dividend - Term(multiples),
            )
        elif name is not None:
            whole, rest = dividend.divided(name)
        else:
            return None
        if not rest.parts:
            return whole
        if d is None and not whole.parts:
            return None
        if kind == "ceil":
            rest = rest.times(-1)
        low, high = self.interval(rest)
        if d is not None:
            return whole if low >= 0 and high < d else None
        if self.surely(self.at_most(0, rest)):
            if self.surely(self.below(rest, divisor)):
                return whole
            if kind == "floor" and self.surely(self.at_most(divisor, rest)) and self.surely(self.below(rest, divisor * 2)):
                return whole + 1
        return None

    def _in_order(self, kind: str, dividend: Term, divisor: Term, quotient: Term) -> None:
        """Quotients by one divisor are in the order of what is divided."""
        for (other_kind, *keys), other in list(self._quotients.items()):
            if other_kind == kind and keys[1] == divisor.key and other is not quotient:
                dividend_of_other = Term(dict(keys[0]))  # type: ignore[call-overload]
                for n, m, q, p in (
                    (dividend, dividend_of_other, quotient, other),
                    (dividend_of_other, dividend, other, quotient),
                ):
                    self.solver.add(z3.Implies(self.not_above(n - m), self.not_above(q - p)))

    def wrapped(self, value: Term, modulus: int, low: int | None = None, high: int | None = None) -> Term:
        """The value modulo `modulus`, of a value that is known to be from `low` to `high`."""
        least, most = self.interval(value)
        least = least if low is None else max(least, low)
        most = most if high is None else min(most, high)
        if least >= 0 and most < modulus:
            return value
        fits_above = most < modulus or self.surely(self.not_above(value - (modulus - 1)))
        if fits_above and (least >= 0 or self.surely(self.not_above(value.times(-1)))):
            return value
        if least >= -modulus and most < 2 * modulus:
            if self.decide(self.at_most(value, -1)):
                return value + modulus
            return value - modulus if self.decide(self.at_most(modulus, value)) else value
        if least < 0:
            raise NotImplementedError(f"a wrap from {least}")
        return value - self.floor(value, modulus).times(modulus)
