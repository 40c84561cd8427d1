# shellcheck shell=bash
# Sourced after lib.sh by the scripts that make what users install: what they build says neither where it was built nor
# when, and runs on older systems than this one.
set -euo pipefail

# The first time that a zip file can name.
export SOURCE_DATE_EPOCH=315532800
# What the libraries of other systems are built for, by zig: glibc 2.17 and musl.
# shellcheck disable=SC2034 # for those who source this
platforms=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl)

# Cargo names a crate by the folder in which it stands, and so do the bytes: the sources are mounted where they are on every
# machine, for the compiler alone. Several scripts may do so at once: each sees its own.
cargo_home="${CARGO_HOME:-$HOME/.cargo}"
place=/tmp/ratecell-sources
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$place=/ratecell"$'\x1f'"--remap-path-prefix=$cargo_home=/cargo"
mounting=(unshare --mount)
[ "$EUID" -eq 0 ] || mounting+=(--map-root-user)
mkdir -p "$place"
if ! "${mounting[@]}" mount --bind "$PWD" "$place" 2>/dev/null; then
    left_out "the same bytes in any folder (${0##*/}): nothing can be mounted here, and they depend on the folder"
    mounting=()
fi

#   at_one_place SOURCES FOLDER COMMAND...     runs it in this folder of the sources, for example `bindings/node` or `.`
at_one_place() {
    # shellcheck disable=SC2016 # for the other shell
    local run='mount --bind "$1" "$2" && cd "$2/$3" && exec "${@:4}"'
    if [ ${#mounting[@]} -eq 0 ]; then run='cd "$1/$3" && exec "${@:4}"'; fi
    "${mounting[@]}" bash -c "$run" at_one_place "$1" "$place" "$2" "${@:3}"
}

#   python_tools REQUIREMENTS...               puts a Python that has these first in the PATH
python_tools() {
    # shellcheck disable=SC2154 # lib.sh has it
    local venv="$target/python" file
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
    export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1
    for file in "$@"; do pip install --quiet --requirement "$file"; done
}

#   by_zig SOURCES FOLDER TRIPLE build|rustc ARGS...
#
# As `at_one_place SOURCES FOLDER cargo build --target TRIPLE ARGS...`, for glibc 2.17 or musl by zig's linker; what it builds
# is in the target folder's TRIPLE. The tools are those of `python_tools ci/requirements-zig.txt`.
by_zig() {
    local triple="$3" command="$4" flags="$CARGO_ENCODED_RUSTFLAGS"
    case "$triple" in
    *-gnu) triple+=.2.17 ;;
    # With it musl is linked in, and there are no libraries that a program loads.
    *-musl) flags+=$'\x1f'-Ctarget-feature=-crt-static ;;
    esac
    if [ "$command" = build ]; then command=zigbuild; fi
    rustup --quiet target add "$3"
    CARGO_ENCODED_RUSTFLAGS="$flags" at_one_place "$1" "$2" cargo-zigbuild "$command" --quiet --locked --target "$triple" "${@:5}"
}

#   copy_sources FOLDER                        what git knows of, put elsewhere: built there it must be the same
copy_sources() {
    mkdir -p "$1"
    git ls-files -z | tar --create --null --files-from=- | tar --extract --directory "$1"
}

#   archive FILE.tar.gz FOLDER                 what is in the folder, as the same bytes each time
archive() {
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
        --directory "$2" . | gzip --no-name --best >"$1"
}

#   expect_same A B                            two files, or two folders of files
expect_same() {
    diff --recursive --brief "$1" "$2" >&2 || { echo "$1 and $2 are not the same bytes" >&2; exit 1; }
}

#   expect_no_folder NAME FOLDER               no file in it, which is of the package NAME, names a folder of the build
expect_no_folder() {
    local named
    named="$(grep -lraF -e "$PWD" -e "$place" -e "$cargo_home" "$2" || true)"
    [ -z "$named" ] || { printf '%s names the folders in which it was built, in %s\n' "$1" "$named" >&2; exit 1; }
}

#   expect_platform FILE TRIPLE                the library, built by zig, is for this processor and asks no more of its
#                                              system than libraries of glibc 2.17, or than musl
expect_platform() {
    local header dynamic needed versions newest
    header="$(readelf -h "$1")"
    case "$2" in
    x86_64-*) grep -q 'Machine:.*X86-64' <<<"$header" ;;
    aarch64-*) grep -q 'Machine:.*AArch64' <<<"$header" ;;
    *) false ;;
    esac || { echo "$1: expected a library for $2" >&2; exit 1; }
    dynamic="$(readelf -d "$1")"
    needed="$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")"
    case "$2" in
    *-musl) [ "$needed" = libc.so ] || { echo "$1 needs $needed: expected libc.so" >&2; exit 1; } ;;
    *)
        versions="$(readelf -V "$1")"
        newest="$(grep -o 'GLIBC_[0-9.]*' <<<"$versions" | sort -Vu | tail -n 1)"
        newest="$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)"
        [ "$newest" = GLIBC_2.17 ] || { echo "$1 needs $newest: expected at most GLIBC_2.17" >&2; exit 1; }
        ;;
    esac
}
