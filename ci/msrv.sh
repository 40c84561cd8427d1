#!/usr/bin/env bash
# The oldest compiler that Cargo.toml and the README name builds everything, tests too.
source "$(dirname "$0")/lib.sh"

cargo "+$(manifest rust-version)" check --quiet --workspace --all-targets --features ratecell/capi --target-dir "$target/msrv"
echo "Rust $(manifest rust-version) builds it"
