#!/usr/bin/env bash
# The oldest compiler that Cargo.toml and the README name builds everything, tests too.
source "$(dirname "$0")/lib.sh"

oldest="$(manifest rust-version)"
cargo "+$oldest" check --quiet --workspace --all-targets --features ratecell/async,ratecell/capi,ratecell/store,ratecell/metrics,ratecell/mock-clock,ratecell/tracing --target-dir "$target/msrv"
echo "Rust $oldest builds it"
