#!/usr/bin/env bash
# Instructions of a request in the nginx module's handler and in limit_req's, counted by callgrind: a Markdown table.
#
#   benches/nginx.sh [PATTERN]      the cases whose name contains PATTERN; all, in three to ten minutes
#
# Both are in one nginx, of the version that is installed, built with the flags of the module that is installed. What a
# handler calls is counted with it: finding the key's value, the clock, the decision. The module is not changed for it:
# callgrind finds a handler by its symbol, and nginx calls it by a pointer, so it is no part of its caller. The profiles
# stay in the target folder: callgrind_annotate --threshold=100 reads them.
#
# On a slow machine limit_req deletes keys that it has not seen for a minute, two for each new one: more instructions.
# ratecell reads the system's clock once in a third of a millisecond: here for many requests, and for few on a busy nginx.
source "$(dirname "$0")/../ci/lib.sh"

command -v valgrind >/dev/null || { echo 'missing: valgrind (Debian: valgrind)' >&2; exit 1; }
RATECELL_NGINX_STATIC="$(ci/nginx.sh --optimised)"
profiles="$target/nginx-profiles"
rm -rf "$profiles"
mkdir -p "$profiles"
# The tests' harness wants a module to load; here it is built in.
export RATECELL_NGINX_STATIC RATECELL_NGINX_MODULE=built-in PYTHONPATH="$PWD/bindings/nginx/tests"
python3 -B benches/nginx/instructions.py "$profiles" "$@"
