#!/usr/bin/env bash
# The C library inside the Go module, so that `go get` needs no Rust: libratecell.a and ratecell.h for each platform.
#
#   ci/archives.sh OUT     for this machine, in OUT/linux_amd64 or so, with OUT/SHA256SUMS; then a module with it, fetched
#                          from a proxy of files by a program that has Go and a C compiler alone
#
# With DEPTH=long for linux amd64 and arm64, each with glibc and with musl: this machine's in another folder as well, to the
# same bytes, and a program is linked for each platform.
source "$(dirname "$0")/lib.sh"
# shellcheck source=reproducible.sh
source ci/reproducible.sh

[ $# -eq 1 ] || usage
mkdir -p "$1"
out="$(cd "$1" && pwd)"
root="$PWD"
work="$(mktemp -d)"
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
here="$(host)"
sysroot="$(rustc --print sysroot)"
tools="$sysroot/lib/rustlib/$here/bin"

# The folder of a platform, by its triple.
folder() {
    local name
    case "$1" in
    x86_64-unknown-linux-*) name=linux_amd64 ;;
    aarch64-unknown-linux-*) name=linux_arm64 ;;
    *) echo "$1: expected linux on x86_64 or aarch64" >&2 && return 1 ;;
    esac
    case "$1" in
    *-gnu) echo "$name" ;;
    *) echo "${name}_musl" ;;
    esac
}

#   library SOURCES TARGET TRIPLE INTO
#
# Nothing is linked to a system's libraries, so what asks for which glibc is the program that links it. One object, in which
# nothing but the C names is global, as ci/capi.sh makes it: by the linker of Rust, which knows all processors.
library() {
    local flags="$CARGO_ENCODED_RUSTFLAGS" name roots=() keep=()
    # The C library of musl is the program's: without this it would be in the archive.
    case "$3" in *-musl) flags+=$'\x1f'-Ctarget-feature=-crt-static ;; esac
    rustup --quiet target add "$3"
    CARGO_ENCODED_RUSTFLAGS="$flags" at_one_place "$1" . cargo rustc --quiet --locked --lib --features capi --profile capi \
        --target "$3" --target-dir "$2" --crate-type staticlib
    rm -rf "$4"
    mkdir -p "$4"
    while read -r name; do roots+=(-u "$name") keep+=("--keep-global-symbol=$name"); done <"$1/ffi-tests/abi/symbols.txt"
    "$tools/rust-lld" -flavor gnu -r --gc-sections --force-group-allocation "${roots[@]}" "$2/$3/capi/libratecell.a" \
        -o "$work/ratecell.o"
    LD_LIBRARY_PATH="$sysroot/lib" "$tools/rust-objcopy" "${keep[@]}" --strip-debug --discard-all -R .llvmbc -R .llvmcmd "$work/ratecell.o"
    ar rcsD "$4/libratecell.a" "$work/ratecell.o"
    cp "$1/include/ratecell.h" "$4"
    expect_no_folder "the library of ${4##*/}" "$4"
}

if [ "$DEPTH" = long ]; then triples=("${platforms[@]}"); else triples=("$here"); fi
for triple in "${triples[@]}"; do
    name="$(folder "$triple")"
    library "$root" "$target/archives" "$triple" "$out/$name"
    size="$(stat -c %s "$out/$name/libratecell.a")"
    echo "$name/libratecell.a: $size bytes"
done
(cd "$out" && sha256sum -- */libratecell.a >SHA256SUMS)

# A release's tree, which a tag of the module is put on: what git knows of, with the libraries, and the module's version where
# those beside it need it.
version="v$(crate_version)"
module=github.com/ratecell/ratecell/bindings/go
tree="$work/tree/bindings/go"
copy_sources "$work/tree"
cp "$out/SHA256SUMS" "$tree/prebuilt"
for triple in "${triples[@]}"; do
    name="$(folder "$triple")"
    cp "$out/$name"/* "$tree/prebuilt/$name"
done
for file in "$tree"/*/go.mod "$tree"/*/*/go.mod; do
    go mod edit -droprequire "$module" -dropreplace "$module" -require "$module@$version" "$file"
done
rm -rf "$out/tree"
cp -r "$work/tree/bindings/go" "$out/tree"

# As the proxy of Go has it: a zip of the module, without the modules in it.
proxy="$work/proxy/$module/@v"
mkdir -p "$proxy"
python3 - "$out/tree" "$module@$version" "$proxy/$version.zip" <<'PYTHON'
import pathlib, sys, zipfile

tree, prefix, path = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
others = [found.parent for found in tree.rglob("go.mod") if found.parent != tree]
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
    for file in sorted(tree.rglob("*")):
        if file.is_file() and not any(other in file.parents for other in others):
            packed.write(file, f"{prefix}/{file.relative_to(tree)}")
PYTHON
cp "$out/tree/go.mod" "$proxy/$version.mod"
echo "{\"Version\":\"$version\"}" >"$proxy/$version.info"
echo "$version" >"$proxy/list"
size="$(stat -c %s "$proxy/$version.zip")"
echo "the module with ${#triples[@]} of the libraries: $size bytes"

# A fresh user: no Rust, no library of ratecell's, no clone.
mkdir "$work/user" "$work/bare"
sed -n '/^```go$/,/^```$/p' bindings/go/README.md | sed '1d; /^```$/,$d' >"$work/user/main.go"
sed -n '/^```text$/,/^```$/p' bindings/go/README.md | sed '1d; /^```$/,$d' >"$work/expected"
goroot="$(go env GOROOT)"
cache="$(go env GOCACHE)"
bare=(env -i HOME="$work/bare" PATH="$goroot/bin:/usr/bin:/bin" GOPROXY="file://$work/proxy" GONOSUMDB='*' GOFLAGS=-mod=mod
    GOTOOLCHAIN=local GOCACHE="$cache" GOMODCACHE="$work/bare/modules")
if "${bare[@]}" "$BASH" -c 'command -v cargo rustc'; then echo "expected no Rust" >&2; exit 1; fi
cd "$work/user"
"${bare[@]}" go mod init example.com/user 2>/dev/null
"${bare[@]}" go get "$module" 2>"$work/got" || { cat "$work/got" >&2; exit 1; }
"${bare[@]}" go run . >"$work/printed"
diff "$work/expected" "$work/printed"
"${bare[@]}" go test "$module/prebuilt"
"${bare[@]}" go mod vendor
"${bare[@]}" go build -mod=vendor -o vendored .
./vendored | diff "$work/expected" -
echo "go get, go run and go mod vendor without Rust: the README's program prints what it says"
refused="$("${bare[@]}" CGO_ENABLED=1 go build -tags musl . 2>&1 || true)"
grep -q 'needs a compiler for musl' <<<"$refused" || { echo "$refused" >&2; exit 1; }
[ "$DEPTH" = long ] || exit 0

# zig's compiler is one for every platform, whose unwinder is to be named. What it links for this processor also runs.
cd "$root"
python_tools ci/requirements-zig.txt
cd "$work/user"
for triple in "${platforms[@]}"; do
    name="$(folder "$triple")" tags=none arch=amd64 flags=""
    case "$triple" in aarch64-*) arch=arm64 ;; esac
    cc="$VIRTUAL_ENV/bin/python -m ziglang cc -target ${triple%%-*}-linux-${triple##*-}"
    case "$triple" in
    *-gnu) cc+=.2.17 ;;
    *-musl) tags=musl flags="-linkmode external -extldflags -static" ;;
    esac
    "${bare[@]}" ZIG_LOCAL_CACHE_DIR="$work/zig" ZIG_GLOBAL_CACHE_DIR="$work/zig" CC="$cc" CGO_LDFLAGS=-lunwind CGO_ENABLED=1 GOARCH="$arch" \
        go build -tags "$tags" -ldflags "$flags" -o "user-$name" .
    if [ "${triple%%-*}" = "${here%%-*}" ]; then
        "./user-$name" | diff "$work/expected" -
    fi
    echo "user-$name: linked"
done

# In another folder the same bytes.
cd "$root"
copy_sources "$work/elsewhere"
library "$work/elsewhere" "$work/elsewhere/target" "$here" "$work/again"
name="$(folder "$here")"
expect_same "$work/again" "$out/$name"
echo "built in another folder: the same bytes"
