#!/usr/bin/env bash
# What requests wait at an nginx while the store of one of its zones is stopped for seconds, beside what they wait before:
# of a location without a limiter, of one with a zone of this machine, and of a key whose lease is there; misses wait beside
# them. Prints Markdown.
#
#   benches/nginx-store.sh [ROUNDS]      5 rounds, in about a minute
source "$(dirname "$0")/../ci/lib.sh"

RATECELL_NGINX_MODULE="$(ci/nginx.sh --build)"
triple="$(host)"
cargo build --quiet --release --target "$triple" --package ratecell-cli --bin ratecell
export RATECELL_NGINX_MODULE RATECELL_PROGRAM="$target/$triple/release/ratecell" PYTHONPATH="$PWD/bindings/nginx/tests"
python3 -B benches/nginx/store.py "${1:-5}"
