#!/usr/bin/env bash
# The main job: replays an access log through three policies.
#
#   ci/demo.sh [LOG]    LOG: in combined or common format; without one, a day of traffic is made up
source "$(dirname "$0")/lib.sh"

host="$(host)"
cargo build --release --quiet -p ratecell-cli --bins --examples --target "$host"
log="${1:-}"
if [ -z "$log" ]; then
    log="$target/demo.log"
    if [ ! -s "$log" ]; then
        # Under its name only once it is whole.
        "$target/$host/release/examples/make_log" 200000 1 >"$log.part"
        mv "$log.part" "$log"
    fi
fi
set -x
"$target/$host/release/ratecell" replay "$log" \
    --policy '1/s burst=20' --policy 'sliding_window 60/1m' --policy '5/s burst=50 & fixed_window 1000/1d'
