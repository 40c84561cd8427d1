"""What is proved of every kernel that has a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from definition import core

from . import kernels as _kernels
from .kernels import Kernel, State
from .numbers import Number, plain
from .path import NotOnThisPath, Path
from .search import Claim, must
from .term import U32, U64, WORD_LIMIT, Term

Law: TypeAlias = Callable[[Kernel], Claim]

LONGEST = U64 - 1
"""The longest wait that a decision tells; 2^64 - 1 is never."""

OUTCOMES = {core.OK: 0, core.LIMITED: 1, core.EXCEEDS_CAPACITY: 2, core.CLOCK_RANGE: 3}
"""The code's outcomes by the definition's."""


def _cost(path: Path, name: str = "cost", low: int = 0, high: int = U32) -> Term:
    return path.named(name, low, high)


def _checked(kernel: Any, path: Path, state: State, now: Term, cost: Term | int) -> tuple[Any, State]:
    """The definition's decision, and the state that it leaves."""
    decision, after = kernel.check(state, Number(path, now), Number(path, cost))
    return decision, after


def _told(path: Path, wait: Any) -> Term:
    """A wait as a decision tells it."""
    return plain(wait) if path.decide(path.at_most(plain(wait), LONGEST)) else Term.of(LONGEST)


def _told_in_steps(kernel: Kernel, one: Term, two: Term) -> None:
    """Tells that two instants that differ by whole steps and a rest are in the order of the steps."""
    name = kernel.step().name() if isinstance(kernel, _kernels.Stepped) else None
    if name is not None:
        whole, _ = (one - two).divided(name)
        step = Term({(name,): 1})
        # The comparison tells what its steps are in units that come back.
        kernel.path.at_most(whole, 0)
        for low, high in ((whole, 0), (0, whole), (1, whole), (whole, -1)):
            kernel.path.told(low, high, step)


def equal(kernel: Kernel) -> Claim:
    """The code's step is the definition's: the outcome, every number, and the word, below 2^64 - 2^48."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, cost = kernel.instant("now"), _cost(path)
        charged, new, outcome, limit, remaining, retry, reset, delay = kernel.ask("step", word.term, now, cost)
        defined = kernel.defined()
        decision, after = _checked(defined, path, word.state, now, cost)
        must(path, "outcome", path.equal(outcome, OUTCOMES[decision.code]))
        must(path, "limit", path.equal(limit, kernel.capacity))
        must(path, "remaining", path.equal(remaining, plain(decision.remaining)))
        wait = Term.of(U64) if decision.retry is None else _told(path, decision.retry)
        must(path, "retry", path.equal(retry, wait))
        must(path, "reset", path.equal(reset, _told(path, decision.reset)))
        must(path, "delay", path.equal(delay, plain(decision.delay)))
        writes = decision.code == core.OK and path.decide(path.at_most(1, cost))
        must(path, "whether the word changes", path.equal(charged, int(writes)))
        if writes:
            must(path, "the word", path.equal(new, plain(defined.pack(after))))
            must(path, "the word is below 2^64 - 2^48", path.below(new, WORD_LIMIT))

    return claim


def total(kernel: Kernel) -> Claim:
    """The code neither panics nor wraps for any `u64` as the word, at any instant, for any cost."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word(last=U64)
        now, cost, other = kernel.instant("now"), _cost(path), kernel.instant("other")
        calls = ("step", "fresh_at", "is_fresh", "level", "carried", "above", "fill")
        which = path.named("which", 0, len(calls) - 1)
        for number, call in enumerate(calls):
            if path.decide(path.equal(which, number)):
                kernel.ask(call, word.term, now, cost, other)
                return

    return claim


def retry(kernel: Kernel) -> Claim:
    """A refused cost is admitted at an instant iff that is at or after the retry, up to the clock's end."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, later, cost = kernel.instant("now"), kernel.instant("later"), _cost(path)
        path.assume(path.at_most(now, later))
        defined = kernel.defined()
        decision, _ = _checked(defined, path, word.state, now, cost)
        if decision.code != core.LIMITED:
            raise NotOnThisPath
        again, _ = _checked(defined, path, word.state, later, cost)
        if again.code == core.CLOCK_RANGE:
            raise NotOnThisPath
        due = now + plain(decision.retry)
        _told_in_steps(kernel, due, later)
        must(path, "a refusal tells a wait of at least 1 ns", path.at_most(1, plain(decision.retry)))
        if again.code == core.OK:
            must(path, "not admitted before the retry", path.at_most(due, later))
        else:
            must(path, "not refused from the retry on", path.below(later, due))

    return claim


def reset(kernel: Kernel) -> Claim:
    """From the reset on a key decides and is written as one never seen; before it, it is told the same instant."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        if not word.has_count:
            raise NotOnThisPath
        now, later, cost, cost_later = (
            kernel.instant("now"),
            kernel.instant("later"),
            _cost(path),
            _cost(path, "later_cost"),
        )
        path.assume(path.at_most(now, later))
        defined = kernel.defined()
        decision, after = _checked(defined, path, word.state, now, cost)
        if decision.code == core.CLOCK_RANGE:
            raise NotOnThisPath
        writes = decision.code == core.OK and path.decide(path.at_most(1, cost))
        if kernel.heals and not writes and defined.anchor(word.state) > Number(path, now) + defined.heal:
            # Decided as a fresh key, while its word is there still.
            raise NotOnThisPath
        due = now + plain(decision.reset)
        _told_in_steps(kernel, due, later)
        if path.decide(path.below(later, due)):
            told, _ = _checked(defined, path, after, later, 0)
            if told.code != core.CLOCK_RANGE:
                _told_in_steps(kernel, later + plain(told.reset), due)
                must(path, "the same reset until then", path.equal(later + plain(told.reset), due))
            return
        kept, kept_state = _checked(defined, path, after, later, cost_later)
        fresh, fresh_state = _checked(defined, path, defined.fresh(), later, cost_later)
        must(path, "outcome of a fresh key", kept.code == fresh.code)
        for name in ("remaining", "reset", "delay"):
            must(
                path,
                f"{name} of a fresh key",
                path.equal(plain(getattr(kept, name)), plain(getattr(fresh, name))),
            )
        if fresh.retry is not None:
            must(path, "retry of a fresh key", path.equal(plain(kept.retry), plain(fresh.retry)))
        if kept.code == core.OK and path.decide(path.at_most(1, cost_later)):
            must(
                path,
                "word of a fresh key",
                path.equal(plain(defined.pack(kept_state)), plain(defined.pack(fresh_state))),
            )

    return claim


def split(kernel: Kernel) -> Claim:
    """A cost of n + 1 is n and then 1: admitted iff both are, and the same word."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, cost = kernel.instant("now"), _cost(path, low=1, high=U32 - 1)
        defined = kernel.defined()
        part, after = _checked(defined, path, word.state, now, cost)
        whole, both = _checked(defined, path, word.state, now, cost + 1)
        if part.code != core.OK:
            must(path, "what n is refused, n + 1 is", whole.code != core.OK)
            return
        last, left = _checked(defined, path, after, now, 1)
        must(path, "n + 1 iff n and then 1", (whole.code == core.OK) == (last.code == core.OK))
        if whole.code == core.OK:
            must(path, "one word", path.equal(plain(defined.pack(both)), plain(defined.pack(left))))
            must(path, "one remaining", path.equal(plain(whole.remaining), plain(last.remaining)))
            must(path, "one reset", path.equal(plain(whole.reset), plain(last.reset)))

    return claim


def back(kernel: Kernel) -> Claim:
    """What passes at an instant passes at every later one, and a charge leaves a greater word."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, later, cost = kernel.instant("now"), kernel.instant("later"), _cost(path)
        path.assume(path.at_most(now, later))
        defined = kernel.defined()
        decision, after = _checked(defined, path, word.state, now, cost)
        again, _ = _checked(defined, path, word.state, later, cost)
        if again.code == core.CLOCK_RANGE or decision.code == core.CLOCK_RANGE:
            raise NotOnThisPath
        if decision.code == core.OK:
            must(path, "what passes then passes later", again.code == core.OK)
            if path.decide(path.at_most(1, cost)):
                must(path, "the word grows", path.below(word.term, plain(defined.pack(after))))
        elif again.code != core.OK:
            must(
                path,
                "remaining does not fall",
                path.at_most(plain(decision.remaining), plain(again.remaining)),
            )

    return claim


def fresh_at(kernel: Kernel) -> Claim:
    """The code's `fresh_at` is the instant that a peek's reset tells."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        if not word.has_count:
            raise NotOnThisPath
        if kernel.export == "calendar":
            # No step leaves a count beside an end at the epoch.
            path.assume(path.at_most(1, plain(word.state[0])))
        now = kernel.instant("now")
        path.assume(path.at_most(now, kernel.max_now))
        (instant,) = kernel.ask("fresh_at", word.term)
        decision, _ = _checked(kernel.defined(), path, word.state, now, 0)
        due = now + plain(decision.reset)
        if isinstance(kernel, _kernels.Bucket):
            time, used = (plain(part) for part in word.state)
            _told_in_steps(kernel, (time + path.ceil(used, kernel.refill)) * kernel.interval_ns, due)
        if path.decide(path.at_most(due, now)):
            must(path, "fresh", path.at_most(instant, now))
        elif path.decide(path.at_most(due, LONGEST)):
            must(path, "fresh at now + reset", path.equal(instant, due))
        else:
            must(path, "never fresh", path.at_most(LONGEST, instant))

    return claim


def level(kernel: Kernel) -> Claim:
    """The code's `level` is the capacity less what remains; of a sliding window that rounds down, or one more."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now = kernel.instant("now")
        path.assume(path.at_most(now, kernel.max_now))
        (units,) = kernel.ask("level", word.term, now)
        decision, _ = _checked(kernel.defined(), path, word.state, now, 0)
        remaining = plain(decision.remaining)
        if not path.decide(path.at_most(units, kernel.capacity)):
            must(path, "above the capacity nothing remains", path.equal(remaining, 0))
        elif kernel.export == "loose":
            left = kernel.capacity - units
            must(path, "no less than what does not remain", path.at_most(left, remaining))
            must(path, "and at most one more", path.at_most(remaining, left + 1))
        else:
            must(path, "level + remaining = capacity", path.equal(units + remaining, kernel.capacity))

    return claim


def carried(kernel: Kernel) -> Claim:
    """A word carried to an instant decides there and later as the word does, and a charge on it belongs to a policy."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, other, cost = kernel.instant("now"), kernel.instant("other"), _cost(path, low=1)
        (moved,) = kernel.ask("carried", word.term, other=other)
        charged, new, outcome, *_ = kernel.ask("step", moved, now, cost)
        if path.decide(path.equal(charged, 1)):
            must(path, "a charge on it is below 2^64 - 2^48", path.below(new, WORD_LIMIT))
        if path.decide(path.at_most(other, now)):
            decision, _ = _checked(kernel.defined(), path, word.state, now, cost)
            must(path, "as the word decides", path.equal(outcome, OUTCOMES[decision.code]))

    return claim


def above(kernel: Kernel) -> Claim:
    """What is allowed on the word that a newcomer is decided on is allowed on the word itself at the floor."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, floor, cost = kernel.instant("now"), kernel.instant("other"), _cost(path, low=1)
        (moved,) = kernel.ask("above", word.term, now, other=floor)
        charged, _, outcome, *_ = kernel.ask("step", moved, now, cost)
        judged = floor if path.decide(path.at_most(now, floor)) else now
        if path.decide(path.equal(outcome, 0)) and path.decide(path.at_most(judged, kernel.max_now)):
            decision, _ = _checked(kernel.defined(), path, word.state, judged, cost)
            must(path, "allowed on the word itself", decision.code == core.OK)
            must(path, "charged", path.equal(charged, 1))

    return claim


LAWS: dict[str, Law] = {
    law.__name__: law for law in (equal, total, retry, reset, split, back, fresh_at, level, carried, above)
}

HEALING = frozenset({"equal", "total", "retry", "reset"})
"""Laws that are proved of policies that heal too."""
