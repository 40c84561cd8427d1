#!/usr/bin/env bash
# The proofs of kernels, for every word, time, cost and parameter: docs/PROOFS.md says of which. What is not proved yet of
# this code, definition and prover is proved, but for what is known to be open; with DEPTH=long everything is, at all widths
# of a count, and every planted error is found.
#
#   ci/proofs.sh           all of that
#   ci/proofs.sh --keep    and keeps the verdicts in proofs/verdicts.json
source "$(dirname "$0")/lib.sh"

case "${1:-}" in
"") keep=() ;;
--keep) keep=(--keep) ;;
*) usage ;;
esac

root="$PWD"
venv="$target/proofs/venv"
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
export PATH="$venv/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1
cd proofs
pip install --quiet --requirement requirements.txt
ruff format --quiet --check .
ruff check --quiet .
mypy

export CARGO_TARGET_DIR="$target/proofs"
module="$(./build.sh "$root")"
python tests/vectors.py "$root/vectors"
python -m unittest discover --quiet --start-directory tests --top-level-directory .
python tests/agreement.py "$module"
if [ "$DEPTH" = long ]; then
    python -m prover "$module" --long --seconds 1800 "${keep[@]}"
    python -m prover.mutants "$root"
else
    python -m prover "$module" "${keep[@]}"
    python -m prover.mutants "$root" --fast
fi
