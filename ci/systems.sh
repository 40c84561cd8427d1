#!/usr/bin/env bash
# Other systems than this one: what compiles for them, and what runs in WebAssembly, under Node: every published vector by
# the core alone, and a limiter of one process; and on aarch64, interpreted, the exchange of 16 bytes and the table on it.
source "$(dirname "$0")/lib.sh"

node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null ||
    { echo "missing: Node 18 or later (Debian: nodejs)" >&2; exit 1; }
read -ra systems <<<"$SYSTEMS"
read -r running core_only <<<"$WASM"

export CARGO_TARGET_DIR="$target/systems"
# What Node warns of is that its WASI may change.
export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/ci/wasi.mjs"
log="$target/systems/log"
mkdir -p "$target/systems"
logged() {
    "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}
logged cargo test --quiet -p ratecell-vectors --target "$running" --lib --tests -- --nocapture
grep -o '[0-9]* rows of [0-9]* files passed' "$log" |
    awk '{ rows += $1; files += $4 } END { print rows " rows of " files " files passed in wasm32" }'
logged cargo test --quiet -p ratecell --target "$running" --test elsewhere
grep -o '[1-9][0-9]* passed' "$log" | sed 's/$/ of a limiter in wasm32/'

# Both exchanges of aarch64: exclusive accesses, and the instruction of targets that have it (LSE). The compiler is called
# for the tests, because cargo would build what none of these uses: minutes. What runs in the compiler is the host's.
arm=aarch64-unknown-linux-gnu
folder="$target/systems/arm"
rm -rf "$folder"
mkdir "$folder"
ln -s "$PWD/src/sync" "$PWD/src/sync.rs" "$folder"
printf '#![allow(warnings)]\nmod sync;\n' >"$folder/exchange.rs"
cp tests/full.rs tests/capacity.rs "$folder"
for lse in -lse +lse; do
    cargo rustc --quiet -p ratecell --target "$arm" --lib --config profile.dev.opt-level=1 -- -C target-feature="$lse"
    library="$target/systems/$arm/debug"
    for tests in exchange full capacity; do
        rustc --test --edition 2024 -O -C target-feature="$lse" --target "$arm" -C linker=aarch64-linux-gnu-gcc \
            -L dependency="$library/deps" -L dependency="$target/systems/debug/deps" \
            --extern ratecell="$library/libratecell.rlib" "$folder/$tests.rs" -o "$folder/$tests"
        logged qemu-aarch64 -L /usr/aarch64-linux-gnu "$folder/$tests"
        grep -o '[1-9][0-9]* passed' "$log" | sed "s/$/ of $tests in aarch64 with $lse/"
    done
done

cargo check --quiet -p ratecell-core --target "$core_only"
echo "the core compiles for $core_only"
deny="$(deny_warnings)"
for system in "${systems[@]}"; do
    RUSTFLAGS="$deny" cargo check --quiet -p ratecell --features ratecell/capi --target "$system"
    echo "the limiter compiles for $system"
done
