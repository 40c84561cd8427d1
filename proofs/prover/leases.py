"""Leases: what one use of a grant takes, so that all uses of it take no more than it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from . import wasm
from .kernels import CALLS
from .machine import Machine
from .path import Path
from .search import Claim, must
from .term import U32, U64, Term

STEP_BITS, LEFT_BITS = 14, 19
MAX_LEASE = (1 << LEFT_BITS) - 1
LIMITED = 1


@dataclass
class Word:
    """Any word: what it is made of, and what that means."""

    term: Term
    usable: Term
    left: Term
    deadline_ns: Term


class Lease:
    """A kernel of leases, with symbols for what the policy chooses."""

    export: ClassVar[str] = "lease_at_once"

    def __init__(self, module: wasm.Module):
        self.module = module

    def begin(self, path: Path) -> None:
        """Names the parameters on a path."""
        self.path = path
        self.capacity = path.named("capacity", 1, U32)
        self.own: list[Term] = []

    def word(self, path: Path) -> Word:
        """Any word at all."""
        steps, usable = path.named("steps", 0, (1 << 44) - 1), path.named("usable", 0, 1)
        left = path.named("left", 0, MAX_LEASE)
        term = steps.times(1 << LEFT_BITS + 1) + usable.times(1 << LEFT_BITS) + MAX_LEASE - left
        return Word(term, usable, left, steps.times(1 << STEP_BITS))

    def ask(self, call: str, word: Term, now: Term | int = 0, cost: Term | int = 0, other: Term | int = 0) -> list[Term]:
        """What the code returns."""
        machine = Machine(self.module, self.path)
        numbers = [Term.of(value) for value in (CALLS.index(call), word, now, cost, other)]
        machine.call(self.export, [self.capacity, *self.own, *numbers])
        return machine.results

    def there(self, units: Term, ahead: Term) -> None:
        """Asserts that the slots of so many units have not passed, where the deadline is that far ahead."""


class Evenly(Lease):
    """Units that are slots of a TAT."""

    export = "lease_evenly"

    def begin(self, path: Path) -> None:
        """Any emission."""
        super().begin(path)
        self.num, self.den = path.named("num", 1, U64), path.named("den", 1, U64)
        self.own = [self.num, self.den]

    def there(self, units: Term, ahead: Term) -> None:
        """One in `num / den` nanoseconds, the last at the deadline."""
        must(self.path, "of slots that have not passed", self.path.at_most(units * self.num, ahead * self.den))


class InSteps(Lease):
    """Units that come back one at each interval."""

    export = "lease_in_steps"

    def begin(self, path: Path) -> None:
        """Any interval."""
        super().begin(path)
        self.interval = path.named("interval", 1, U64)
        self.own = [self.interval]

    def there(self, units: Term, ahead: Term) -> None:
        """One at each interval, the last at the deadline."""
        before = (units - 1) * self.interval
        must(self.path, "of slots that have not passed", self.path.below(before, ahead))


def use(lease: Lease) -> Claim:
    """A use takes its cost, or more, of what is left of a grant that can be used and has not ended; nothing else writes."""

    def claim(path: Path) -> None:
        lease.begin(path)
        word = lease.word(path)
        now, cost = path.named("now", 0, U64), path.named("cost", 0, U32)
        charged, new, outcome, _, remaining, retry, *_ = lease.ask("step", word.term, now, cost)
        if not path.decide(path.equal(charged, 1)):
            if path.decide(path.equal(outcome, LIMITED)):
                must(path, "denied by a word that denies", path.equal(word.usable, 0))
                must(path, "denied until the deadline", path.equal(now + retry, word.deadline_ns))
                must(path, "a wait of at least 1 ns", path.at_most(1, retry))
            return
        taken = new - word.term
        must(path, "a cost", path.at_most(1, cost))
        must(path, "a word that can be used", path.equal(word.usable, 1))
        must(path, "before the deadline", path.below(now, word.deadline_ns))
        must(path, "no less than the cost", path.at_most(cost, taken))
        must(path, "no more than is left", path.at_most(taken, word.left))
        must(path, "what remains", path.equal(remaining, word.left - taken))
        lease.there(word.left - taken + cost, word.deadline_ns - now)

    return claim


def total(lease: Lease) -> Claim:
    """The code neither panics nor wraps for any `u64` as the word, at any instant, for any cost."""

    def claim(path: Path) -> None:
        lease.begin(path)
        word = lease.word(path)
        now, cost, other = path.named("now", 0, U64), path.named("cost", 0, U32), path.named("other", 0, U64)
        which = path.named("which", 0, len(CALLS) - 1)
        for number, call in enumerate(CALLS):
            if path.decide(path.equal(which, number)):
                lease.ask(call, word.term, now, cost, other)
                return

    return claim


def carried(lease: Lease) -> Claim:
    """What is admitted on a word that was carried is admitted on the word itself."""

    def claim(path: Path) -> None:
        lease.begin(path)
        word = lease.word(path)
        now, cost, other = path.named("now", 0, U64), path.named("cost", 1, U32), path.named("other", 0, U64)
        (moved,) = lease.ask("carried", word.term, other=other)
        if path.decide(path.equal(lease.ask("step", moved, now, cost)[0], 1)):
            must(path, "admitted on the word", path.equal(lease.ask("step", word.term, now, cost)[0], 1))

    return claim


def _granted(module: wasm.Module) -> Claim:
    """The word of a grant has no more units than were granted, and ends no later."""

    def claim(path: Path) -> None:
        lease = Lease(module)
        lease.begin(path)
        deadline, units = path.named("deadline", 0, U64), path.named("units", 0, U64)
        machine = Machine(module, path)
        machine.call("lease_granted", [deadline, units])
        (word,) = machine.results
        now = path.named("now", 0, U64)
        charged, _, _, _, remaining, *_ = lease.ask("step", word, now, Term.of(0))
        must(path, "a peek writes nothing", path.equal(charged, 0))
        must(path, "no more than were granted", path.at_most(remaining, units))
        if path.decide(path.at_most(deadline, now)):
            must(path, "none from the deadline on", path.equal(remaining, 0))

    return claim


LAWS: tuple[Callable[[Lease], Claim], ...] = (use, total, carried)


def claims(module: wasm.Module) -> Iterator[tuple[str, Claim, tuple[str, ...]]]:
    """One for each law and way in which units pass, with the exports that it calls."""
    for law in LAWS:
        for kind in (Lease, Evenly, InSteps):
            yield f"{law.__name__} {kind.export}", law(kind(module)), (kind.export,)
    yield "granted lease", _granted(module), ("lease_granted", "lease_at_once")
