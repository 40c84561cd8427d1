"""The limiters of a storage or a strategy: one for each rate, made when it is first asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from ratecell._limiter import Limiter

_FILE = re.compile(r"(\w+)-(\d+)-(\d+)s")


class Rate(NamedTuple):
    """So much in so many seconds, by one of ratecell's algorithms."""

    algorithm: str
    amount: int
    seconds: int

    @property
    def policy(self) -> str:
        """The policy of a limiter."""
        options = " start=first" if self.algorithm == "fixed_window" else ""
        return f"{self.algorithm} {self.amount}/{self.seconds}s{options}"


class Tables:
    """Limiters in memory, or in the files of a folder, which processes share."""

    def __init__(self, max_keys: int | None, folder: str | PathLike[str] | None) -> None:
        self._max_keys = max_keys
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
        self._limiters: dict[Rate, Limiter] = {}

    def limiter(self, rate: Rate) -> Limiter:
        """The limiter of `rate`."""
        limiter = self._limiters.get(rate)
        # Two threads may make one each: the first that is kept is everyone's.
        return limiter or self._limiters.setdefault(rate, self._made(rate))

    def made(self, algorithm: str) -> Iterator[tuple[Rate, Limiter]]:
        """The limiters by `algorithm` that were made so far, of a folder by any process."""
        for name in () if self._folder is None else sorted(self._folder.iterdir()):
            if (found := _FILE.fullmatch(name.name)) and found[1] == algorithm:
                self.limiter(Rate(found[1], int(found[2]), int(found[3])))
        return (made for made in list(self._limiters.items()) if made[0].algorithm == algorithm)

    def reset(self) -> int:
        """Forgets all keys; how many there were."""
        if self._folder is not None:
            raise NotImplementedError(
                f"the files in {self._folder} are shared with other processes: expected clear, for each key"
            )
        limiters, self._limiters = self._limiters, {}
        return sum(limiter.stats().live for limiter in limiters.values())

    def usable(self) -> bool:
        """Whether the folder is there, if there is to be one."""
        return self._folder is None or self._folder.is_dir()

    def _made(self, rate: Rate) -> Limiter:
        path = None
        if self._folder is not None:
            path = self._folder / f"{rate.algorithm}-{rate.amount}-{rate.seconds}s"
        return Limiter(rate.policy, max_keys=self._max_keys, path=path)
