#!/usr/bin/env bash
# Unit, property, integration and documentation tests; optimised, with overflow checks.
source "$(dirname "$0")/lib.sh"

cargo test --workspace --features ratecell/capi
