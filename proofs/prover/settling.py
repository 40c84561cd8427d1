"""Reservations: what is remembered of a charge, and what of it can be given back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from definition import core
from definition import reserve as _reserve

from .kernels import Gcra, Kernel
from .numbers import Number, plain
from .path import NotOnThisPath, Path
from .search import Claim, must
from .term import U32, U64, Term

reserve: Any = _reserve


def _part(path: Path, cost: Term) -> Term:
    """Any part of a cost."""
    units = path.named("units", 0, U32)
    path.assume(path.at_most(units, cost))
    return units


def _charged(kernel: Kernel, word: Term, now: Term, cost: Term) -> Term | None:
    """The word that a step leaves; none where it is refused."""
    charged, new, outcome, *_ = kernel.ask("step", word, now, cost)
    if not kernel.path.decide(kernel.path.equal(outcome, 0)):
        return None
    return new if kernel.path.decide(kernel.path.equal(charged, 1)) else word


def settle(kernel: Kernel) -> Claim:
    """What the code gives back of a charge, to whatever word, is what the definition gives back, and leaves its word."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        before, word = kernel.word("before_"), kernel.word()
        made, now, cost = kernel.instant("made"), kernel.instant("now"), path.named("cost", 1, U32)
        path.assume(path.at_most(now, kernel.max_now))
        units = _part(path, cost)
        known, since = path.named("known", 0, 1), path.named("since", 0, U64)
        numbers = [before.term, made, cost, word.term, now, units, known, since]
        got = kernel.export_of("given_back", numbers)
        defined = kernel.defined()
        number = partial(Number, path)
        decision, after = defined.check(before.state, number(made), number(cost))
        must(path, "what is remembered of a charge", bool(got) == (decision.code == core.OK))
        if decision.code != core.OK or not got:
            return
        record = reserve.held(defined, before.state, after, number(made), number(cost))
        given = number(since) if path.decide(path.equal(known, 1)) else None
        left, back = reserve.give(defined, word.state, number(now), record, number(units), given)
        must(path, "how much", path.equal(got[2], plain(back)))
        must(path, "the word", path.equal(got[1], plain(defined.pack(left))))

    return claim


def net(kernel: Kernel) -> Claim:
    """After a charge and its settle as much is counted as after a charge of the actual cost, or more."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        before = kernel.word("before_")
        made, now, cost = kernel.instant("made"), kernel.instant("now"), path.named("cost", 1, U32)
        path.assume(path.at_most(made, now))
        path.assume(path.at_most(now, kernel.max_now))
        units = _part(path, cost)
        if kernel.export in OPENED_BY_A_CHARGE:
            path.assume(path.below(units, cost))
        after = _charged(kernel, before.term, made, cost)
        if after is None:
            raise NotOnThisPath
        numbers = [before.term, made, cost, after, now, units, Term.of(1), Term.of(0)]
        settled = kernel.export_of("given_back", numbers)[1]
        alone = _charged(kernel, before.term, made, cost - units)
        if alone is None:
            must(path, "the actual cost is allowed", False)
        elif not isinstance(kernel, Gcra) or not path.decide(path.at_most(alone, now * kernel.den)):
            must(path, "no less than what was used", path.at_most(alone, settled))

    return claim


OPENED_BY_A_CHARGE = frozenset({"first"})
"""Kernels whose window stays where a charge opened it that was given back whole."""

LAWS: dict[str, Callable[[Kernel], Claim]] = {law.__name__: law for law in (settle, net)}

SETTLED = frozenset({"gcra", "fixed", "first", "in_flight"})
"""Kernels of which this is asked."""
