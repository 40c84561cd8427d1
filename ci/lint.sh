#!/usr/bin/env bash
# Format, lints and documentation, without a warning: the workspace, and the crates beside it.
source "$(dirname "$0")/lib.sh"

# One of the benches links the C library.
ci/capi.sh target/capi-dist
cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings
cargo clippy --workspace --all-targets --features ratecell/capi --quiet -- -D warnings
for crate in benches/compare benches/ffi benches/instructions bindings/python fuzz; do
    cargo fmt --manifest-path "$crate/Cargo.toml" --check
    RUSTFLAGS='--cfg getrandom_backend="custom"' cargo clippy --manifest-path "$crate/Cargo.toml" --target-dir "$target/lint" \
        --all-targets --quiet -- -D warnings
done
RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --features ratecell/capi --quiet
