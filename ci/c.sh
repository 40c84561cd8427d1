#!/usr/bin/env bash
# Everything on the C side of the border, on one build of the libraries.
source "$(dirname "$0")/lib.sh"

libraries=target/capi-dist
ci/capi.sh "$libraries"
for part in header "abi $libraries" "panics $libraries" "evolution $libraries" package ffi; do
    started=$SECONDS
    # shellcheck disable=SC2086 # the second word is an argument
    set -- $part
    "ci/$1.sh" "${@:2}"
    echo "-- ci/$part: $((SECONDS - started)) s"
done
