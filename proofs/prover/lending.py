"""A store takes units by a span alone, without the algorithm: that is what a step does."""

from __future__ import annotations

from collections.abc import Callable

from .kernels import Kernel
from .path import NotOnThisPath, Path
from .search import Claim, must
from .term import U32


def take(kernel: Kernel) -> Claim:
    """What is taken of a word by the span of an earlier one, a step of that cost allows, and leaves the same word."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word, seen = kernel.word(), kernel.word("seen_")
        # Words in a store only grow: nothing is given back there.
        path.assume(path.at_most(seen.term, word.term))
        now, cost = kernel.instant("now"), path.named("cost", 1, U32)
        taken = kernel.export_of("taken", [seen.term, word.term, now, cost])
        if not taken:
            raise NotOnThisPath
        charged, new, *_ = kernel.ask("step", word.term, now, cost)
        must(path, "a step allows it", path.equal(charged, 1))
        must(path, "one word", path.equal(new, taken[0]))

    return claim


def take_all(kernel: Kernel) -> Claim:
    """By the span of the word itself all is taken that a step allows, unless units of an older time still count in it."""

    def claim(path: Path) -> None:
        kernel.begin(path)
        word = kernel.word()
        now, cost = kernel.instant("now"), path.named("cost", 1, U32)
        if kernel.export_of("taken", [word.term, word.term, now, cost]):
            raise NotOnThisPath
        charged, new, *_ = kernel.ask("step", word.term, now, cost)
        if kernel.export in STARTING_ANEW:
            must(path, "a step refuses it", path.equal(charged, 0))
        elif word.has_count and path.decide(path.equal(charged, 1)):
            must(path, "a step leaves a new time", path.below(word.term + cost, new))

    return claim


STARTING_ANEW = frozenset({"gcra", "fixed"})
"""Kernels a word of which holds nothing that was counted before its time."""

LAWS: dict[str, Callable[[Kernel], Claim]] = {law.__name__: law for law in (take, take_all)}

LENT = frozenset({"gcra", "fixed", "first", "bucket", "bucket_first", "loose", "strict"})
"""Kernels whose units a store lends."""
