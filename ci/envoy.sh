#!/usr/bin/env bash
# `ratecell envoy` with the release build of the program: a client made from Envoy's protobufs, and Envoy itself before a
# server, by the configurations in docs/SERVERS.md; and the files that envoyproxy/ratelimit ships, imported.
source "$(dirname "$0")/lib.sh"

host="$(host)"
cargo build --release --quiet -p ratecell-cli --target "$host"
program="$target/$host/release/ratecell"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Its examples, and what its own tests read: what it takes is taken, but for limits that replace those of other descriptors,
# and what it refuses is refused.
module=github.com/envoyproxy/ratelimit@v1.4.1-0.20260122083618-3fb702589d36
# In a folder without a module, so that it is none of a module's.
folder="$(cd "$work" && GOFLAGS=-mod=mod go mod download -json "$module" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')"
[ -d "$folder/examples" ] || { echo "$module: expected its folder, found '$folder'" >&2; exit 1; }
imported=0 refused=0
for file in "$folder"/examples/ratelimit/config/*.yaml "$folder"/test/config/*.yaml \
    "$folder"/test/integration/runtime/current/ratelimit/config/*.yaml; do
    expected=0
    case "${file##*/}" in
    bad_* | duplicate_key.yaml | empty_* | misspelled_* | non_* | replaces_* | unlimited_with_unit.yaml) expected=1 ;;
    esac
    status=0
    "$program" rules import --ignore-replaces "$file" >"$work/rules.toml" 2>"$work/told" || status=$?
    if [ "$status" -ne "$expected" ]; then
        cat "$work/told" >&2
        echo "$file: imported with status $status, expected $expected" >&2
        exit 1
    fi
    if [ "$expected" = 0 ]; then
        "$program" rules check "$work/rules.toml" >"$work/told" || { cat "$work/told" >&2; exit 1; }
        imported=$((imported + 1))
    else
        grep -qE "^$file:[0-9]+: .*expected" "$work/told" || { cat "$work/told" >&2; exit 1; }
        refused=$((refused + 1))
    fi
done
if [ "$imported" -lt 10 ] || [ "$refused" -lt 10 ]; then
    echo "$imported imported, $refused refused: expected more" >&2
    exit 1
fi
echo "files of envoyproxy/ratelimit: $imported imported, $refused refused as it does"

venv="$target/envoy-python"
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
clients="$PWD/crates/ratecell-envoy/clients/python"
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$clients/requirements.txt"
mkdir "$work/session"
"$venv/bin/python" "$clients/session.py" "$program" docs/SERVERS.md "$work/session"
