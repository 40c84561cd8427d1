#!/usr/bin/env bash
# The core alone: every published vector in WebAssembly, under Node; and it compiles for other systems.
source "$(dirname "$0")/lib.sh"

node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null ||
    { echo "missing: Node 18 or later (Debian: nodejs)" >&2; exit 1; }
read -r running others <<<"$CORE_TARGETS"

export CARGO_TARGET_DIR="$target/wasm"
# What Node warns of is that its WASI may change.
export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/ci/wasi.mjs"
log="$target/wasm/log"
mkdir -p "$target/wasm"
cargo test --quiet -p ratecell-vectors --target "$running" --lib --tests -- --nocapture >"$log" 2>&1 ||
    { cat "$log" >&2; exit 1; }
grep -o '[0-9]* rows of [0-9]* files passed' "$log" |
    awk '{ rows += $1; files += $4 } END { print rows " rows of " files " files passed in wasm32" }'
for other in $others; do
    cargo check --quiet -p ratecell-core --target "$other"
    echo "the core compiles for $other"
done
