"""Kernels whose window or refill begins with a request: a word that is carried begins where it is carried to."""

from __future__ import annotations

from . import laws as _laws
from .kernels import Kernel
from .path import Path
from .search import Claim, must
from .term import U32, WORD_LIMIT


def carried(kernel: Kernel) -> Claim:
    """A word carried to an instant admits there and later no more than the word does, and a charge on it is a policy's."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, other, cost = kernel.instant("now"), kernel.instant("other"), path.named("cost", 1, U32)
        (moved,) = kernel.ask("carried", word.term, other=other)
        charged, new, *_ = kernel.ask("step", moved, now, cost)
        if not path.decide(path.equal(charged, 1)):
            return
        must(path, "a charge on it is below 2^64 - 2^48", path.below(new, WORD_LIMIT))
        if path.decide(path.at_most(other, now)):
            itself, *_ = kernel.ask("step", word.term, now, cost)
            must(path, "the word admits it", path.equal(itself, 1))

    return claim


STARTED = frozenset({"first", "bucket_first"})
OTHERS = {name: law for name, law in _laws.LAWS.items() if name != "carried"}
