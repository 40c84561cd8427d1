"""The kernels with symbols for all that a policy chooses: as the code has them, and as the definition has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from definition import core, hold

from . import wasm
from .machine import Machine
from .numbers import Number, plain
from .path import Path
from .term import U32, U64, WORD_LIMIT, Term

MAX_PERIOD = 1 << 62
"""The longest window or interval of a policy, in nanoseconds."""

CALLS = ("step", "fresh_at", "is_fresh", "level", "carried", "above", "fill")
"""The functions of a kernel by their numbers: `proofs/seam/src/calls.rs` has the same."""

State: TypeAlias = Any
"""A key's state as the definition has it."""


@dataclass
class Word:
    """Any word: as the code has it and as the definition has it."""

    term: Term
    state: State
    has_count: bool
    """Whether it holds more than a time: a step leaves no other, but for the one of a key never seen."""


class Kernel(ABC):
    """One kernel. Its attributes are of one path: `begin` makes them."""

    export: ClassVar[str]
    definition: ClassVar[type[core.Kernel]]
    has_bits: ClassVar[bool] = True
    widest: ClassVar[int] = 32

    def __init__(self, module: wasm.Module, bits: int, heals: bool):
        self.module, self.bits, self.heals = module, bits, heals

    def begin(self, path: Path) -> None:
        """Names the parameters on a path, and assumes what construction sees to."""
        self.path = path
        self.heal = path.named("heal", 0, U64) if self.heals else Term.of(0)
        self.capacity = path.named("capacity", 1, min((1 << self.bits) - 1, U32))
        self.parameters()

    @abstractmethod
    def parameters(self) -> None:
        """Names what else there is: `max_now`, and the code's `own` parameters."""

    max_now: Term
    own: list[Term]

    @abstractmethod
    def fields(self) -> dict[str, Term]:
        """The definition's names of the parameters."""

    def defined(self) -> Any:
        """The definition's kernel."""
        kernel: Any = object.__new__(self.definition)
        terms = {"capacity": self.capacity, "limit": self.capacity, "max_now": self.max_now, **self.fields()}
        for name, term in terms.items():
            setattr(kernel, name, Number(self.path, term))
        kernel.heal = Number(self.path, self.heal) if self.heals else None
        return kernel

    def common(self) -> list[Term]:
        """The code's parameters, without the numbers of a call."""
        has_heal = Term.of(int(self.heals))
        return [self.capacity, Term.of(self.bits), self.max_now, has_heal, self.heal, *self.own]

    def ask(self, call: str, word: Term, now: Term | int = 0, cost: Term | int = 0, other: Term | int = 0) -> list[Term]:
        """What the code returns."""
        machine = Machine(self.module, self.path)
        numbers = [Term.of(value) for value in (CALLS.index(call), word, now, cost, other)]
        machine.call(self.export, [*self.common(), *numbers])
        return machine.results

    def export_of(self, kind: str, numbers: list[Term]) -> list[Term]:
        """What another export of this kernel returns; nothing where it has no answer."""
        machine = Machine(self.module, self.path)
        machine.call(f"{self.export}_{kind}", [*self.common(), *numbers])
        return machine.results

    @abstractmethod
    def word(self, name: str = "", last: int = WORD_LIMIT - 1) -> Word:
        """Any word of a policy, or with `last` any word at all up to it."""

    def instant(self, name: str) -> Term:
        """Any instant."""
        return self.path.named(name, 0, U64)

    def least(self, end: Term) -> Term:
        """A clock's end, which a `u64` holds."""
        return end if self.path.decide(self.path.at_most(end, U64)) else Term.of(U64)


class Gcra(Kernel):
    """GCRA, the continuous bucket, the meter and the queue."""

    export, definition, has_bits = "gcra", core.Gcra, False

    def parameters(self) -> None:
        """Any emission, and any part of the capacity that needs no delay."""
        path = self.path
        self.num, self.den = path.named("num", 1, U64), path.named("den", 1, U64)
        self.undelayed = path.named("undelayed", 1, U32)
        path.assume(path.at_most(self.undelayed, self.capacity))
        path.told(self.undelayed, self.capacity, self.num)
        self.tau = self.capacity * self.num
        path.assume(path.at_most(self.tau, U64))
        number = lambda term: Number(path, term)
        self._defined: Any = object.__new__(core.Gcra)
        self._defined.__init__(number(self.num), number(self.den), number(self.capacity), number(self.undelayed))  # type: ignore[no-untyped-call]
        self.max_now = plain(self._defined.max_now)
        path.assume(path.at_most(1, self.max_now))
        reach = self.tau if self.heals else Term.of(0)
        self.own = [self.num, self.den, self.undelayed, reach]

    def fields(self) -> dict[str, Term]:
        """All that its construction has."""
        return {}

    def defined(self) -> Any:
        """The definition's own construction, with its sums."""
        self._defined.heal = Number(self.path, self.heal) if self.heals else None
        return self._defined

    def word(self, name: str = "", last: int = WORD_LIMIT - 1) -> Word:
        """Any TAT."""
        term = self.path.named(f"{name}tat", 0, last)
        return Word(term, Number(self.path, term), True)


class Counting(Kernel):
    """A count beside a time."""

    counts: ClassVar[tuple[str, ...]] = ("used",)

    @property
    def time_bits(self) -> int:
        """The bits below the time."""
        return self.bits * len(self.counts)

    @property
    def top(self) -> int:
        """The last time of a word."""
        return (WORD_LIMIT >> self.time_bits) - 1

    def word(self, name: str = "", last: int = WORD_LIMIT - 1) -> Word:
        """Any time, and any counts within the capacity; beyond a policy's words also above it."""
        path = self.path
        is_own = last < WORD_LIMIT
        top = self.top if is_own else last >> self.time_bits
        term = time = path.named(f"{name}time", 0, top)
        counts = []
        for count in self.counts:
            part = path.named(f"{name}{count}", 0, (1 << self.bits) - 1)
            if is_own:
                path.assume(path.at_most(part, self.capacity))
            counts.append(part)
            term = term.times(1 << self.bits) + part
        numbers = tuple(Number(path, part) for part in (time, *counts))
        return Word(term, numbers, is_own and path.decide(path.at_most(1, sum(counts, Term.of(0)))))

    def fields(self) -> dict[str, Term]:
        """Those of all of them; `cbits` and `top` are numbers."""
        return {}

    def defined(self) -> Any:
        """With the numbers that the width of a count decides."""
        kernel = super().defined()
        kernel.cbits, kernel.top = self.bits, self.top
        return kernel


class Fixed(Counting):
    """A fixed window that is aligned."""

    export, definition = "fixed", core.FixedWindow

    def parameters(self) -> None:
        """Any window and phase."""
        path = self.path
        self.window, self.phase = path.named("window", 1, MAX_PERIOD), path.named("phase", 0, MAX_PERIOD)
        path.assume(path.below(self.phase, self.window))
        self.max_now = self.least(self.window.times(self.top + 1) - 1 - self.phase)
        self.own = [self.window, self.phase]

    def fields(self) -> dict[str, Term]:
        """The window and its phase."""
        return {"w": self.window, "phase": self.phase}

    def instant(self, name: str) -> Term:
        """In windows."""
        return self.path.parted(name, self.window, U64)


class First(Counting):
    """A fixed window that a request opens."""

    export, definition = "first", core.FixedWindowFirst

    def parameters(self) -> None:
        """Any window of at least a thousand quanta."""
        path = self.path
        self.window, self.quantum = path.named("window", 1, MAX_PERIOD), path.named("quantum", 1, MAX_PERIOD)
        path.assume(path.at_most(self.quantum.times(1000), self.window))
        self.max_now = self.least(self.quantum.times(self.top))
        self.own = [self.window, self.quantum]

    def fields(self) -> dict[str, Term]:
        """The window and its quantum."""
        return {"w": self.window, "q": self.quantum}

    def instant(self, name: str) -> Term:
        """In quanta, rounded up."""
        return self.path.parted(name, self.quantum, U64, up=True)


class Stepped(Counting):
    """A count whose instants are told in steps from the word's time on: what lies between the two is a named integer."""

    rounds_up: ClassVar[bool] = False

    @abstractmethod
    def step(self) -> Term:
        """The nanoseconds of a step."""

    def word(self, name: str = "", last: int = WORD_LIMIT - 1) -> Word:
        """Any, from whose time the instants are told if it has no name."""
        word = super().word(name, last)
        if not name:
            self._time = plain(word.state[0])
        return word

    def instant(self, name: str) -> Term:
        """So many steps from the word's time on, or back."""
        path = self.path
        is_later = path.decide(path.equal(path.named(f"{name}_is_later", 0, 1), 1))
        far = path.named(f"{name}_far", 0, U64)
        rest = path.named(f"{name}_rest", 0, MAX_PERIOD - 1)
        path.assume(path.below(rest, self.step()))
        time = self._time + far if is_later else self._time - far - 1
        value = time * self.step() + (rest.times(-1) if self.rounds_up else rest)
        path.told(self.top + 1, time, self.step())
        first = next(iter((far * self.step()).parts), ())
        if first:
            sign = value.parts[first]
            path.bound(value.times(sign), first, min(0, sign * U64), max(0, sign * U64))
        else:
            path.assume(path.at_most(0, value))
            path.assume(path.at_most(value, U64))
        return value


class Bucket(Stepped):
    """A bucket that is refilled at multiples of its interval."""

    export, definition = "bucket", core.BucketInterval

    def parameters(self) -> None:
        """Any refill and interval."""
        path = self.path
        self.refill, self.interval_ns = path.named("refill", 1, U32), path.named("interval", 1, MAX_PERIOD)
        self.max_now = self.least(self.interval_ns.times(self.top + 1) - 1)
        self.own = [self.refill, self.interval_ns]

    def fields(self) -> dict[str, Term]:
        """The refill and the interval."""
        return {"r": self.refill, "iv": self.interval_ns}

    def step(self) -> Term:
        """An interval."""
        return self.interval_ns


class BucketFirst(Stepped):
    """A bucket that is refilled from the request on that found it full."""

    export, definition, rounds_up = "bucket_first", core.BucketIntervalFirst, True

    def parameters(self) -> None:
        """Any refill, and any interval of at least a thousand quanta."""
        path = self.path
        self.refill, self.quanta = path.named("refill", 1, U32), path.named("quanta", 1000, MAX_PERIOD)
        self.quantum = path.named("quantum", 1, 1 << 52)
        self.interval_ns = self.quanta * self.quantum
        path.assume(path.at_most(self.interval_ns, MAX_PERIOD))
        self.max_now = self.least(self.quantum.times(self.top))
        self.own = [self.refill, self.interval_ns, self.quantum]

    def fields(self) -> dict[str, Term]:
        """The refill, the interval and its quantum."""
        return {"r": self.refill, "iv": self.interval_ns, "q": self.quantum}

    def step(self) -> Term:
        """A quantum."""
        return self.quantum


class TwoWindows(Counting):
    """Two windows, of which both have a count."""

    counts, widest = ("previous", "current"), 31

    def parameters(self) -> None:
        """Any window."""
        self.window = self.path.named("window", 1, MAX_PERIOD)
        self.max_now = self.least(self.window.times(self.top + 1) - 1)
        self.own = [self.window]

    def fields(self) -> dict[str, Term]:
        """The window."""
        return {"w": self.window}

    def instant(self, name: str) -> Term:
        """In windows."""
        return self.path.parted(name, self.window, U64)


class Sliding(TwoWindows, Stepped):
    """A sliding window."""

    definition = core.SlidingWindow

    def step(self) -> Term:
        """A window."""
        return self.window

    def instant(self, name: str) -> Term:
        """In windows from that of the word on."""
        return Stepped.instant(self, name)


class Loose(Sliding):
    """One that rounds down."""

    export = "loose"

    def defined(self) -> Any:
        """Rounding down."""
        kernel = super().defined()
        kernel.strict = False
        return kernel


class Strict(Sliding):
    """One that is strict."""

    export = "strict"

    def defined(self) -> Any:
        """Rounding up."""
        kernel = super().defined()
        kernel.strict = True
        return kernel


class InFlight(TwoWindows):
    """Permits in flight."""

    export, definition = "in_flight", hold.InFlight


class Calendar(Counting):
    """Windows of a calendar, between any five boundaries: a decision reads no more of them."""

    export, definition = "calendar", core.CalendarWindow

    def parameters(self) -> None:
        """Any boundaries that ascend, in seconds since the epoch."""
        path = self.path
        self.own = [path.named(f"boundary_{number}", 1, self.top) for number in range(BOUNDARIES)]
        for earlier, later in pairwise(self.own):
            path.assume(path.below(earlier, later))
        self.max_now = self.least(self.own[-1].times(core.NS) - 1)

    def fields(self) -> dict[str, Term]:
        """None but the boundaries, which are a list."""
        return {}

    def defined(self) -> Any:
        """With its boundaries."""
        kernel = super().defined()
        kernel.bounds = [Number(self.path, end) for end in self.own]
        return kernel

    def instant(self, name: str) -> Term:
        """In seconds."""
        second, rest = self.path.named(f"{name}_second", 0, U64 // core.NS), self.path.named(f"{name}_rest", 0, core.NS - 1)
        value = second.times(core.NS) + rest
        self.path.assume(self.path.at_most(value, U64))
        return value


BOUNDARIES = 5

KERNELS: dict[str, type[Kernel]] = {
    kernel.export: kernel for kernel in (Gcra, Fixed, First, Bucket, BucketFirst, Loose, Strict, InFlight, Calendar)
}
