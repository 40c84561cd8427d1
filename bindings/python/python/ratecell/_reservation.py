"""Reservations: units that are charged now, and given back when it is known what was used."""

from __future__ import annotations

import operator
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from ratecell import _native
from ratecell._exceeded import RateLimitExceeded
from ratecell._native import Decision

if TYPE_CHECKING:
    from typing_extensions import Self

SETTLED = "settled"
RELEASED = "released"
MAX_COST = 2**32 - 1


class Reservation:
    """What `Limiter.reserve` has charged: true if it was allowed.

        with limiter.reserve("org:7", 4000) as reservation:
            reservation.actual = ask_the_model()

    Leaving the block settles it: of its units, `actual` were used, and the others are given back. Where
    `actual` is None, as it is at first, all of them count as used, also where an exception leaves the block;
    to cancel, set it to 0. Then the permit of layers `in_flight` is released. What the block has settled or
    released itself is left as it is. `async with` does the same, and waits for nothing.

    A reservation that was refused is false. To enter it raises RateLimitExceeded, and so do its other calls.

    `settle`, `release` and `renew` happen at `at_ns`, or at that of the reservation, or now. They return a
    decision, what a peek sees afterwards. Each reservation is settled once and released once: a second time
    raises RuntimeError, for it would give back units of other requests. Threads may share an object, but for
    `renew`.

    It is plain data. A limiter keeps nothing of it: what is never settled drains as any charge does, and
    a permit comes back by itself after its hold. `bytes(reservation)` is of use to other processes that have
    the same `path`; `from_bytes` makes an object of it. No object knows what another one has settled.
    """

    __slots__ = ("_actual", "_data", "_limiter", "_open", "at_ns", "decision", "key")

    key: str | bytes | None
    """The key; None of one that was made `from_bytes`."""
    decision: Decision
    """The decision of `reserve`; of one that was made `from_bytes`, what a peek saw then."""
    at_ns: int | None
    """The time of the calls that are given none, as `reserve` was given it; None is now."""

    _limiter: _native.Limiter
    _data: bytes | None
    _actual: int | None
    _open: set[str]
    """What is still to be done, once."""

    def __init__(self) -> None:
        raise TypeError("a reservation is not made by itself: expected Limiter.reserve, or from_bytes")

    @classmethod
    def _of(
        cls,
        limiter: _native.Limiter,
        key: str | bytes | None,
        decided: tuple[Decision, bytes | None],
        at_ns: int | None,
    ) -> Self:
        self = cls.__new__(cls)
        self._limiter = limiter
        self._actual = None
        self._open = {SETTLED, RELEASED}
        self.key = key
        self.decision, self._data = decided
        self.at_ns = at_ns
        return self

    @classmethod
    def from_bytes(cls, limiter: _native.Limiter, data: bytes, *, at_ns: int | None = None) -> Self:
        """The reservation whose `bytes` these are, with a limiter of the same `path` as the one that made it.

        Of another limiter nothing comes back. Those who wait for the key in this process are not woken by
        this object, and look again by themselves. Raises ValueError for bytes of something else.
        """
        # What is settled at its whole cost gives back and charges nothing.
        peek = _native.settle(limiter, None, data, _native.reserved(data), at_ns)
        return cls._of(limiter, None, (peek, data), at_ns)

    @property
    def cost(self) -> int:
        """The units that are reserved."""
        return _native.reserved(self._held())

    @property
    def actual(self) -> int | None:
        """The units that were used, from 0 to 2**32-1, or None: what leaving a `with` block settles by."""
        return self._actual

    @actual.setter
    def actual(self, units: int | None) -> None:
        self._actual = None if units is None else _units(units)

    def settle(self, actual: int, *, at_ns: int | None = None) -> Decision:
        """Settles: of the units, `actual` were used, and 0 is a cancellation.

        What is more than `cost` is charged as far as there is room for it. Each layer gives back as much as
        it can without forgiving what others were charged. Windows and logs give back all, as long as their
        units still count. A rate or a bucket gives back what has not drained yet. A `leaky_queue` gives back
        the last place alone. Layers `in_flight` stay as they are.
        """
        data, actual = self._held(), _units(actual)
        self._close(SETTLED)
        try:
            decision = _native.settle(self._limiter, self.key, data, actual, self._at(at_ns))
        except BaseException:
            # Whatever is raised is raised before anything is given back.
            self._open.add(SETTLED)
            raise
        self._actual = actual
        return decision

    def release(self, *, at_ns: int | None = None) -> Decision:
        """Gives back the permit of the layers `in_flight`; all others stay as they are.

        `given_back` of the decision is how many units came back: 0 of a permit that has passed by itself.
        """
        data = self._held()
        self._close(RELEASED)
        try:
            return _native.release(self._limiter, self.key, data, self._at(at_ns))
        except BaseException:
            self._open.add(RELEASED)
            raise

    def renew(self, *, at_ns: int | None = None) -> Decision:
        """Renews the permit of the layers `in_flight`, so that it lives on for at least another hold.

        A permit that is renewed at least once each hold is never refused; one that has passed is acquired
        again. If the decision is a refusal, the permit is what it was.
        """
        data = self._held()
        if RELEASED not in self._open:
            raise RuntimeError("the reservation is released already: expected its renewal before")
        decision, self._data = _native.renew(self._limiter, data, self._at(at_ns))
        return decision

    def __enter__(self) -> Self:
        self._held()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if SETTLED in self._open:
            self.settle(self.cost if self._actual is None else self._actual)
        if RELEASED in self._open:
            self.release()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, raised, trace)

    def __bool__(self) -> bool:
        return self._data is not None

    def __bytes__(self) -> bytes:
        return self._held()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a reservation cannot be pickled or copied: expected bytes(reservation), and "
            "Reservation.from_bytes with a limiter of the same path"
        )

    def __repr__(self) -> str:
        if self._data is None:
            return f"<Reservation refused: {self.decision!r}>"
        done = " and ".join(what for what in (SETTLED, RELEASED) if what not in self._open)
        return f"<Reservation of {self.cost}: {done or 'held'}>"

    def _held(self) -> bytes:
        if self._data is None:
            assert self.key is not None, "what was made of bytes is held"
            raise RateLimitExceeded(self.key, self.decision)
        return self._data

    def _at(self, at_ns: int | None) -> int | None:
        return self.at_ns if at_ns is None else at_ns

    def _close(self, what: str) -> None:
        try:
            # One step, so that of two threads one does it.
            self._open.remove(what)
        except KeyError:
            raise RuntimeError(f"the reservation is {what} already: expected it once") from None


def _units(actual: int) -> int:
    try:
        units = operator.index(actual)
    except TypeError:
        kind = type(actual).__name__
        raise TypeError(f"actual is of type {kind}: expected int, 0 to {MAX_COST}") from None
    if not 0 <= units <= MAX_COST:
        raise ValueError(f"actual is {units}: expected 0 to {MAX_COST}")
    return units
