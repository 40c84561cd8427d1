"""Plants one error at a time in a copy of the kernels: the proof that is meant to find it must refute the copy.

`python -m prover.mutants CHECKOUT [--fast] [--only WORD]`
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path as File
from typing import Any

from .proofs import proofs
from .search import prove
from .wasm import Module

PROOFS = File(__file__).parent.parent
COPIED = ("Cargo.toml", "Cargo.lock", "build.rs", "README.md", "src", "crates", "benches", "tests", "docs", "proofs/seam")
ALGORITHM = File("crates/ratecell-core/src/algorithm")
SECONDS = 240.0


def copied(checkout: File, folder: File) -> None:
    """Copies what cargo reads to build the seam."""
    for name in COPIED:
        source, to = checkout / name, folder / name
        if source.is_dir():
            shutil.copytree(source, to, ignore=shutil.ignore_patterns("target"))
        else:
            shutil.copy(source, to)


def found(mutant: dict[str, Any], folder: File) -> str:
    """What the proof says of the copy with this error in it; empty if it does not refute it."""
    file = folder / ALGORITHM / mutant["file"]
    text = file.read_text()
    if text.count(mutant["old"]) != 1:
        raise ValueError(f"{mutant['name']}: expected its text once in {mutant['file']}")
    file.write_text(text.replace(mutant["old"], mutant["new"]))
    try:
        build = subprocess.run([PROOFS / "build.sh", folder], check=True, stdout=subprocess.PIPE, text=True)
        module = Module(File(build.stdout.strip()).read_bytes())
        (proof,) = (proof for proof in proofs(module) if proof.name == mutant["proof"])
        verdict = prove(proof.claim, SECONDS)
    finally:
        file.write_text(text)
    return f"{verdict.goal} at {verdict.numbers}" if verdict.name == "false" else ""


def main() -> int:
    """Prints a line for each error; 1 if one is not found."""
    arguments = argparse.ArgumentParser(description="Plants errors, and expects the proofs to find them.")
    arguments.add_argument("checkout", type=File)
    arguments.add_argument("--fast", action="store_true", help="those alone that are marked so")
    arguments.add_argument("--only", default="", help="those whose names have this word")
    chosen = arguments.parse_args()
    mutants = tomllib.loads((PROOFS / "mutants.toml").read_text())["mutant"]
    mutants = [one for one in mutants if chosen.only in one["name"] and (one.get("fast") or not chosen.fast)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copied(chosen.checkout, File(folder))
        for mutant in mutants:
            said = found(mutant, File(folder))
            missed += not said
            print(f"{mutant['name']}: {'found by' if said else 'MISSED by'} {mutant['proof']}: {said}", flush=True)
    print(f"{len(mutants) - missed} of {len(mutants)} planted errors are found, each confirmed by a run on its numbers")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
