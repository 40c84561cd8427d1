#!/usr/bin/env bash
# `ratecell serve` by the clients that people have: redis-cli, redis-benchmark, redis-py, go-redis and ioredis, each a
# session with the release build of the program.
source "$(dirname "$0")/lib.sh"

host="$(host)"
cargo build --release --quiet -p ratecell-cli --target "$host"
clients="$PWD/crates/ratecell-serve/clients"
work="$(mktemp -d)"
server=""
cleanup() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT

: >"$work/ready"
"$target/$host/release/ratecell" serve --listen 127.0.0.1:0 --policy api=5/1d --max-keys 10000 \
    >"$work/ready" 2>"$work/told" &
server=$!
for ((wait = 0; wait < 600; wait++)); do
    if grep -q '^ready: ' "$work/ready" || ! kill -0 "$server" 2>/dev/null; then break; fi
    sleep 0.1
done
address="$(sed -n 's/^ready: listening on //p' "$work/ready")"
[ -n "$address" ] || { cat "$work/told" >&2; exit 1; }
port="${address##*:}"

expect() {
    [ "$2" = "$3" ] || { printf '%s: %s, expected %s\n' "$1" "$2" "$3" >&2; exit 1; }
}
reply="$(redis-cli -p "$port" CL.THROTTLE cli 15 30 60 | tr '\n' ' ')"
expect "CL.THROTTLE by redis-cli" "$reply" "0 16 15 -1 2 "
reply="$(printf 'RATECELL.CHECK api cli 3\nRATECELL.CHECK api cli 3\n' | redis-cli -3 -p "$port" | awk 'NR % 6 < 4 && NR % 6 > 0' | tr '\n' ' ')"
expect "RATECELL.CHECK by redis-cli" "$reply" "0 5 2 1 5 2 "
version="$(redis-cli --version)"
echo "$version: passed"
for pipeline in 1 16; do
    redis-benchmark -p "$port" -q -n 20000 -c 50 -P "$pipeline" -r 1000 CL.THROTTLE key:__rand_int__ 15 30 60 \
        >"$work/benchmark" 2>&1
    grep -q 'requests per second' "$work/benchmark" || { cat "$work/benchmark" >&2; exit 1; }
done
processed="$(redis-cli -p "$port" INFO | tr -d '\r' | sed -n 's/^total_commands_processed://p')"
[ "$processed" -ge 40000 ] || { echo "redis-benchmark: $processed commands, expected 40000" >&2; exit 1; }
echo "redis-benchmark: passed"

venv="$target/serve-python"
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$clients/python/requirements.txt"
"$venv/bin/python" "$clients/python/session.py" "$address"
# The program in the page, which asks a server on its port.
sed -n '/^```python$/,/^```$/{//!p}' docs/SERVERS.md | sed "s/6380/$port/" >"$work/page.py"
grep -q "port=$port" "$work/page.py" || { echo "docs/SERVERS.md: expected a program in Python" >&2; exit 1; }
echo 'assert (outcome, limit, remaining, retry_after_ms) == (0, 5, 4, 0)' >>"$work/page.py"
"$venv/bin/python" "$work/page.py"

unformatted="$(gofmt -l "$clients/go")"
[ -z "$unformatted" ] || { printf 'gofmt would change: %s\n' "$unformatted" >&2; exit 1; }
(cd "$clients/go" && go run -buildvcs=false . "$address")

# What npm installs is not put among the sources.
mkdir -p "$target/serve-node"
cp "$clients/node"/* "$target/serve-node"
npm ci --prefix "$target/serve-node" --ignore-scripts --no-audit --no-fund --silent
node "$target/serve-node/session.js" "$address"

kill "$server"
ended=0
wait "$server" || ended=$?
server=""
if [ "$ended" -ne 0 ] || [ -s "$work/told" ]; then
    cat "$work/told" >&2
    echo "the server ended with $ended" >&2
    exit 1
fi
