#!/usr/bin/env bash
# The Go binding: the C library that it links, and every check.
#
#   ci/go.sh --library    only the C library, put where the binding finds it (`make go`)
#   ci/go.sh              that; then format, vet, tests, vectors, the race detector, fuzzing, a program that links
#                         nothing at run time, the README's program in a module of its own, the modules for
#                         frameworks, gRPC and Prometheus, the benchmark, and what a release has inside (ci/archives.sh)
source "$(dirname "$0")/lib.sh"

here="$PWD/bindings/go"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

ci/capi.sh "$work/capi"
install -D -m 644 -t "$here/lib" "$work/capi/libratecell.a" include/ratecell.h
[ "${1:-}" != --library ] || exit 0

command -v go >/dev/null || { echo "missing: go (Debian: golang)" >&2; exit 1; }
go_settings
cd "$here"
echo -n "-- "
go version
unformatted="$(gofmt -l .)"
[ -z "$unformatted" ] || { printf 'gofmt would change: %s\n' "$unformatted" >&2; exit 1; }
go vet ./...

echo "-- tests"
go test -count 1 -v ./... >"$work/tests" 2>&1 || { grep -v '^=== \|^--- PASS' "$work/tests" >&2; exit 1; }
passed="$(grep -c '^--- PASS' "$work/tests")"
skipped="$(grep -c '^--- SKIP' "$work/tests" || true)"
echo "$passed passed, $skipped skipped"
# Those of leases are ci/leased.sh's.
sed -n '/^=== RUN/h; /^    .*_test\.go:[0-9]*: /H; /^--- SKIP/{x; /RATECELL_LEASED_FILE/!{s/.*_test\.go:[0-9]*: //; p}}' \
    "$work/tests" >"$work/skipped"
while read -r why; do left_out "a test in Go: $why"; done <"$work/skipped"
grep -E ' [0-9]{6,} passed, 0 failed$' "$work/tests" || { echo "the vectors were not replayed" >&2; exit 1; }
grep -E ' 5370 of them requests that name their zone$' "$work/tests" || { echo "no zones were named" >&2; exit 1; }
grep -E 'reserve.jsonl: 30008 passed, 0 failed$' "$work/tests" || { echo "the reservations were not replayed" >&2; exit 1; }
grep -E 'concurrency.jsonl: 10283 passed, 0 failed$' "$work/tests" || { echo "the permits were not replayed" >&2; exit 1; }
grep -E 'change.jsonl: 14014 passed, 0 failed$' "$work/tests" || { echo "the changes were not replayed" >&2; exit 1; }
grep -E 'change_refused.jsonl: 136 passed, 0 failed$' "$work/tests" || { echo "the refused changes were not replayed" >&2; exit 1; }
grep -E 'client keys: [0-9]{5,} passed, 0 failed$' "$work/tests" || { echo "the keys of clients were not replayed" >&2; exit 1; }
grep -E 'fields[a-z_]*\.jsonl: [0-9]+ passed, 0 failed' "$work/tests" || { echo "the fields were not replayed" >&2; exit 1; }
grep -E 'rules_decide.jsonl: 3500 passed, 0 failed$' "$work/tests" || { echo "the rules were not replayed" >&2; exit 1; }
echo "-- race detector"
go test -count 1 -race ./...
echo "-- fuzz"
fuzzed=150000
if [ "$DEPTH" = long ]; then fuzzed=15000000; fi
# By executions: when a time is up, Go before 1.27 may fail a run whose inputs all passed (go.dev/issue/75804).
for fuzzer in FuzzClientPeer FuzzClientClaim; do
    go test -run '^$' -fuzz "^$fuzzer\$" -fuzztime "${fuzzed}x" . >"$work/fuzz" 2>&1 || { cat "$work/fuzz" >&2; exit 1; }
    grep '^fuzz: elapsed' "$work/fuzz" | tail -n 1
done

echo "-- a program with all that it needs"
go build -o "$work/server" ./examples/server
if readelf -d "$work/server" | grep ratecell; then
    echo "the program needs a library of ratecell's at run time" >&2
    exit 1
fi
go build -o "$work/static" -tags netgo,osusergo -ldflags '-linkmode external -extldflags -static' ./examples/server
readelf -d "$work/static" | grep 'no dynamic section' >/dev/null || { readelf -d "$work/static" >&2; exit 1; }
if "$work/static" -policy '2 a day' 2>"$work/refused"; then echo "the server takes the policy '2 a day'" >&2 && exit 1; fi
grep 'expected LIMIT/PERIOD' "$work/refused"

echo "-- the README's program, with the library where make install puts it"
install -D -m 644 -t "$work/prefix/lib" lib/libratecell.a
install -D -m 644 -t "$work/prefix/include" lib/ratecell.h
cp -r "$here" "$work/module"
rm -r "$work/module/lib"
mkdir "$work/user"
sed -n '/^```go$/,/^```$/p' README.md | sed '1d; /^```$/,$d' >"$work/user/main.go"
cd "$work/user"
go mod init example.com/user 2>/dev/null
go mod edit -require github.com/ratecell/ratecell/bindings/go@v0.0.0 \
    -replace github.com/ratecell/ratecell/bindings/go="$work/module"
if go build -o program . 2>"$work/missing"; then
    echo "it was built without the library: is one installed?"
else
    grep -q 'for linux on amd64 and arm64.*make install' "$work/missing" || { cat "$work/missing" >&2; exit 1; }
fi
install -D -m 644 -t "$work/other" "$work/prefix/include/ratecell.h"
sed -i 's/\(RATECELL_VERSION_MINOR\) [0-9]*$/\1 999/' "$work/other/ratecell.h"
if CGO_CFLAGS="-I$work/other" go build -o program . 2>"$work/mismatch"; then
    echo "it was built with another version's header" >&2
    exit 1
fi
grep -q 'another version' "$work/mismatch" || { cat "$work/mismatch" >&2; exit 1; }
if CGO_ENABLED=0 go build -o program . 2>"$work/no-cgo"; then
    echo "it was built without cgo" >&2
    exit 1
fi
undefined="$(grep undefined "$work/no-cgo" || true)"
case "$undefined" in
*$'\n'* | '') cat "$work/no-cgo" >&2 && exit 1 ;;
*CGO_ENABLED_1*) ;;
*) cat "$work/no-cgo" >&2 && exit 1 ;;
esac
CGO_CFLAGS="-I$work/prefix/include" CGO_LDFLAGS="-L$work/prefix/lib" go build -o program .
./program >"$work/printed"
sed -n '/^```text$/,/^```$/p' "$here/README.md" | sed '1d; /^```$/,$d' | diff - "$work/printed"

echo "-- the project's README"
{
    printf 'package main\n\nimport (\n\t"log"\n\t"net/http"\n\n\t"github.com/ratecell/ratecell/bindings/go"\n)\n\n'
    printf 'func main() {\n\tvar handler http.Handler = http.NotFoundHandler()\n'
    sed -n '/^```go$/,/^```$/p' "$here/../../README.md" | sed '/^```/d'
    printf '\tlog.Print(err)\n}\n'
} >"$work/user/main.go"
CGO_CFLAGS="-I$work/prefix/include" go vet .

echo "-- the modules for frameworks, gRPC and Prometheus' client"
for module in ratecellprom ratecellgin ratecellecho ratecellfiber ratecellgrpc examples/chi; do
    cd "$here/$module"
    if go list -m all >/dev/null 2>&1; then
        go vet ./...
        go test -count 1 ./...
    else
        left_out "the Go module $module: what it needs asks for a newer Go"
    fi
done

echo "-- benchmark, and package rate beside its peer"
cd "$here/bench"
if go list -m all >/dev/null 2>&1; then
    go vet ./...
    go test -count 1 ./...
    go run . -rounds 3 -ops 3200 | sed -n '2,8p'
else
    left_out "the benchmark of the Go binding: its peer asks for a newer Go"
fi

echo "-- the libraries of a release"
cd "$here/../.."
ci/archives.sh "$target/archives-dist"
