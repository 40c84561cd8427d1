#!/usr/bin/env bash
# `ratecell serve` beside redis-server on loopback, each on one processor, with redis-benchmark on the others, in turns. Prints
# Markdown: requests a second, the median and the 99th percentile of their times, the time that the server's processor takes
# for one, and the memory of an idle connection. The last two columns are requests in the same time of a processor, as
# multiples: the client is often the slower side, and on a busy machine everybody is.
#
#   benches/serve.sh [ROUNDS]      5 rounds of each row; the best figure is shown, for what disturbs only slows
#
# redis_rate's script (BSD 2-Clause) is read from the module that the Go proxy has. redis-benchmark calls it by its digest.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source benches/lib.sh

rounds="${1:-5}"
requests="${REQUESTS:-1000000}"
command -v go >/dev/null || { echo 'missing: go (Debian: golang-go), which fetches redis_rate' >&2; exit 1; }
if [ -z "${RATECELL:-}" ]; then
    target="${CARGO_TARGET_DIR:-target/bench-store}"
    cargo build --release --quiet --package ratecell-cli --bin ratecell --target-dir "$target"
    RATECELL="$target/release/ratecell"
fi
store_folder="$(mktemp -d)"
trap stores_end EXIT

script="$store_folder/redis_rate.lua"
redis_rate_script "$script"

# The first processor is the servers', the others are the client's.
last=$(($(nproc) - 1))
theirs=16379 ours=16380
taskset -c 0 redis-server --port "$theirs" --save '' --appendonly no --daemonize no >"$store_folder/redis.log" 2>&1 &
store_started+=($!)
redis=$!
taskset -c 0 "$RATECELL" serve --listen "127.0.0.1:$ours" --policy api=100/s --threads 1 --max-keys 200000 \
    >"$store_folder/serve.log" 2>&1 &
store_started+=($!)
serve=$!
for port in "$theirs" "$ours"; do
    for ((tries = 0; tries < 300; tries++)); do
        if redis-cli -p "$port" PING >/dev/null 2>&1; then break; fi
        sleep 0.1
    done
done
digest="$(redis-cli -p "$theirs" SCRIPT LOAD "$(<"$script")")"

# Nanoseconds that all threads of a process have run.
ran() {
    cat "/proc/$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }'
}

# One row: requests a second, the median and the 99th percentile in milliseconds, and the server's time a request in ns.
run() {
    local pid="$1" port="$2" pipeline="$3" count="$4" before after figures
    shift 4
    before="$(ran "$pid")"
    figures="$(taskset -c "1-$last" redis-benchmark -p "$port" -c 50 -P "$pipeline" -n "$count" -r 100000 --csv "$@" 2>/dev/null |
        tail -n 1 | tr -d '"' | awk -F, '{ print $(NF - 6), $(NF - 3), $(NF - 1) }')"
    after="$(ran "$pid")"
    echo "$figures $(((after - before) / count))"
}

declare -A best=()
rows=(incr script throttle check)
# Keeps the figure $2 under the name $1, if it is better than that of the rounds before.
keep() {
    if [ -z "${best[$1]:-}" ] || awk "BEGIN { exit !($2 $3 ${best[$1]}) }"; then best["$1"]="$2"; fi
}
measure() {
    local row="$1" pipeline="$2" figures rate median p99 cost
    case "$row" in
    incr) figures="$(run "$redis" "$theirs" "$pipeline" "$requests" INCR key:__rand_int__)" ;;
    script)
        figures="$(run "$redis" "$theirs" "$pipeline" "$((requests / 5))" EVALSHA "$digest" 1 key:__rand_int__ 200 100 1 1)"
        ;;
    throttle) figures="$(run "$serve" "$ours" "$pipeline" "$requests" CL.THROTTLE key:__rand_int__ 199 100 1)" ;;
    check) figures="$(run "$serve" "$ours" "$pipeline" "$requests" RATECELL.CHECK api key:__rand_int__)" ;;
    esac
    read -r rate median p99 cost <<<"$figures"
    keep "$row $pipeline rate" "$rate" '>'
    keep "$row $pipeline median" "$median" '<'
    keep "$row $pipeline p99" "$p99" '<'
    keep "$row $pipeline cost" "$cost" '<'
}
for ((round = 0; round < rounds; round++)); do
    for pipeline in 1 16; do
        for row in "${rows[@]}"; do measure "$row" "$pipeline"; done
    done
done

declare -A names=(
    [incr]="redis-server, \`INCR\`" [script]="redis-server, redis_rate's script"
    [throttle]="\`ratecell serve\`, \`CL.THROTTLE\`" [check]="\`ratecell serve\`, \`RATECELL.CHECK\`"
)
for pipeline in 1 16; do
    echo "50 connections, pipeline of $pipeline:"
    echo
    echo "| server | requests a second | median, ms | p99, ms | server's processor a request, ns | of \`INCR\` | of the script |"
    echo "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in "${rows[@]}"; do
        of="$row $pipeline"
        awk -v name="${names[$row]}" -v rate="${best[$of rate]}" -v median="${best[$of median]}" -v p99="${best[$of p99]}" \
            -v cost="${best[$of cost]}" -v incr="${best[incr $pipeline cost]}" -v script="${best[script $pipeline cost]}" \
            'BEGIN {
                printf "| %s | %.0f | %s | %s | %d | %.2f | %.2f |\n", name, rate, median, p99, cost, incr / cost, script / cost
            }'
    done
    echo
done

resident() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status"; }
echo "1,000 idle connections:"
echo
echo "| server | bytes a connection |"
echo "| --- | ---: |"
for server in "$redis $theirs redis-server" "$serve $ours \`ratecell serve\`"; do
    read -r pid port name <<<"$server"
    before="$(resident "$pid")"
    held=()
    for ((i = 0; i < 1000; i++)); do
        exec {connection}<>"/dev/tcp/127.0.0.1/$port"
        held+=("$connection")
    done
    redis-cli -p "$port" PING >/dev/null
    sleep 1
    after="$(resident "$pid")"
    echo "| $name | $(((after - before) * 1024 / 1000)) |"
    for connection in "${held[@]}"; do exec {connection}>&-; done
done
