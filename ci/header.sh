#!/usr/bin/env bash
# Whether include/ratecell.h is what src/ffi says.
#
#   ci/header.sh            fails if it is not
#   ci/header.sh --bless    makes it so
source "$(dirname "$0")/lib.sh"

log="$target/header.log"
mkdir -p "$target"
# Where ci/lint.sh has checked the dependencies.
export CARGO_TARGET_DIR="$target/lint"
if cargo check --quiet --features capi,regen-header 2>"$log"; then
    echo "include/ratecell.h is what src/ffi says"
    exit
fi
generated="$(sed -n 's/.*which is \([^;]*\);.*/\1/p' "$log")"
[ -n "$generated" ] || { cat "$log" >&2; exit 1; }
if [ "${1:-}" = --bless ]; then
    cp "$generated" include/ratecell.h
    echo "include/ratecell.h is new"
else
    diff -u include/ratecell.h "$generated" >&2 || true
    echo "include/ratecell.h is not what src/ffi says: ci/header.sh --bless accepts it" >&2
    exit 1
fi
