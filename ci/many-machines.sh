#!/usr/bin/env bash
# Four machines share a limit through a real server, while an agent is killed, another is stopped, and the server is killed
# and starts empty: what they admit of each key stays below the bound. Two of them are nginx, unless MACHINES_NGINX is no.
source "$(dirname "$0")/lib.sh"

if [ $# -gt 0 ]; then usage; fi
command -v redis-server >/dev/null || { echo "missing: redis-server (Debian: redis-server)" >&2; exit 1; }
if [ "${MACHINES_NGINX:-yes}" = yes ]; then
    export MACHINES_NGINX=yes
    RATECELL_NGINX_MODULE="$(ci/nginx.sh --build)"
    export RATECELL_NGINX_MODULE
fi
triple="$(host)"
cargo build --quiet --release --target "$triple" --package ratecell-cli --bin ratecell --example machine
export RATECELL_BIN="$target/$triple/release"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
seconds=15
if [ "$DEPTH" = long ]; then seconds=60; fi
python3 -B ci/machines many "$work" "$seconds"
