#!/usr/bin/env bash
# The Java package: its jars, its tests with real servers and every published vector, and its documentation's programs.
#
#   ci/java.sh             all of that
#   ci/java.sh --bench     beside other limiters; not a test
source "$(dirname "$0")/lib.sh"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
jars="$target/java/jars"
version="$(crate_version)"

# Builds what measures, in a folder of the target's.
bench() {
    (cd bindings/java/bench && mvn --batch-mode --quiet --no-transfer-progress "-DbuildDirectory=$target/java/bench" \
        "-Dratecell.jar=$jars/ratecell-$version.jar" package)
}
measure() {
    java -cp "$target/java/bench/classes:$target/java/bench/libraries/*:$jars/ratecell-$version.jar" \
        io.github.ratecell.bench.Bench "$@"
}
if [ "${1:-}" = --bench ]; then
    ci/jars.sh "$jars" >&2
    bench
    measure "${@:2}"
    exit
fi

echo "-- jars and tests"
MAVEN_ARGUMENTS="-DtrimStackTrace=true" ci/jars.sh "$jars" >"$work/printed" 2>&1 ||
    { grep -v '^INFO\|^\[INFO\]' "$work/printed" >&2; exit 1; }
# Maven resets colours that it has not set.
sed -i 's/\x1b\[[0-9;]*m//g' "$work/printed"
grep -E ' (passed|failed|bytes|says)$|, [0-9]+ failed$|processes admitted|name their zone|^\./' "$work/printed"
expect() {
    grep -qE "^$1$" "$work/printed" || { echo "the tests printed no line like: $1" >&2; exit 1; }
}
expect 'decisions: 1[0-9]{5} passed, 0 failed'
expect 'decisions: 5370 of them name their zone'
expect 'grammar.jsonl: 299 passed, 0 failed'
expect 'reserve.jsonl: 30008 passed, 0 failed'
expect 'concurrency.jsonl: 10283 passed, 0 failed'
expect 'change.jsonl: 14014 passed, 0 failed'
expect 'change_refused.jsonl: 136 passed, 0 failed'
expect 'client keys: 10384 passed, 0 failed'
expect 'fields: 2744 passed, 0 failed'
expect 'rules_decide.jsonl: 3500 passed, 0 failed'
expect '3 processes admitted 20000 of 20000'
tests=0
for report in "$target"/java/sources/bindings/java/*/target/surefire-reports/*.txt; do
    run="$(sed -n 's/^Tests run: \([0-9]*\), Failures: 0, Errors: 0, Skipped: 0.*/\1/p' "$report")"
    tests=$((tests + ${run:-0}))
done
echo "$tests tests passed"
[ "$tests" -ge 30 ] || { echo "$tests tests: expected 30 or more, none of them skipped" >&2; exit 1; }
echo "-- benchmark"
bench
measure 3 2000 | sed -n '3,$p' >"$work/measured"
rows="$(grep -c '^| [0-9,]* | [12] |' "$work/measured")"
[ "$rows" -eq 4 ] || { cat "$work/measured" >&2; exit 1; }
