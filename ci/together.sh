#!/usr/bin/env bash
# One file between languages: a real ASGI server with four workers and a Go server let in together as many as the
# limit says. After ci/go.sh and ci/python.sh, with what they built.
source "$(dirname "$0")/lib.sh"

python="$target/python/bin/python"
for built in "$python" bindings/go/lib/libratecell.a; do
    [ -e "$built" ] || { echo "missing: $built (ci/go.sh, ci/python.sh)" >&2; exit 1; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
go_settings
(cd bindings/go && go build -o "$work/server" ./examples/server)
"$python" -B ci/together.py "$work"
