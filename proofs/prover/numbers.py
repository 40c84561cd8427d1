"""The integers that the definition's program computes with, so that it is executed on terms too."""

from __future__ import annotations

from typing import Any

from .arithmetic import either
from .path import Path
from .term import Term


class Number:
    """An integer of Python. Its operators make terms; its comparisons choose a path."""

    __slots__ = ("path", "term")

    def __init__(self, path: Path, value: Any):
        self.path = path
        self.term = plain(value)

    def _of(self, term: Term) -> Number:
        return Number(self.path, term)

    def __add__(self, other: Any) -> Number:
        return self._of(self.term + plain(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Number:
        return self._of(self.term - plain(other))

    def __rsub__(self, other: Any) -> Number:
        return self._of(plain(other) - self.term)

    def __mul__(self, other: Any) -> Number:
        return self._of(self.term * plain(other))

    __rmul__ = __mul__

    def __neg__(self) -> Number:
        return self._of(self.term.times(-1))

    def __floordiv__(self, other: Any) -> Number:
        least, most = self.path.interval(self.term)
        is_negative = most <= 0 or (least < 0 and self.path.decide(self.path.at_most(self.term, 0)))
        if is_negative:
            return self._of(self.path.ceil(self.term.times(-1), plain(other)).times(-1))
        return self._of(self.path.floor(self.term, plain(other)))

    def __rfloordiv__(self, other: Any) -> Number:
        return self._of(plain(other)) // self

    def __mod__(self, other: Any) -> Number:
        return self._of(self.term - (self // other).term * plain(other))

    def __lshift__(self, bits: int) -> Number:
        return self._of(self.term.times(1 << bits))

    def __or__(self, other: Any) -> Number:
        return self._of(either(self.path, self.term, plain(other)))

    __ror__ = __or__

    def __le__(self, other: Any) -> bool:
        return self.path.decide(self.path.at_most(self.term, plain(other)))

    def __lt__(self, other: Any) -> bool:
        return self.path.decide(self.path.below(self.term, plain(other)))

    def __ge__(self, other: Any) -> bool:
        return self.path.decide(self.path.at_most(plain(other), self.term))

    def __gt__(self, other: Any) -> bool:
        return self.path.decide(self.path.below(plain(other), self.term))

    def __eq__(self, other: Any) -> bool:
        return other is not None and self.path.decide(self.path.equal(self.term, plain(other)))

    def __bool__(self) -> bool:
        return self != 0

    __hash__ = None  # type: ignore[assignment]


def plain(value: Any) -> Term:
    """What the definition gives, as a term."""
    return value.term if isinstance(value, Number) else Term.of(value)
