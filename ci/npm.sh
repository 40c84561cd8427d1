#!/usr/bin/env bash
# The npm package: ratecell-VERSION.tgz, which has the libraries in it.
#
#   ci/npm.sh OUT          with the library of this machine: built, packed again to the same bytes, installed without a
#                          registry and used without a compiler
#
# With DEPTH=long also OUT/zig: the package as it is published, with the libraries for glibc 2.17 and musl, on x86-64 and
# aarch64, by zig's linker.
source "$(dirname "$0")/lib.sh"
# shellcheck source=reproducible.sh
source ci/reproducible.sh

[ $# -eq 1 ] || usage
mkdir -p "$1"
out="$(cd "$1" && pwd)"
root="$PWD"
version="$(crate_version)"
tgz="ratecell-$version.tgz"
node="$(command -v node || true)" npm="$(command -v npm || true)" machine="$(uname -m)"
if [ -z "$node" ] || [ -z "$npm" ]; then echo "missing: node or npm (Debian: nodejs, npm)" >&2 && exit 1; fi
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Packs what git knows of the package, and the libraries in the folder $1, into the folder $2.
pack() {
    local stage="$work/stage"
    rm -rf "$stage"
    mkdir -p "$stage/prebuilt" "$2"
    (cd bindings/node && cp -r -- *.js *.d.ts lib package.json README.md LICENSE-APACHE LICENSE-MIT "$stage")
    install -m 644 "$1"/*.node "$stage/prebuilt"
    # When a file was touched is not in the package.
    (cd "$stage" && npm pack --silent --pack-destination "$2" >/dev/null)
    [ -e "$2/$tgz" ] || { echo "package.json: expected the version $version" >&2; exit 1; }
}
# Looks at the package in the folder $1, which is to have as many libraries as $2.
look() {
    local size libraries
    rm -rf "$work/unpacked"
    mkdir "$work/unpacked"
    tar --extract --file "$1/$tgz" --directory "$work/unpacked"
    expect_no_folder "$tgz" "$work/unpacked"
    libraries="$(find "$work/unpacked/package/prebuilt" -name '*.node' | wc -l)"
    [ "$libraries" -eq "$2" ] || { echo "$tgz has $libraries libraries: expected $2" >&2; exit 1; }
    size="$(stat -c %s "$1/$tgz")"
    echo "$tgz: $size bytes, $libraries libraries"
}
# Installs the package in the folder $1 where no program is found but Node, and runs the README's first lines with it.
use() {
    local bare
    rm -rf "$work/clean"
    mkdir -p "$work/clean/bin" "$work/clean/user"
    ln -s "$node" "$work/clean/bin/node"
    ln -s "$npm" "$work/clean/bin/npm"
    bare=(env -i HOME="$work/clean" PATH="$work/clean/bin")
    "${bare[@]}" "$BASH" -c 'if command -v cargo rustc cc; then echo "expected no compiler" >&2; exit 1; fi'
    echo '{ "private": true }' >"$work/clean/user/package.json"
    cd "$work/clean/user"
    "${bare[@]}" npm install --silent --offline --no-audit --no-fund "$1/$tgz"
    "${bare[@]}" node "$root/bindings/node/test/snippets.js" "$root/bindings/node/README.md"
    # And where there is no library for the platform, a sentence.
    rm node_modules/ratecell/prebuilt/*
    if "${bare[@]}" node -e "require('ratecell')" 2>"$work/refused"; then
        echo "the package loads without a library" >&2
        exit 1
    fi
    grep -q 'ratecell has no library for .*: expected one of .*npm run build' "$work/refused" || { cat "$work/refused" >&2; exit 1; }
    cd "$root"
}

name="$(node -p "require('./bindings/node/lib/platform').platform()")"
at_one_place "$root" bindings/node cargo build --quiet --release --locked --target-dir "$target/node-build"
mkdir "$work/libraries"
cp "$target/node-build/release/libratecell_node.so" "$work/libraries/$name.node"
pack "$work/libraries" "$work/here"
pack "$work/libraries" "$work/again"
expect_same "$work/here" "$work/again"
look "$work/here" 1
use "$work/here"
rm -f "$out"/*.tgz
cp "$work/here/$tgz" "$out"
[ "$DEPTH" = long ] || exit 0

python_tools ci/requirements-zig.txt
copy_sources "$work/elsewhere"
mkdir "$work/all"
for triple in "${platforms[@]}"; do
    by_zig "$root" bindings/node "$triple" build --release --target-dir "$target/node-build"
    library="$target/node-build/$triple/release/libratecell_node.so"
    expect_platform "$library" "$triple"
    case "$triple" in
    x86_64-*) processor=x64 ;;
    *) processor=arm64 ;;
    esac
    cp "$library" "$work/all/linux-$processor-${triple##*-}.node"
    if [ "$triple" = "$machine-unknown-linux-gnu" ]; then
        by_zig "$work/elsewhere" bindings/node "$triple" build --release --target-dir "$work/elsewhere/target"
        expect_same "$library" "$work/elsewhere/target/$triple/release/libratecell_node.so"
        echo "built in another folder: the same bytes"
    fi
done
pack "$work/all" "$work/zig"
look "$work/zig" "${#platforms[@]}"
use "$work/zig"
mkdir -p "$out/zig"
cp "$work/zig/$tgz" "$out/zig"
