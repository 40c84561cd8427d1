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

# Both exchanges of aarch64: exclusive accesses, and the instruction of targets that have it (LSE). Built for its tests to
# begin soon: the dependencies once, and not optimised.
arm=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
for lse in -lse +lse; do
    cargo rustc --quiet -p ratecell --target "$arm" --profile test --lib --message-format json \
        --config 'profile.test.package."*".opt-level=0' --config profile.test.package.ratecell.opt-level=1 \
        --config profile.test.package.ratecell-core.opt-level=1 -- -C target-feature="$lse" >"$log"
    built="$(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$log")"
    [ "$(grep -c . <<<"$built")" -eq 1 ] || { echo "expected one program of tests for $arm, got: $built" >&2; exit 1; }
    logged qemu-aarch64 -L /usr/aarch64-linux-gnu "$built" sync::pair table::find tests::stress
    grep -o '[1-9][0-9]* passed' "$log" | sed "s/$/ of the table in $arm with $lse/"
done

cargo check --quiet -p ratecell-core --target "$core_only"
echo "the core compiles for $core_only"
deny="$(deny_warnings)"
for system in "${systems[@]}"; do
    RUSTFLAGS="$deny" cargo check --quiet -p ratecell --features ratecell/capi --target "$system"
    echo "the limiter compiles for $system"
done
