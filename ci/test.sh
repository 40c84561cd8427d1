#!/usr/bin/env bash
# Unit, property, integration and documentation tests; optimised, with overflow checks.
source "$(dirname "$0")/lib.sh"

# The same cases each time, so that a failure is of the change it is found with. `cargo test` alone has others each time.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"
cargo test --workspace --features ratecell/capi
# As the test itself asks.
unshare --time --monotonic=100000 --fork true 2>/dev/null ||
    left_out "a file opened in another time namespace: none can be made here"
