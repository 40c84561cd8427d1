"""Proves a claim on every path, or finds numbers that break it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import z3

from .path import NotOnThisPath, PanicReached, Path, negated
from .products import Condition

Claim: TypeAlias = Callable[[Path], None]
"""Executes both programs along a path, and says there what must hold."""

COUNTEREXAMPLE_STEPS = 60_000_000


@dataclass
class Verdict:
    """`proved`, `false` with numbers that break the claim, or `open`: neither."""

    name: str
    seconds: float
    counts: Counter[str]
    goal: str = ""
    numbers: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        detail = f" {self.goal}" if self.goal else ""
        return f"{self.name}{detail}"


def must(path: Path, goal: str, condition: Condition) -> None:
    """The goal holds wherever this path goes."""
    path.goals.append((goal, condition))


def prove(claim: Claim, seconds: float) -> Verdict:
    """Whether a claim holds on every path; open if that takes more of the processor's time."""
    started = time.process_time()
    counts: Counter[str] = Counter()
    pending: list[list[bool]] = [[]]

    def verdict(name: str, goal: str = "", numbers: dict[str, int] | None = None) -> Verdict:
        return Verdict(name, time.process_time() - started, counts, goal, numbers or {})

    while pending:
        if time.process_time() - started > seconds:
            return verdict("open", f"not within {seconds:.0f} s")
        path = Path(pending.pop(), pending, counts)
        counts["paths"] += 1
        try:
            broken = _followed(claim, path)
        except NotImplementedError as error:
            return verdict("open", f"not executed: {error}")
        if broken is not None:
            goal, condition = broken
            numbers = _numbers(path, condition)
            said = on_numbers(claim, numbers) if numbers else ""
            return verdict("false" if said else "open", said or goal, numbers)
    return verdict("proved")


def _followed(claim: Claim, path: Path) -> tuple[str, Condition] | None:
    """Follows a path to its end: a goal that is not shown to hold there."""
    try:
        claim(path)
    except NotOnThisPath:
        pass
    except (PanicReached, AssertionError) as error:
        must(path, f"does not reach {type(error).__name__} {error}", False)
    return path.broken()


def _numbers(path: Path, goal: Condition) -> dict[str, int]:
    """Numbers of this path at which the goal does not hold, with products as they are; none if they are not found."""
    solver = z3.Solver()
    solver.set("rlimit", COUNTEREXAMPLE_STEPS)
    solver.add(path.solver.assertions())
    solver.add(path.equations)
    solver.add(negated(goal))
    if solver.check() != z3.sat:
        return {}
    model = solver.model()
    names = [monomial[0] for monomial in path.variables if len(monomial) == 1 and "." not in monomial[0]]
    return {name: model.eval(path.variables[(name,)], model_completion=True).as_long() for name in names}


def on_numbers(claim: Claim, numbers: dict[str, int]) -> str:
    """What of a claim is broken when both programs run on these numbers; empty if nothing is."""
    path = Path([], [], Counter(), numbers)
    broken = _followed(claim, path)
    return broken[0] if broken is not None else ""
