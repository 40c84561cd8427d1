"""The extension module: what decides."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from os import PathLike
from typing import Literal, SupportsIndex, TypeAlias, final, overload

from typing_extensions import Buffer, Self, disjoint_base

from ratecell._outcome import Outcome

__all__ = [
    "Decision",
    "Decisions",
    "Limiter",
    "PolicyError",
    "Stats",
    "Waiting",
    "arrive",
    "check_all",
    "decision",
    "decisions",
    "give_check",
    "leave",
    "turn",
    "waits",
]

_Parts: TypeAlias = tuple[int, int, int, int, int, int, int]

class PolicyError(ValueError):
    """A policy that is refused: a ValueError with `code`, the stable name of what is wrong with it,
    and `column`, where in its text, counted in bytes from 1, or None.
    """

    code: str
    column: int | None

@final
class Decision:
    """What a limiter answers to one request: true if it may go.

    A denial is an answer, not an exception. Times are relative to the request's, exact in the `_ns`
    twins and the nearest float otherwise.
    """

    def __bool__(self) -> bool: ...
    def __hash__(self) -> int: ...
    @property
    def allowed(self) -> bool:
        """Whether the request may go: what `bool(decision)` says."""
    @property
    def outcome(self) -> Outcome:
        """How the request was decided."""
    @property
    def limit(self) -> int:
        """The most units that can pass at one instant; of several layers, that of `layer`."""
    @property
    def remaining(self) -> int:
        """Units that would be allowed at this same instant, after this decision."""
    @property
    def retry_after(self) -> float | None:
        """Seconds until the same cost would be allowed, with no other traffic on the key: 0.0 if it
        was allowed, None if it never can be.
        """
    @property
    def retry_after_ns(self) -> int | None:
        """`retry_after` in nanoseconds: exact, 1 ns earlier the same cost is still denied."""
    @property
    def reset_after(self) -> float:
        """Seconds until the key is as good as never used."""
    @property
    def reset_after_ns(self) -> int:
        """`reset_after` in nanoseconds."""
    @property
    def delay(self) -> float:
        """Seconds to hold the allowed request before it goes on: 0.0 except for a `leaky_queue`."""
    @property
    def delay_ns(self) -> int:
        """`delay` in nanoseconds."""
    @property
    def layer(self) -> int:
        """Which of the policy's layers has the least `remaining`: the one to name to whoever was
        refused. Counted from 0; 0 where there is one layer.
        """

@final
class Decisions(Sequence[Decision]):
    """The decisions of a batch, in the order of its keys: a sequence of `Decision`.

    Its columns are for code that looks at all of them at once: `bytes`, and read-only memoryviews
    of unsigned 64-bit numbers, that numpy takes without a copy.
    """

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Decision]: ...
    def __reversed__(self) -> Iterator[Decision]: ...
    def __contains__(self, value: object, /) -> bool: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Decision: ...
    @overload
    def __getitem__(self, index: slice, /) -> Decisions: ...
    def count(self, value: object, /) -> int:
        """How many of the decisions are equal to `value`."""
    def index(self, value: object, start: int = 0, stop: int = sys.maxsize, /) -> int:
        """The number of the first decision from `start` on and before `stop` that is equal to `value`;
        ValueError where there is none.
        """
    @property
    def allowed(self) -> bytes:
        """One byte for each key: 1 if it is allowed, 0 if not."""
    @property
    def allowed_count(self) -> int:
        """How many are allowed."""
    @property
    def all_allowed(self) -> bool:
        """Whether every one is allowed; true of an empty batch."""
    def denied(self) -> list[int]:
        """The numbers of those that are not allowed, in order."""
    @property
    def remaining(self) -> memoryview[int]:
        """`remaining` of each."""
    @property
    def retry_after_ns(self) -> memoryview[int]:
        """`retry_after_ns` of each; 2^64-1 is never."""
    @property
    def reset_after_ns(self) -> memoryview[int]:
        """`reset_after_ns` of each."""
    @property
    def delay_ns(self) -> memoryview[int]:
        """`delay_ns` of each."""

@final
class Stats:
    """What a limiter holds and what has happened to it. Of several layers, the sum of the events and
    of the bytes, and the most slots and live keys of any.
    """

    @property
    def slots(self) -> int:
        """Places for keys; `max_keys` is three quarters of them."""
    @property
    def live(self) -> int:
        """Keys that are not as good as never used."""
    @property
    def live_error(self) -> int:
        """How many more or fewer than `live` there may be: 0 where all were counted, which is exact
        while nothing else runs. Of a sample it is four standard errors, and bounds the error of all
        but 1 of 10,000 limiters.
        """
    @property
    def bytes(self) -> int:
        """Bytes of memory, fixed at construction; a `sliding_log`'s entries come on top."""
    @property
    def evicted(self) -> int:
        """Live keys that were erased for newcomers."""
    @property
    def forgiven(self) -> int:
        """Units that erased keys still held: what may have passed beyond the policy."""
    @property
    def shared(self) -> int:
        """Requests decided on a cell shared by newcomers without room."""
    @property
    def denied_full(self) -> int:
        """Newcomers denied for want of room."""
    @property
    def allowed_full(self) -> int:
        """Newcomers allowed uncharged for want of room."""
    @property
    def exhausted(self) -> int:
        """Requests that met so many others at once that they were answered as by a full table."""

@disjoint_base
class Limiter:
    """The limiter without what waits, which is Python."""

    def __new__(
        cls,
        policy: str,
        *,
        max_keys: int | None = None,
        when_full: Literal["evict", "share", "deny", "allow"] | None = None,
        path: str | PathLike[str] | None = None,
        _beside: Limiter | None = None,
    ) -> Self: ...
    def check(self, key: str | bytes, cost: int = 1) -> Decision:
        """Decides `cost` units of `key` now: all of them or none. A cost of 0 is a peek."""
    def check_at(self, key: str | bytes, cost: int, now_ns: int) -> Decision:
        """Decides `cost` units of `key` at `now_ns`: nanoseconds since `epoch`, or since any other as
        long as all who use the limiter use one.
        """
    def check_within(self, key: str | bytes, cost: int, max_delay_ns: int) -> Decision:
        """`check`, but what would be allowed with a `delay` of more than `max_delay_ns` is denied, and
        charges nothing: its `retry_after` is when the delay is no longer. Where its own units alone
        are delayed for longer, it can never go. For callers who can hold a request only so long.
        """
    def check_within_at(self, key: str | bytes, cost: int, max_delay_ns: int, now_ns: int) -> Decision:
        """`check_within` at `now_ns`."""
    def check_many(
        self, keys: Iterable[str | bytes] | Buffer, cost: int = 1, *, width: int | None = None
    ) -> Decisions:
        """Decides `cost` units of each of `keys` at one instant, in their order.

        `keys` are any iterable of str and bytes, or memory: an array of numbers, of numpy's type
        `S` or of two dimensions, whose items or rows are the keys; or any buffer, with the `width`
        of a key in bytes. A number is known by the bytes that it has in memory: 5 as int32 and as
        int64 are two keys, and neither is "5". In type `S` the zeros at the end are no part of a
        key, unless `width` is given.
        """
    def check_many_at(
        self, keys: Iterable[str | bytes] | Buffer, cost: int, now_ns: int, *, width: int | None = None
    ) -> Decisions:
        """`check_many` at `now_ns`."""
    def peek(self, key: str | bytes) -> Decision:
        """What a check of `key` would see now, without charging it."""
    def peek_at(self, key: str | bytes, now_ns: int) -> Decision:
        """`peek` at `now_ns`."""
    def charge(self, key: str | bytes, cost: int = 1) -> Decision:
        """Charges `cost` units of `key` that have been spent already, whether or not they would be
        allowed: as many as there is room for. The decision is what a peek sees afterwards.
        """
    def charge_at(self, key: str | bytes, cost: int, now_ns: int) -> Decision:
        """`charge` at `now_ns`."""
    def forget(self, key: str | bytes) -> bool:
        """Makes `key` as if never seen; says whether there was anything to forget."""
    def stats(self, *, exact: bool = False) -> Stats:
        """What the limiter holds now and what has happened to it. Above 196,608 keys `live` is
        estimated, within `live_error`; if `exact`, it is counted: tens of milliseconds for ten
        million keys, in which other threads run.
        """
    def stats_at(self, now_ns: int, *, exact: bool = False) -> Stats:
        """`stats` at `now_ns`."""
    def headers(
        self, decision: Decision, name: str | None = None, *, legacy: bool = False
    ) -> list[tuple[str, str]]:
        """The HTTP fields that tell a client this decision, as (name, value): RateLimit-Policy,
        RateLimit and, of a denial, Retry-After. `name` is what the policy is called there, by
        default its own text; `legacy` adds the older X-RateLimit-Limit, -Remaining and -Reset,
        which is in seconds from now.
        """
    @property
    def policy(self) -> str:
        """The policy, as text that makes the same one."""
    @property
    def capacity(self) -> int:
        """The most units that can pass at one instant: the least capacity of the layers."""
    @property
    def max_now_ns(self) -> int:
        """The last `now_ns` that can be decided."""
    def now_ns(self) -> int:
        """Nanoseconds since `epoch`, by the limiter's clock: CLOCK_MONOTONIC."""
    @property
    def epoch(self) -> datetime:
        """The zero of the limiter's clock, a datetime in UTC: the Monday 00:00 UTC before it was made."""

def check_all(
    claims: list[tuple[Limiter, str | bytes, int, int | None]],
) -> tuple[Outcome, Decisions]:
    """Decides all of `claims`, each (limiter, key, cost, now_ns or None), as one request; answers with
    its outcome, and what each says by itself.
    """

def decision(parts: _Parts) -> Decision:
    """The decision that says `parts`, of a pickle."""

def decisions(parts: list[_Parts]) -> Decisions:
    """The batch of the decisions that say `parts`, of a pickle."""

def give_check(cls: type[Limiter]) -> None:
    """Gives `cls`, a subclass of `Limiter`, a `check` of its own: the interpreter calls a method
    quickest on instances of the very class that has it.
    """

def arrive(
    limiter: Limiter,
    key: str | bytes,
    cost: int,
    now_ns: int,
    deadline_ns: int | None,
    wake: Callable[[], object],
) -> int:
    """Has somebody wait for `cost` units of `key`, until `deadline_ns` at the longest, or None; who it is.
    `wake` is called, by any thread, when its turn has come by what happened to others.
    """

def turn(
    limiter: Limiter, waiter: int, key: str | bytes, now_ns: int
) -> tuple[tuple[str, Decision] | None, int | None]:
    """The turn of a waiter: it asks, if that is due. Its end or None, and the instant until which it
    sleeps or None.
    """

def leave(limiter: Limiter, waiter: int, now_ns: int) -> None:
    """A waiter gives up, wherever it is."""

def waits(limiter: Limiter) -> tuple[int, int]:
    """How many wait, and how often the limiter was asked by them."""

@final
class Waiting:
    """The machine that says who asks when, by itself: it asks no limiter and wakes nobody."""

    def __new__(
        cls,
        *,
        capacity: int | None,
        pace: tuple[int, int] | None,
        max_waiting: int,
        max_total: int,
        min_pause_ns: int,
        max_pause_ns: int,
        full_pause_ns: int,
    ) -> Self: ...
    def event(
        self, name: str, now_ns: int, *arguments: object
    ) -> tuple[list[tuple[object, ...]], int | None]:
        """Takes in an event, by its name and its arguments as the published traces have them. The actions
        that follow, each as there, and the instant at which the event "timer" is due, or None.
        """
