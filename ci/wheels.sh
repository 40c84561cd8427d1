#!/usr/bin/env bash
# Wheels of the Python package: abi3, one for all versions of CPython from 3.10 on.
#
#   ci/wheels.sh OUT       for this machine: built, checked, packed again to the same bytes, and used without a compiler
#
# With DEPTH=long also, by zig's linker, those for glibc 2.17 and musl 1.2, on x86-64 and aarch64: OUT/zig. The one for this
# machine is built in another folder as well, to the same bytes.
source "$(dirname "$0")/lib.sh"
# shellcheck source=reproducible.sh
source ci/reproducible.sh

[ $# -eq 1 ] || usage
mkdir -p "$1"
out="$(cd "$1" && pwd)"
root="$PWD"
python_tools bindings/python/requirements-wheels.txt
# It must be the interpreter of this folder whose abi3 is asked for.
export PYO3_PYTHON="$VIRTUAL_ENV/bin/python"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# Builds the sources in the folder $1 in the folder $2, into the folder $3; the rest is maturin's.
build() {
    rm -rf "$3"
    at_one_place "$1" bindings/python maturin build --quiet --release --locked --target-dir "$2" --out "$3" "${@:4}"
}
# Looks at the wheel in the folder $1, whose platform is to be the pattern $2.
look() {
    local wheel name shown size tag needed
    wheel="$(echo "$1"/*.whl)"
    name="${wheel##*/}"
    # shellcheck disable=SC2053 # it is a pattern
    [[ "$name" == ratecell-*-cp310-abi3-$2.whl ]] || { echo "$name: expected ratecell-…-cp310-abi3-$2.whl" >&2; exit 1; }
    twine --no-color check --strict "$wheel" >"$work/twine" || { cat "$work/twine" >&2; exit 1; }
    rm -rf "$work/unpacked"
    python -m zipfile -e "$wheel" "$work/unpacked"
    case "$name" in
    # auditwheel finds the C library of this machine, which is another.
    *musllinux*)
        needed="$(readelf -d "$work/unpacked/ratecell/_native.abi3.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"
        [ "$needed" = libc.so ] || { echo "$name needs $needed: expected libc.so" >&2; exit 1; }
        ;;
    # What it finds that the wheel needs is what the wheel says.
    *)
        shown="$(auditwheel show "$wheel")"
        tag="$(sed -n 's/^.*"\([a-z0-9]*linux_[a-z0-9_]*\)".*$/\1/p' <<<"$shown" | sed -n 1p)"
        if [ -z "$tag" ] || [[ "$name" != *"$tag"* ]]; then
            printf '%s\n%s\n' "$name" "$shown" >&2
            exit 1
        fi
        ;;
    esac
    expect_no_folder "$name" "$work/unpacked"
    size="$(stat -c %s "$wheel")"
    echo "$name: $size bytes"
}
# Installs the wheel in the folder $1 where no program is found but Python, and runs the README's first lines with it.
use() {
    rm -rf "$work/clean"
    python3 -m venv --without-pip "$work/clean"
    local bare=(env -i HOME="$work" PATH="$work/clean/bin")
    "${bare[@]}" "$BASH" -c 'if command -v cargo rustc cc; then echo "expected no compiler" >&2; exit 1; fi'
    "${bare[@]}" "$VIRTUAL_ENV/bin/python" -m pip --python "$work/clean" install --quiet --no-index "$1"/*.whl
    (cd "$work" && "${bare[@]}" \
        "$work/clean/bin/python" -B "$root/bindings/python/tests/first_lines.py" "$root/bindings/python/README.md")
}

build "$root" "$target/python-build" "$work/here"
look "$work/here" "*linux*"
build "$root" "$target/python-build" "$work/again"
expect_same "$work/here" "$work/again"
use "$work/here"
rm -f "$out"/*.whl
cp "$work"/here/*.whl "$out"
[ "$DEPTH" = long ] || exit 0

python_tools ci/requirements-zig.txt
machine="$(uname -m)"
rm -rf "$out/zig"
mkdir -p "$out/zig"
copy_sources "$work/elsewhere"
for triple in "${platforms[@]}"; do
    tag=manylinux2014
    case "$triple" in *-musl) tag=musllinux_1_2 ;; esac
    rustup --quiet target add "$triple"
    by_zig=(--zig --target "$triple" --compatibility "$tag")
    build "$root" "$target/python-build" "$work/zig" "${by_zig[@]}"
    look "$work/zig" "*${tag}_${triple%%-*}*"
    # For this machine twice, and used; the others are built by the same means.
    if [ "$triple" = "$machine-unknown-linux-gnu" ]; then
        use "$work/zig"
        build "$work/elsewhere" "$work/elsewhere/target" "$work/other" "${by_zig[@]}"
        expect_same "$work/zig" "$work/other"
        echo "built in another folder: the same bytes"
    fi
    cp "$work"/zig/*.whl "$out/zig"
done
