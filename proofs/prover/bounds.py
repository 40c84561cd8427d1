"""Bounds: what one admitted cost leaves in a word, from which the units of any history follow by induction."""

from __future__ import annotations

from collections.abc import Callable

from .kernels import Bucket, BucketFirst, Calendar, Counting, First, Fixed, Gcra, InFlight, Kernel, TwoWindows, Word
from .numbers import plain
from .path import NotOnThisPath, Path
from .search import Claim, must
from .term import U32, WORD_LIMIT, Term

ALLOWED = 0
NANOSECONDS = 1_000_000_000


def _charged(kernel: Kernel, word: Term, now: Term, cost: Term) -> Term:
    """The word that an admitted cost of at least 1 leaves: no other answer writes one."""
    path = kernel.path
    charged, new, outcome, *_ = kernel.ask("step", word, now, cost)
    is_admitted = path.decide(path.equal(outcome, ALLOWED))
    must(path, "charged iff admitted", path.equal(charged, int(is_admitted)))
    if not is_admitted:
        raise NotOnThisPath
    return new


def _at_least_one(path: Path) -> Term:
    return path.named("cost", 1, U32)


def _later(path: Path, one: Term, two: Term) -> Term:
    return two if path.decide(path.at_most(one, two)) else one


def _packed(kernel: Counting, time: Term, *counts: Term) -> Term:
    word = time
    for count in counts:
        word = word.times(1 << kernel.bits) + count
    return word


# Rates.


def rate(kernel: Kernel) -> Claim:
    """What a charge leaves is its units above the word before at least, and at most the capacity above the clock."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, cost = kernel.instant("now"), _at_least_one(path)
        new = _charged(kernel, word.term, now, cost)
        must(path, "a word of the policy", path.below(new, WORD_LIMIT))
        match kernel:
            case Gcra():
                _of_a_tat(kernel, word, now, cost, new)
            case Bucket():
                _of_refills(kernel, word, now, cost, new)
            case BucketFirst():
                _of_refills_from_a_start(kernel, word, now, cost, new)

    return claim


def _of_a_tat(kernel: Gcra, word: Word, now: Term, cost: Term, new: Term) -> None:
    """In ticks: a unit takes `num` of them, a nanosecond has `den`."""
    path, units, clock = kernel.path, cost * kernel.num, now * kernel.den
    must(path, "its units above the word before", path.at_most(word.term + units, new))
    must(path, "its units above the clock", path.at_most(clock + units, new))
    must(path, "at most the capacity above the clock", path.at_most(new, clock + kernel.tau))


def _of_refills(kernel: Bucket, word: Word, now: Term, cost: Term, new: Term) -> None:
    """In tokens: at a time as many have come as its refills."""
    path = kernel.path
    index, used = (plain(part) for part in word.state)
    time = _later(path, index, path.floor(now, kernel.interval_ns))
    left = new - _packed(kernel, time, Term.of(0))
    must(path, "its units above the clock", path.at_most(cost, left))
    must(path, "at most the capacity above the clock", path.at_most(left, kernel.capacity))
    came = (time - index) * kernel.refill
    must(path, "its units above the word before", path.at_most(used + cost, left + came))


def _of_refills_from_a_start(kernel: BucketFirst, word: Word, now: Term, cost: Term, new: Term) -> None:
    """In tokens of an interval's length each, from a start that moves on by whole intervals, or to the request."""
    path, per, refill = kernel.path, kernel.interval_ns, kernel.refill
    start, used = (plain(part) for part in word.state)
    asked = path.ceil(now, kernel.quantum)
    moved, left = start, used
    if path.decide(path.at_most(start * kernel.quantum, now)):
        intervals = path.floor(now - start * kernel.quantum, per)
        moved = start + intervals * kernel.quanta
        came = intervals * refill
        path.told(used, came, per)
        left = used - came if path.decide(path.at_most(came, used)) else Term.of(0)
    if path.decide(path.at_most(left, 0)):
        path.told(moved, asked, refill * kernel.quantum)
        moved = _later(path, moved, asked)
    must(path, "the word", path.equal(new, _packed(kernel, moved, left + cost)))
    must(path, "at most the capacity above the clock", path.at_most(left + cost, kernel.capacity))
    must(path, "a start of the word or of a request before it", path.at_most(moved, _later(path, start, asked)))
    before = used * per + start * refill * kernel.quantum
    after = (left + cost) * per + moved * refill * kernel.quantum
    must(path, "its units above the word before", path.at_most(before + cost * per, after))


# Windows.


def window(kernel: Kernel) -> Claim:
    """A charge is counted in the later of the word's window and its own, beside all that counts there, within the limit."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, cost = kernel.instant("now"), _at_least_one(path)
        new = _charged(kernel, word.term, now, cost)
        must(path, "a word of the policy", path.below(new, WORD_LIMIT))
        match kernel:
            case Fixed():
                _of_an_index(kernel, word, now, cost, new)
            case First():
                _of_a_start(kernel, word, now, cost, new)
            case Calendar():
                _of_an_end(kernel, word, now, cost, new)
            case TwoWindows():
                _of_two(kernel, word, now, cost, new)

    return claim


def _counted(kernel: Counting, time: Term, units: Term, new: Term) -> None:
    path = kernel.path
    must(path, "all units of that window", path.equal(new, _packed(kernel, time, units)))
    must(path, "within the limit", path.at_most(units, kernel.capacity))


def _of_an_index(kernel: Fixed, word: Word, now: Term, cost: Term, new: Term) -> None:
    path = kernel.path
    index, used = (plain(part) for part in word.state)
    whole = path.floor(now, kernel.window)
    in_next = path.decide(path.at_most(kernel.window, now - whole * kernel.window + kernel.phase))
    asked = whole + int(in_next)
    if path.decide(path.at_most(asked, index)):
        _counted(kernel, index, used + cost, new)
    else:
        _counted(kernel, asked, cost, new)


def _of_a_start(kernel: First, word: Word, now: Term, cost: Term, new: Term) -> None:
    """Open for a window from its start, and the next one starts no earlier than that."""
    path = kernel.path
    start, used = (plain(part) for part in word.state)
    end = start * kernel.quantum + kernel.window
    if path.decide(path.at_most(1, used)) and path.decide(path.below(now, end)):
        _counted(kernel, start, used + cost, new)
        return
    opened = _later(path, start, path.ceil(now, kernel.quantum))
    _counted(kernel, opened, cost, new)
    must(path, "not before the request", path.at_most(now, opened * kernel.quantum))
    if path.decide(path.at_most(1, used)):
        must(path, "not before the end of the last", path.at_most(end, opened * kernel.quantum))


def _of_an_end(kernel: Calendar, word: Word, now: Term, cost: Term, new: Term) -> None:
    """Open until a boundary, and the next one is the calendar's window of the request, if that begins there or later."""
    path = kernel.path
    end, used = (plain(part) for part in word.state)
    begins = Term.of(0)
    for boundary in kernel.own:
        if path.decide(path.below(now, boundary.times(NANOSECONDS))):
            if path.decide(path.at_most(end, begins)):
                _counted(kernel, boundary, cost, new)
            else:
                _counted(kernel, end, used + cost, new)
            return
        begins = boundary
    must(path, "admitted before the last boundary", False)


def _of_two(kernel: TwoWindows, word: Word, now: Term, cost: Term, new: Term) -> None:
    """The window before counts in full, or by what is left of it."""
    path = kernel.path
    index, previous, current = (plain(part) for part in word.state)
    asked = path.floor(now, kernel.window)
    elapsed = now - asked * kernel.window
    if path.decide(path.below(asked, index)):
        elapsed = Term.of(0)
    elif not path.decide(path.equal(asked, index)):
        previous = current if path.decide(path.equal(asked, index + 1)) else Term.of(0)
        index, current = asked, Term.of(0)
    units = current + cost
    must(path, "all units of both windows", path.equal(new, _packed(kernel, index, previous, units)))
    must(path, "within the limit", path.at_most(units, kernel.capacity))
    if isinstance(kernel, InFlight):
        must(path, "both within the limit", path.at_most(previous + units, kernel.capacity))
    else:
        estimate = previous * (kernel.window - elapsed) + units * kernel.window
        room = 0 if kernel.export == "strict" else kernel.window - 1
        must(path, "the estimate within the limit", path.at_most(estimate, kernel.capacity * kernel.window + room))


RATES: dict[str, Callable[[Kernel], Claim]] = {"rate": rate}
WINDOWS: dict[str, Callable[[Kernel], Claim]] = {"window": window}

OF_A_RATE = frozenset({"gcra", "bucket", "bucket_first"})
OF_WINDOWS = frozenset({"fixed", "first", "loose", "strict", "in_flight", "calendar"})
