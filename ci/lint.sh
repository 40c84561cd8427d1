#!/usr/bin/env bash
# Format, lints and documentation, without a warning.
source "$(dirname "$0")/lib.sh"

cargo fmt --all --check
cargo clippy --workspace --all-targets --quiet -- -D warnings
cargo clippy --workspace --all-targets --features ratecell/capi --quiet -- -D warnings
cargo clippy --manifest-path benches/compare/Cargo.toml --all-targets --quiet -- -D warnings
RUSTDOCFLAGS=-Dwarnings cargo doc --workspace --no-deps --features ratecell/capi --quiet
