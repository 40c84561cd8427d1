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
# Settings of the whole machine: changed only where the machine is CI's own, until the tests have ended.
settings=(protected_regular protected_symlinks)
declare -A value=()
restore() {
    local setting
    for setting in "${changed[@]}"; do echo 0 >"/proc/sys/fs/$setting"; done
}
changed=()
trap restore EXIT
for setting in "${settings[@]}"; do
    file="/proc/sys/fs/$setting" value[$setting]=0
    if [ -r "$file" ]; then read -r "value[$setting]" <"$file"; fi
    if [ "${CI:-}" = true ] && [ "${value[$setting]}" = 0 ] && [ -w "$file" ]; then
        changed+=("$setting")
        echo 1 >"$file"
        value[$setting]=1
    fi
done
cargo test --workspace --features ratecell/async,ratecell/capi,ratecell/store-tls,ratecell/metrics,ratecell/mock-clock,ratecell/tracing
command -v promtool >/dev/null || left_out "the metrics and the alerts by Prometheus' own tool (Debian: prometheus)"
# As the tests themselves ask.
unshare --time --monotonic=100000 --fork true 2>/dev/null ||
    left_out "a file opened in another time namespace: none can be made here"
unshare --mount --time --monotonic=1 --fork mount -t tmpfs none /proc/sys 2>/dev/null ||
    left_out "a restart where the boot id is hidden: nothing can be hidden here"
[ "$EUID" = 0 ] || left_out "files of several users: only the super-user can be another"
[ "${value[protected_regular]}" != 0 ] ||
    left_out "a file of another user in a sticky directory: fs.protected_regular is 0 here"
[ "${value[protected_symlinks]}" != 0 ] ||
    left_out "a link of another user in a sticky directory: fs.protected_symlinks is 0 here"
