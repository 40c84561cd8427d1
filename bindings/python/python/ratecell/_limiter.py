"""The limiter: the native one, which decides, with waiting and the decorator."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, NoReturn, TypeVar

from ratecell import _native, _waiting
from ratecell._decorator import limited
from ratecell._native import Decision, Zone
from ratecell._reservation import Reservation

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Limiter(_native.Limiter):
    """Decides, for any number of keys, whether a request may go now.

    `policy` is text such as "100/s burst=200"; `max_keys` how many keys have room at once (default 100,000;
    about 26 bytes each, taken here); `when_full` what becomes of a new key without room: "evict" (default),
    "share", "deny" or "allow". With `path`, a file that is made or attached to, every process that opens it
    shares the same limits; without, the limiter is this process's alone. Without a policy it has the file's,
    and follows its changes.

    A policy may have a burst, capacity or limit of a window that the file's has not. Another rate is refused
    with a ValueError that has both policies: with `follow=True` the policy of the file holds, and with
    `change=True` this one, for all, as by `change`. `with_policy` makes a limiter with a rate of its own.

    A file that `ratecell sync` made has the units of many machines. There a request that no lease of this
    machine answers waits, without the GIL, for at most `wait_ns` nanoseconds (50 ms); with `on_miss="deny"`
    it is denied at once. While the store does not answer, it is denied, or allowed with `on_failure="open"`.
    For any other limiter these three are refused.

    Keys are str, known by their UTF-8, or bytes. Threads may share a limiter.

    `epoch_s` sets the zero of the times, in seconds since 1970, for a limiter in memory whose every call
    gives `at_ns`: windows of a calendar are counted from it, and aligned windows are aligned to it. Without
    it that is the Monday 00:00 UTC before the limiter is made.

    `names=True` keeps the names of denied keys in the file, and counts denials, so that `ratecell top` shows
    who is denied. It takes 256 KiB. Whoever can read the file can read those keys, which may be personal
    data. A file that was made without names is refused; without `path` there is nobody to read them, which is
    refused, too.

    Raises PolicyError, a ValueError, for a policy that is refused; ValueError for a file that holds something
    else or another policy, or a `max_keys` of 0; OSError, of the class and with the number that
    `open` would raise, for a file that cannot be used; MemoryError where
    there is too little for `max_keys`. The calls that decide raise TypeError for a key that is neither str
    nor bytes, and ValueError for a cost that is not from 0 to 2**32-1, or a str that has no UTF-8; nothing is
    charged then. A denial is an answer, never an exception.
    """

    __slots__ = ()

    def __init__(
        self,
        policy: str | None = None,
        *,
        max_keys: int | None = None,
        when_full: Literal["evict", "share", "deny", "allow"] | None = None,
        path: str | PathLike[str] | None = None,
        on_miss: Literal["wait", "deny"] | None = None,
        wait_ns: int | None = None,
        on_failure: Literal["closed", "open"] | None = None,
        epoch_s: int | None = None,
        names: bool | None = None,
        follow: bool | None = None,
        change: bool | None = None,
    ) -> None:
        """Is made by `__new__`, as immutable objects are."""
        super().__init__()

    def with_policy(self, policy: str) -> Limiter:
        """Another limiter on the same keys, in the same memory, with another policy, such as a tier.

        The policy must have the same algorithms and windows; rate and capacity may differ. Raises ValueError
        where it does not. `change` changes the policy of both.
        """
        return _native.Limiter.__new__(type(self), policy, _beside=self)

    def reserve(
        self,
        key: str | bytes,
        cost: int = 1,
        *,
        at_ns: int | None = None,
        within_ns: int | None = None,
        with_next: bool = False,
        zone: Zone | None = None,
    ) -> Reservation:
        """Decides and charges a request as `decide` does, to settle it when the actual cost is known.

            with limiter.reserve("org:7", 4000) as reservation:
                reservation.actual = ask_the_model()

        The Reservation says what was charged. If the policy has layers `in_flight`, it is their permit, too:
        leaving the block releases it. A refusal is a false Reservation, whose `decision` says why; to enter
        it raises RateLimitExceeded. A cost of 0 is a peek that can be settled.

        A Reservation has no zone. Under a policy with tz=caller its units come back as ever; but the outcome
        of `settle` is NEVER, and units beyond the reserved ones are not charged.

        Raises ValueError, and charges nothing, for a limiter that cannot reserve: that of many machines.
        """
        reserved = _native.reserve(self, key, cost, at_ns, within_ns, with_next, zone)
        return Reservation._of(self, key, reserved, at_ns)

    def wait(self, key: str | bytes, cost: int = 1, timeout: float | None = None) -> Decision:
        """Waits until `cost` units of `key` are allowed, and charges them; other threads run meanwhile.

        Sleeps as long as the decisions say, which is exact. Under a leaky_queue it takes its place in the
        queue as soon as there is one from which it goes in time, and returns when it has its turn: the
        `delay` of the decision has been slept. A cost of 0 returns what a peek sees.

        Threads and tasks that wait for the same key of one limiter go in the order in which they came,
        whatever their costs and timeouts: only the first of them asks, and nobody who comes later takes what
        it waits for. `check`, other processes and other limiters do not stand in line.

        Where `timeout` seconds are not enough, as long as those in front stay, the denial is returned at
        once, without sleeping; so look at what is returned where there is a timeout. A timeout of 0 is one
        try, if nobody stands in line. Without a timeout, what can never be allowed raises ValueError, and
        TooManyWaiting is raised where 1000 wait for the key, or 100,000 for all keys; with one, both are
        denials. The `retry_after` of a denial is None where it is not known.
        """
        return _waiting.wait(self, key, cost, timeout)

    async def acquire(self, key: str | bytes, cost: int = 1, timeout: float | None = None) -> Decision:
        """Does as `wait` does, in asyncio: other tasks run meanwhile.

        A task that is cancelled has taken nothing. A place in a leaky_queue comes back if it is the last one.
        """
        return await _waiting.acquire(self, key, cost, timeout)

    def limit(
        self,
        key: str | bytes | Callable[..., str | bytes] | None = None,
        *,
        cost: int = 1,
        timeout: float | None = 0,
    ) -> Callable[[_Function], _Function]:
        """Decorates a function with this limit; also a coroutine function, or an asynchronous generator.

        `key` is a key or a function of the call's arguments that returns one; by default the function's name.
        What has none, such as a `functools.partial`, needs a key. An asynchronous generator is limited when
        its first item is asked for, all others when they are called.

        A call that is denied raises RateLimitExceeded, after up to `timeout` seconds of waiting; None waits
        as long as it takes.
        """
        return limited(self, key, cost, timeout)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a limiter cannot be pickled or copied: expected Limiter(policy, path=FILE) in each process"
        )

    def __repr__(self) -> str:
        return f"<Limiter {self.policy!r}>"


_native.give_check(Limiter)
