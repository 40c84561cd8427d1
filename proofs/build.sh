#!/usr/bin/env bash
# build.sh CHECKOUT: compiles that checkout's kernels to WebAssembly, and prints the module's name.
set -euo pipefail

# The instructions for numbers of 128 bits, without which products would be calls; no others that the prover does not know.
features="-C target-feature=+wide-arithmetic,+sign-ext,-reference-types -C llvm-args=-vectorize-slp=false"
cd "$1/proofs/seam"
# What the compiler warns of is that the first of them may change.
RUSTFLAGS="--cfg ratecell_proofs $features --remap-path-prefix $1=." \
    cargo build --quiet --locked --release --target wasm32-unknown-unknown 2>"$CARGO_TARGET_DIR/seam.log" ||
    { cat "$CARGO_TARGET_DIR/seam.log" >&2; exit 1; }
echo "$CARGO_TARGET_DIR/wasm32-unknown-unknown/release/ratecell_seam.wasm"
