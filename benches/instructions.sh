#!/usr/bin/env bash
# Instructions per decision, counted by callgrind: a Markdown table.
#
#   benches/instructions.sh [PATTERN]      the cases whose name contains PATTERN; all, in about a minute
#
# "in C" is libratecell.a, with all of the decision written. Each case runs twice, the second time with as many decisions
# more as there are keys; the difference of the counts, less the loop's, is what the decisions took. "The limiter's clock" is
# also that of "leased"; all others have the caller's. "leased" is a file of leases, which an agent fills from a real store
# before the counting; without redis-server these cases are left out.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v valgrind >/dev/null || { echo 'missing: valgrind (Debian: valgrind)' >&2; exit 1; }
target="${CARGO_TARGET_DIR:-target/instructions}"
ci/capi.sh target/capi-dist
cargo build --release --quiet --manifest-path benches/instructions/Cargo.toml --target-dir "$target"
program="$target/release/ratecell-instructions"

if command -v "${RATECELL_REDIS_SERVER:-redis-server}" >/dev/null; then
    source benches/lib.sh
    cargo build --release --quiet --package ratecell-cli --bin ratecell --target-dir "$target"
    AGENT="$target/release/ratecell"
    start_store
    # The table has room for the same keys as those of the other cases.
    start_agent leases instructions 'gcra 1/1h burst=1000' 51200
    export RATECELL_LEASED_FILE="$store_folder/leases"
    "$program" lease "$RATECELL_LEASED_FILE"
else
    echo 'left out: the leased cases, for there is no redis-server (Debian: redis-server)' >&2
fi

few=51200
many=102400

# The instructions of a whole process that makes $2 decisions of case $1.
count() {
    local log
    log="$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1)" ||
        { echo "$log" >&2; return 1; }
    sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$log"
}

# Instructions per decision of case $1, loop included.
measure() {
    local first second
    first="$(count "$1" $few)"
    second="$(count "$1" $many)"
    awk -v a="$first" -v b="$second" -v n=$((many - few)) 'BEGIN { printf "%.4f", (b - a) / n }'
}

loop="$(measure loop)"
echo '| case | instructions |'
echo '| --- | --- |'
"$program" | grep -vx loop | grep -F -- "${1:-}" | while IFS= read -r name; do
    all="$(measure "$name")"
    awk -v name="$name" -v all="$all" -v loop="$loop" \
        'BEGIN { printf "| %s | %.1f |\n", name, all - loop }'
done
