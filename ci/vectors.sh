#!/usr/bin/env bash
# Every published vector, of every kind, by the release build of the program. A changed figure fails.
source "$(dirname "$0")/lib.sh"

vectors="${1:-vectors}"
host="$(host)"
cargo build --release --quiet -p ratecell-cli --target "$host"
program="$target/$host/release/ratecell"
"$program" vectors "$vectors" vectors/callers vectors/edges vectors/held vectors/rules

broken="$(mktemp -d)"
trap 'rm -rf "$broken"' EXIT
cp "$vectors"/basic.jsonl "$broken"
# The first decision of the file: one unit less remains than it says.
sed -i '0,/^\[1000000000000,"a",0,1,10,0,0\]$/s//[1000000000000,"a",0,1,9,0,0]/' "$broken/basic.jsonl"
if "$program" vectors "$broken" >"$broken/out" 2>&1; then
    echo "a file with one figure changed passed" >&2
    exit 1
fi
grep -q 'basic.jsonl:3: ' "$broken/out" || { cat "$broken/out" >&2; exit 1; }
echo "a file with one figure changed fails, and the row is named:"
grep 'basic.jsonl:3: ' "$broken/out"
