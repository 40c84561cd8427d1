"""Limits by a file of rules, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from ratecell import _native
from ratecell._exceeded import RateLimitExceeded
from ratecell._native import RulesDecision

if TYPE_CHECKING:
    from typing_extensions import Self

Actual = Mapping[str, str | bytes | int | None]
"""Attributes that are known afterwards."""

SETTLED = "settled"
RELEASED = "released"


class Rules(_native.Rules):
    """Limits by a file of rules, which says which limits apply to which requests.

    The file is given as its `text`, str or bytes, or by its `path`; it is read once. All rules have one
    table, with room for `max_keys` keys at once (default 100,000): a key counts once for each layer of the
    policy that it is limited by. `when_full`, which is not "share", and `epoch_s` are those of `Limiter`.
    Threads may share it. The limits are this process's alone. With `forked` it shares them with the processes
    that are forked off later, and together they admit exactly what the rules allow; a change after the fork
    is of its process alone. With `reserving` every request is reserved, and rules may count requests
    `in_flight`.

    With `file`, the path of another file, the limits are in that: all processes that name it, in any
    language, admit together exactly what the rules allow. If it is absent, empty or all zeros, it is made. It
    knows each limit by the name of its rule and tier, and a change is for all processes. Rules of other names
    are added to it, and none is ever taken away. A rule that has another policy there is refused; with
    `follow` the policy of the file holds, and with `change` this one, for all.

    Raises RulesError, a ValueError, for a file that is refused; ValueError for a `max_keys` of 0, for a
    `when_full` of "share", for a rule with `in_flight` without `reserving`, and with `forked` or `file` for a
    rule with a `sliding_log`; also for a `file` that holds another policy of a rule, or something else, and
    for options that do not go with it; OSError, as `open` does, for a file that cannot be read or used;
    MemoryError where there is too little for `max_keys`.
    """

    __slots__ = ()

    def reserve(
        self, attributes: Mapping[str, str | bytes | None], *, at_ns: int | None = None
    ) -> RulesReservation:
        """Decides and charges a request as `decide` does, to settle and release it later.

            with rules.reserve({"client": client, "tokens": "4000"}) as reservation:
                reservation.actual = {"tokens": ask_the_model()}

        The RulesReservation says what was charged of each rule. A refusal is a false one, whose `decision`
        says why; to enter it raises RateLimitExceeded. Nothing of shadow rules is held. Raises what `decide`
        raises.
        """
        return RulesReservation._of(self, _native.rules_reserve(self, attributes, at_ns), at_ns)


class RulesReservation:
    """What `Rules.reserve` has charged: true if it was allowed.

    Leaving the `with` block settles it by `actual`, if that was set, and releases the permits of layers
    `in_flight`, also where an exception leaves the block. What the block has settled or released itself is
    left as it is. `async with` does the same, and waits for nothing.

    A reservation that was refused is false. To enter it raises RateLimitExceeded, and so do its other calls.

    `settle`, `cancel` and `release` happen at `at_ns`, or at that of the reservation, or now. Each
    reservation is settled or cancelled once and released once: a second time raises RuntimeError, for it
    would give back units of other requests. Threads may share an object.

    It is plain data. The rules keep nothing of it: what is never settled drains as any charge does, and a
    permit comes back by itself after its hold. `bytes(reservation)` is of use to other processes that share
    the tables by `forked`; `from_bytes` makes an object of it. No object knows what another one has settled.
    """

    __slots__ = ("_data", "_open", "_rules", "actual", "at_ns", "decision")

    decision: RulesDecision | None
    """The decision of `reserve`; None of one that was made `from_bytes`."""
    at_ns: int | None
    """The time of the calls that are given none, as `reserve` was given it; None is now."""
    actual: Actual | None
    """What leaving a `with` block settles by, as `settle` has it; None is nothing."""

    _rules: _native.Rules
    _data: bytes | None
    _open: set[str]
    """What is still to be done, once."""

    def __init__(self) -> None:
        raise TypeError("a reservation is not made by itself: expected Rules.reserve, or from_bytes")

    @classmethod
    def _of(
        cls, rules: _native.Rules, decided: tuple[RulesDecision | None, bytes | None], at_ns: int | None
    ) -> Self:
        self = cls.__new__(cls)
        self._rules = rules
        self._open = {SETTLED, RELEASED}
        self.decision, self._data = decided
        self.at_ns = at_ns
        self.actual = None
        return self

    @classmethod
    def from_bytes(cls, rules: Rules, data: bytes, *, at_ns: int | None = None) -> Self:
        """The reservation whose `bytes` these are, with the rules that made it, here or in a forked process.

        Of other rules nothing comes back. Raises ValueError for bytes of something else.
        """
        # Without attributes nothing is settled, and the bytes are read.
        _native.rules_settle(rules, data, {}, at_ns)
        return cls._of(rules, (None, data), at_ns)

    def settle(self, actual: Actual, *, at_ns: int | None = None) -> None:
        """Settles by attributes that are known afterwards, such as `{"tokens": 1210}`.

        Each rule whose cost the file takes from one of them, with `from` or `by`, is settled at the cost that
        they make: what was reserved beyond it is given back, as by `Reservation.settle`, and what is above it
        is charged. All other rules stay as they are: those of a fixed cost, those whose attribute is not
        given, those whose cost is taken from the path, and layers `in_flight`. So does a rule that is not in
        the file in force any more, makes its cost in another way, or has begun anew.
        """
        if not isinstance(actual, Mapping):
            kind = type(actual).__name__
            raise TypeError(f"actual is of type {kind}: expected a mapping of names to values")
        texts = {name: str(value) if isinstance(value, int) else value for name, value in actual.items()}
        self._settle(texts, at_ns)

    def cancel(self, *, at_ns: int | None = None) -> None:
        """Settles each rule at 0: the request has used nothing. Layers `in_flight` stay as they are."""
        self._settle(None, at_ns)

    def release(self, *, at_ns: int | None = None) -> int:
        """Gives back the permits of all layers `in_flight`; all others stay as they are.

        Returns how many units came back: of several rules with such layers the least. Nothing comes back of
        a permit that has passed by itself, or whose rule is not in the file in force any more or has begun
        anew.
        """
        data = self._held()
        self._close(RELEASED)
        try:
            return _native.rules_release(self._rules, data, self._at(at_ns))
        except BaseException:
            # Whatever is raised is raised before anything is given back.
            self._open.add(RELEASED)
            raise

    def __enter__(self) -> Self:
        self._held()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if SETTLED in self._open and self.actual is not None:
                self.settle(self.actual)
        finally:
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
            "RulesReservation.from_bytes with rules that share the tables"
        )

    def __repr__(self) -> str:
        if self._data is None:
            return f"<RulesReservation refused: {self.decision!r}>"
        done = " and ".join(what for what in (SETTLED, RELEASED) if what not in self._open)
        return f"<RulesReservation: {done or 'held'}>"

    def _settle(self, actual: Mapping[str, str | bytes | None] | None, at_ns: int | None) -> None:
        data = self._held()
        self._close(SETTLED)
        try:
            _native.rules_settle(self._rules, data, actual, self._at(at_ns))
        except BaseException:
            self._open.add(SETTLED)
            raise

    def _held(self) -> bytes:
        if self._data is None:
            assert self.decision is not None, "what was made of bytes is held"
            raise RateLimitExceeded(self.decision.rule or "", self.decision)
        return self._data

    def _at(self, at_ns: int | None) -> int | None:
        return self.at_ns if at_ns is None else at_ns

    def _close(self, what: str) -> None:
        try:
            # One step, so that of two threads one does it.
            self._open.remove(what)
        except KeyError:
            raise RuntimeError(f"the reservation is {what} already: expected it once") from None
