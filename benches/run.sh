#!/usr/bin/env bash
# Everything in docs/BENCHMARKS.md, on a machine that does nothing else.
#
#   benches/run.sh                    all of it, in under 15 minutes: writes the tables and the plots
#   benches/run.sh --quick            fewer keys and rounds, about a minute: prints, and writes nothing
#   benches/run.sh --only PATTERN     the tables whose title contains PATTERN: prints, and writes nothing
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

compare=(cargo run --release --quiet --manifest-path benches/compare/Cargo.toml --)
if [ $# -gt 0 ]; then
    "${compare[@]}" "$@"
    exit
fi

out=target/bench
mkdir -p "$out"
benches/instructions.sh >"$out/instructions.md"
cargo run --release --quiet --manifest-path benches/ffi/Cargo.toml >"$out/through-c.md"
"${compare[@]}" --docs docs --instructions "$out/instructions.md" --through-c "$out/through-c.md"
