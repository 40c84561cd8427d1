"""Proves what is not proved yet.

`python -m prover MODULE`            at one width of a count, and at others that were proved before, but for what has a
                                     verdict or is known to be open
`python -m prover MODULE NAME...`    those whose names begin so, whatever the verdicts have
`--long`                             all, at all widths
`--keep`                             and keeps the verdicts in `verdicts.json`, and on the page
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path as File

from . import page
from .proofs import at_one_width, proofs
from .search import prove
from .verdicts import Verdicts
from .wasm import Module

PROOFS = File(__file__).parent.parent


def main() -> int:
    """Prints a line for each proof; 1 if one is refuted, or open and not known to be."""
    arguments = argparse.ArgumentParser(description="Proves what is not proved yet.")
    arguments.add_argument("module", type=File)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--long", action="store_true")
    arguments.add_argument("--keep", action="store_true")
    arguments.add_argument("--seconds", type=float, default=120.0, help="of a processor, for each proof")
    chosen = arguments.parse_intermixed_args()
    module = Module(chosen.module.read_bytes())
    verdicts = Verdicts(PROOFS / "verdicts.json")
    known_open = set(verdicts.open())
    failed = had = 0
    for proof in proofs(module, all_widths=True):
        if not chosen.long and at_one_width(proof.name) != proof.name and proof.name not in verdicts.names():
            continue
        digest = proof.digest(module)
        if chosen.names:
            if not any(proof.name.startswith(name) for name in chosen.names):
                continue
        elif not chosen.long and (proof.name in known_open or verdicts.of(proof.name, digest) is not None):
            had += 1
            continue
        verdict = prove(proof.claim, chosen.seconds)
        numbers = f" at {verdict.numbers}" if verdict.numbers else ""
        counts = f"{verdict.counts['paths']} paths, {verdict.seconds:.1f} s"
        print(f"{proof.name}: {verdict}{numbers} ({counts})", flush=True)
        is_known = at_one_width(proof.name) in known_open
        failed += verdict.name == "false" or (verdict.name == "open" and not is_known)
        if chosen.keep and verdict.name != "false":
            verdicts.keep(proof.name, digest, verdict.name, verdict.seconds)
    if chosen.keep:
        page.write()
    if had:
        print(
            f"{had - len(known_open)} proofs are of this code, this definition and this prover; {len(known_open)} are open"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
