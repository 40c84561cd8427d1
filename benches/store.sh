#!/usr/bin/env bash
# Many machines on one limit, beside redis_rate, whose script decides each request at the store: one run, one real server on
# a Unix socket, all in turns. Prints Markdown.
#
#   benches/store.sh [ROUNDS]      7 rounds, in about three minutes
#
# - what INCR, redis_rate's script and a take cost the server;
# - one hot key, asked for by four processes: by redis_rate's script, and through two files of leases with an agent each;
# - a check whose lease is there, beside the same table without a store.
#
# The script is of go-redis/redis_rate (BSD 2-Clause), read from the module that the Go proxy has. It is sent by the client
# that the takes are sent by, so what go-redis costs is not in it.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source benches/lib.sh

rounds="${1:-7}"
command -v go >/dev/null || { echo 'missing: go (Debian: golang-go), which fetches redis_rate' >&2; exit 1; }
target="${CARGO_TARGET_DIR:-target/bench-store}"
cargo build --release --quiet --package ratecell-cli --bin ratecell --target-dir "$target"
cargo build --release --quiet --manifest-path benches/store/Cargo.toml --target-dir "$target"
AGENT="$target/release/ratecell"
start_store

script="$store_folder/redis_rate.lua"
redis_rate_script "$script"

# A file each machine, and a limit each policy.
start_agent leases100-0 hits '100/s burst=40000000' 10000
for limit in 1000 10000000; do
    for machine in 0 1; do
        start_agent "leases$limit-$machine" "of$limit" "$limit/s burst=$limit" 10000
    done
done

load() {
    local loads
    loads="$(cut -d' ' -f1,2 /proc/loadavg)"
    echo "- load $1, over 1 and 5 minutes: $loads"
}
processor="$(sed -n '0,/^model name/s/^model name\s*: //p' /proc/cpuinfo)"
processors="$(nproc)"
kernel="$(uname -sr)"
server="$("${RATECELL_REDIS_SERVER:-redis-server}" --version | cut -d' ' -f1-3)"
echo "- processor: $processor, $processors available"
echo "- kernel: $kernel"
echo "- server: $server, on a Unix socket"
echo "- redis_rate: $redis_rate, its script \`allowN\`"
load before
"$target/release/ratecell-bench-store" run "$store_folder" "$script" "$rounds"
echo
load after
