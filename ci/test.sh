#!/usr/bin/env bash
# Unit, property, integration and documentation tests; optimised, with overflow checks.
#
# With DEPTH=long more cases, others each time, and processes that are killed and stopped for longer: half an hour.
source "$(dirname "$0")/lib.sh"

if [ "$DEPTH" = long ]; then
    export PROPTEST_CASES=10000 RATECELL_ROUNDS=500 RATECELL_SECONDS=60 RATECELL_FLOOD=100000000
else
    # The same cases each time, so that a failure is of the change it is found with. `cargo test` alone has others each time.
    export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"
fi
cargo test --workspace --features ratecell/capi
# As the test itself asks.
unshare --time --monotonic=100000 --fork true 2>/dev/null ||
    left_out "a file opened in another time namespace: none can be made here"
