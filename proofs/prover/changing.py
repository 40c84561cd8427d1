"""A word of one policy as a word of the next: it holds what it held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from definition import change, core, hold

from . import wasm
from .kernels import CALLS, MAX_PERIOD
from .machine import Machine
from .numbers import Number, plain
from .path import Path
from .search import Claim, must
from .term import U32, U64, WORD_LIMIT, Term

BITS, NEXT_BITS = 7, 9
"""Of a count in the words of the one policy and of the other: words keep room for all that they may hold."""

TOP, NEXT_TOP = ((WORD_LIMIT >> bits) - 1 for bits in (BITS, NEXT_BITS))


def _called(module: wasm.Module, path: Path, export: str, numbers: Sequence[Term | int]) -> Term:
    machine = Machine(module, path)
    machine.call(export, [Term.of(number) for number in numbers])
    (result,) = machine.results
    return result


def _kernel(path: Path, kind: type[Any], **fields: Term | int) -> Any:
    """A kernel of the definition with these fields."""
    kernel = object.__new__(kind)
    vars(kernel).update({name: Number(path, value) for name, value in fields.items()})
    return kernel


class _Ticks:
    """Two emissions, a word, and an instant which the clocks of both policies hold."""

    def __init__(self, path: Path):
        self.num, self.den = path.named("num", 1, U64), path.named("den", 1, U64)
        self.next_num, self.next_den = path.named("next_num", 1, U64), path.named("next_den", 1, U64)
        self.word, self.at = path.named("word", 1, WORD_LIMIT - 1), path.named("at", 0, U64)
        self.reach = path.named("reach", 0, U32)
        path.assume(path.at_most(self.at * self.den, U64))
        path.assume(path.at_most(self.at * self.next_den, U64))

    def changed(self, module: wasm.Module, path: Path) -> Term:
        """The word of the next policy."""
        numbers = [self.num, self.den, self.next_num, self.next_den, self.word, self.at, self.reach]
        return _called(module, path, "gcra_changed", numbers)


def _same(path: Path, dividend: Term, divisor: Term) -> None:
    """Tells how the two roundings of a quotient differ."""
    low, high = path.floor(dividend, divisor), path.ceil(dividend, divisor)
    rest = dividend - low * divisor
    exact = path.decide(path.equal(rest, 0))
    path.surely(path.equal(high, low if exact else low + 1))


def changed_gcra(module: wasm.Module) -> Claim:
    """The word is the definition's."""

    def claim(path: Path) -> None:
        ticks = _Ticks(path)
        got = ticks.changed(module, path)
        old = _kernel(path, core.Gcra, num=ticks.num, den=ticks.den, reach=ticks.reach)
        new = _kernel(path, core.Gcra, num=ticks.next_num, den=ticks.next_den)
        now, before = ticks.at * ticks.den, ticks.word - ticks.reach * ticks.num
        made = now if path.decide(path.at_most(before, now)) else before
        used = ticks.word - made if path.decide(path.at_most(made, ticks.word)) else Term.of(0)
        _same(path, made * ticks.next_den, ticks.den)
        _same(path, used * ticks.next_num, ticks.num)
        word = change.carry(old, new, Number(path, ticks.word), Number(path, ticks.at))
        must(path, "the word", path.equal(got, plain(word)))

    return claim


def kept_gcra(module: wasm.Module) -> Claim:
    """It holds as many units at the instant of the change, in whole ones and the begun one, unless they fit no word."""

    def claim(path: Path) -> None:
        ticks = _Ticks(path)
        now = ticks.at * ticks.den
        path.assume(path.at_most(ticks.word - now, ticks.reach * ticks.num))
        got = ticks.changed(module, path)
        if path.decide(path.equal(got, WORD_LIMIT - 1)):
            return
        held = _level(module, path, ticks.num, ticks.den, ticks.word, ticks.at)
        used = ticks.word - now if path.decide(path.at_most(now, ticks.word)) else Term.of(0)
        there = got - ticks.at * ticks.next_den
        must(path, "no time that has not come", path.at_most(0, there))
        # Of units and slots in ticks, by the next policy's: each is compared with a multiple of both.
        path.told(used, held * ticks.num, ticks.next_num)
        path.told((held - 1) * ticks.num + 1, used, ticks.next_num)
        path.told(held * ticks.next_num, there - 1, ticks.num)
        path.told(there, (held - 1) * ticks.next_num, ticks.num)
        left = _level(module, path, ticks.next_num, ticks.next_den, got, ticks.at)
        must(path, "as many units", path.equal(left, held))

    return claim


def _level(module: wasm.Module, path: Path, num: Term, den: Term, word: Term, now: Term) -> Term:
    own = [num, den, Term.of(1), Term.of(0)]
    return _called(module, path, "gcra", [1, 32, U64, 0, 0, *own, CALLS.index("level"), word, now, 0, 0])


class _Counts:
    """A time and a count, of which one at least is not 0."""

    def __init__(self, path: Path):
        self.time, self.used = path.named("time", 0, TOP), path.named("used", 0, (1 << BITS) - 1)
        self.word, self.at = self.time.times(1 << BITS) + self.used, path.named("at", 0, U64)
        path.assume(path.at_most(1, self.word))
        self.state = (Number(path, self.time), Number(path, self.used))


def changed_fixed(module: wasm.Module) -> Claim:
    """The word is the definition's: the same window and the same count."""

    def claim(path: Path) -> None:
        counts = _Counts(path)
        window, phase = path.named("window", 1, MAX_PERIOD), path.named("phase", 0, MAX_PERIOD)
        path.assume(path.below(phase, window))
        numbers: list[Term | int] = [window, phase, BITS, NEXT_BITS, counts.word, counts.at]
        got = _called(module, path, "fixed_changed", numbers)
        old, new = (_kernel(path, core.FixedWindow, top=top) for top in (TOP, NEXT_TOP))
        time, used = change.carry(old, new, counts.state, Number(path, counts.at))
        must(path, "the word", path.equal(got, plain(time).times(1 << NEXT_BITS) + plain(used)))
        if path.decide(path.at_most(counts.time, NEXT_TOP)):
            must(path, "what it was", path.equal(got, counts.time.times(1 << NEXT_BITS) + counts.used))

    return claim


def changed_first(module: wasm.Module) -> Claim:
    """The word is the definition's: the same count, and a start that is the same or later by less than a quantum."""

    def claim(path: Path) -> None:
        counts = _Counts(path)
        window = path.named("window", 1, MAX_PERIOD)
        quantum, next_quantum = path.named("quantum", 1, MAX_PERIOD), path.named("next_quantum", 1, MAX_PERIOD)
        numbers: list[Term | int] = [window, BITS, NEXT_BITS, quantum, next_quantum, counts.word, counts.at]
        got = _called(module, path, "first_changed", numbers)
        start = counts.time * quantum
        _same(path, start, next_quantum)
        old = _kernel(path, core.FixedWindowFirst, top=TOP, q=quantum)
        new = _kernel(path, core.FixedWindowFirst, top=NEXT_TOP, q=next_quantum)
        time, used = change.carry(old, new, counts.state, Number(path, counts.at))
        must(path, "the word", path.equal(got, plain(time).times(1 << NEXT_BITS) + plain(used)))
        must(path, "the count", path.equal(plain(used), counts.used))
        if path.decide(path.below(plain(time), NEXT_TOP)):
            begins = plain(time) * next_quantum
            must(path, "no earlier", path.at_most(start, begins))
            must(path, "by less than a quantum", path.below(begins, start + next_quantum))

    return claim


def changed_in_flight(module: wasm.Module) -> Claim:
    """The word is the definition's: the same windows and the same counts."""

    def claim(path: Path) -> None:
        top, next_top = ((WORD_LIMIT >> 2 * bits) - 1 for bits in (BITS, NEXT_BITS))
        time, at = path.named("time", 0, top), path.named("at", 0, U64)
        counts = [path.named(name, 0, (1 << BITS) - 1) for name in ("previous", "current")]
        window = path.named("window", 1, MAX_PERIOD)
        word = (time.times(1 << BITS) + counts[0]).times(1 << BITS) + counts[1]
        path.assume(path.at_most(1, word))
        got = _called(module, path, "in_flight_changed", [window, BITS, NEXT_BITS, word, at])
        old, new = (_kernel(path, hold.InFlight, top=one) for one in (top, next_top))
        state = tuple(Number(path, part) for part in (time, *counts))
        index, previous, current = change.carry(old, new, state, Number(path, at))
        high = plain(index).times(1 << NEXT_BITS) + plain(previous)
        must(path, "the word", path.equal(got, high.times(1 << NEXT_BITS) + plain(current)))
        must(path, "the counts", path.equal(plain(previous) + plain(current), counts[0] + counts[1]))

    return claim


CLAIMS: tuple[Callable[[wasm.Module], Claim], ...] = (
    changed_gcra,
    kept_gcra,
    changed_fixed,
    changed_first,
    changed_in_flight,
)


def claims(module: wasm.Module) -> Iterator[tuple[str, str, Claim, tuple[str, ...]]]:
    """Each with the name that it is defined by, its own name, and the exports that it calls."""
    for claim in CLAIMS:
        law, _, export = claim.__name__.partition("_")
        exports = (f"{export}_changed", *(["gcra"] if law == "kept" else []))
        yield claim.__name__, f"{law} {export}", claim(module), exports
