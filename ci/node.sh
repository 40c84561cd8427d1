#!/usr/bin/env bash
# The npm package: its style, its types, its tests, and every published decision, with the library that users get.
#
#   ci/node.sh           all of that
#   ci/node.sh --bench   beside other limiters; not a test
source "$(dirname "$0")/lib.sh"

here="$PWD/bindings/node"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

ci/npm.sh "$work/package"
# What is tested is the library of the package.
mkdir -p "$here/prebuilt"
rm -f "$here"/prebuilt/*.node
tar --extract --gzip --file "$work"/package/*.tgz --directory "$here" --strip-components 1 --wildcards 'package/prebuilt/*.node'
cd "$here"
npm ci --silent --ignore-scripts --no-audit --no-fund
if [ "${1:-}" = --bench ]; then
    exec node bench/run.js
fi

for file in *.js lib/*.js test/*.js bench/*.js; do node --check "$file"; done
echo "-- tests"
node --test test/*.test.js >"$work/tests" 2>&1 || { grep -v '^# Subtest\|^ok ' "$work/tests" >&2; exit 1; }
grep -E '^# (threads|cluster): admitted 1000 of ' "$work/tests"
passed="$(sed -n 's/^# pass //p' "$work/tests")"
skipped="$(sed -n 's/^# skipped //p' "$work/tests")"
echo "$passed passed, $skipped skipped"
if [ "$skipped" -ne 0 ] || [ "$passed" -lt 90 ]; then echo "expected 90 tests or more, and none skipped" >&2; exit 1; fi

echo "-- vectors"
node test/replay.js ../../vectors >"$work/vectors" || { cat "$work/vectors" >&2; exit 1; }
# A count of each kind, so that none is left out unseen.
for stated in 'random.jsonl: 88000' 'calendar_moving.jsonl: 5370' 'reserve.jsonl: 30008' 'concurrency.jsonl: 10283' \
    'change.jsonl: 14014' 'change_refused.jsonl: 136' 'rules_decide.jsonl: 3500' 'fields.jsonl: 1888' \
    'fields_several.jsonl: 560' 'waiting.jsonl: 7828' 'client_keys.jsonl: 5125'; do
    grep "^$stated passed$" "$work/vectors" || { echo "expected $stated" >&2; exit 1; }
done
grep -E '^[0-9]{6,} passed, 0 failed$' "$work/vectors"
