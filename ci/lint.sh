#!/usr/bin/env bash
# Format, lints and documentation, without a warning: the workspace, and the crates beside it.
source "$(dirname "$0")/lib.sh"

deny="$(deny_warnings)"
[ -n "$deny" ] || echo "$(rustc --version): its warnings are told, and are no errors"
# One of the benches links the C library.
ci/capi.sh target/capi-dist
cargo fmt --all --check
# shellcheck disable=SC2086 # no flag is no word
cargo clippy --workspace --all-targets --quiet -- $deny
cargo clippy --workspace --all-targets --features ratecell/capi --quiet -- $deny
for crate in benches/compare benches/ffi benches/instructions bindings/python fuzz; do
    cargo fmt --manifest-path "$crate/Cargo.toml" --check
    RUSTFLAGS='--cfg getrandom_backend="custom"' cargo clippy --manifest-path "$crate/Cargo.toml" --target-dir "$target/lint" \
        --all-targets --quiet -- $deny
done
RUSTDOCFLAGS="$deny" cargo doc --workspace --no-deps --features ratecell/capi --quiet
