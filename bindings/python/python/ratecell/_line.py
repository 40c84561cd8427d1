"""Who waits for a key stands in line: the first asks the limiter, the others sleep until it has gone.

If all of them asked, each unit would wake all of them, and a large cost would never find enough left by the
small ones.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Turn = TypeVar("_Turn")


@dataclass
class Line(Generic[_Turn]):
    """Those who wait for one key, in the order in which they came."""

    turns: deque[_Turn] = field(default_factory=deque)
    ready_ns: int = 0
    """When the first will ask again, by time.monotonic_ns; none of the others goes before."""


class Lines(Generic[_Turn]):
    """The lines of all keys that somebody waits for; there is no line of any other.

    A turn is what one who waits sleeps on, and `give` wakes it.
    """

    def __init__(self, give: Callable[[_Turn], object]) -> None:
        self._give = give
        self._fresh()
        os.register_at_fork(after_in_child=self._fresh)

    def _fresh(self) -> None:
        # In a new process nobody waits: the threads that did, and may have the lock, are in the old one.
        self._lock = threading.Lock()
        self._lines: dict[Hashable, Line[_Turn]] = {}

    def ready_ns(self, key: Hashable) -> int | None:
        """`ready_ns` of the line of `key`, or None where there is none."""
        line = self._lines.get(key)
        return None if line is None else line.ready_ns

    @contextmanager
    def place(self, key: Hashable, turn: _Turn) -> Iterator[Line[_Turn]]:
        """Stands at the end of the line of `key`; who leaves, for whatever reason, lets the next go on."""
        with self._lock:
            line = self._lines.setdefault(key, Line())
            line.turns.append(turn)
            if line.turns[0] is turn:
                self._give(turn)
        try:
            yield line
        finally:
            with self._lock:
                was_first = line.turns[0] is turn
                line.turns.remove(turn)
                if line.turns and was_first:
                    line.ready_ns = 0
                    self._give(line.turns[0])
                elif not line.turns and self._lines.get(key) is line:
                    del self._lines[key]
