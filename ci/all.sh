#!/usr/bin/env bash
# All of it: what `make test` runs, and so what CI runs. Each part's time is printed; any failure fails.
source "$(dirname "$0")/lib.sh"

LEFT_OUT="$(mktemp)"
export LEFT_OUT
trap 'rm -f "$LEFT_OUT"' EXIT
ci/setup.sh --tools
for part in lint msrv test vectors demo c go python together nginx fuzz loom "loom --mutate"; do
    started=$SECONDS
    echo "== $part"
    # shellcheck disable=SC2086 # the second word is an option
    set -- $part
    "ci/$1.sh" "${@:2}"
    echo "== $part: $((SECONDS - started)) s"
done
if [ -s "$LEFT_OUT" ]; then
    echo "== left out here:"
    cat "$LEFT_OUT"
fi
