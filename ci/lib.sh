# shellcheck shell=bash
# Shared by the scripts in this folder: they run at home as in CI, from any folder.
#
# A command that fails ends its script, also within a pipe and within $(…). Bash forgets both where it is asked whether
# a function succeeds (`f && …`, `if f`) and where $(…) is an argument: `ci/lint.sh` refuses these.
set -euo pipefail
shopt -s inherit_errexit
# How far the checks go whose extent is a choice: short, or long, which is other counts and nothing else.
export DEPTH="${DEPTH:-short}"
case "$DEPTH" in short | long) ;; *) echo "DEPTH is $DEPTH: expected short or long" >&2 && exit 2 ;; esac
# Where cargo builds: from there the scripts take what it built. A relative folder is one of who calls.
target="${CARGO_TARGET_DIR:-}"
case "$target" in '' | /*) ;; *) target="$PWD/$target" ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target="${target:-$PWD/target}"
export CARGO_TARGET_DIR="$target"
# What is built is run here.
unset CARGO_BUILD_TARGET
# Most crates are built once: what the compiler would keep for a second time costs more than it saves.
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"
# The other systems for which the limiter compiles.
export SYSTEMS="aarch64-unknown-linux-gnu aarch64-apple-darwin x86_64-apple-darwin x86_64-pc-windows-msvc"
# Where limiter and core run under Node, and where only the core compiles: the other has no random bytes.
export WASM="wasm32-wasip1 wasm32-unknown-unknown"
# The texts of tools are read, and in other languages they are other texts.
export LC_ALL=C.UTF-8
for folder in "$PWD" "$target" "${TMPDIR:-/tmp}"; do
    case "$folder" in
    *[[:space:]]*)
        echo "$folder: expected no spaces in the names of the source folder, CARGO_TARGET_DIR and TMPDIR" >&2
        exit 2
        ;;
    esac
done
unset folder

# The comment at the head of the script, and the end of it: it was called in another way.
usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# The compiler's name for this machine. Cargo is told it wherever what it builds is used afterwards: a target that the
# user's configuration of cargo names would be built into another folder.
host() {
    rustc -vV | sed -n 's/^host: //p'
}

# What Go is told where it builds the binding. What it has built it builds again when its own sources change, but not when
# the library does: a flag that has the library's sum does that.
go_settings() {
    local sum
    sum="$(cat bindings/go/lib/* | sha256sum | cut -c1-16)"
    export CGO_CFLAGS="-O2 -g -DRATECELL_LIBRARY_SUM=$sum" GOFLAGS="-buildvcs=false"
}

# Applies the patch $2 to the copy of the sources in the folder $1; with -R behind them takes it out again.
patched() {
    local patch="$PWD/$2"
    (cd "$1" && GIT_CEILING_DIRECTORIES="$(dirname "$1")" git apply "${@:3}" "$patch")
}

# The flag by which warnings are errors, with the compiler that they were last looked through with. Another may warn of
# what was right before: that is told, and fails nothing.
deny_warnings() {
    local version
    version="$(rustc --version | cut -d' ' -f2)"
    if [ "$version" = 1.95.0 ]; then echo -Dwarnings; fi
}

# Tells that a check is left out here, and why; ci/all.sh tells it again at its end.
left_out() {
    echo "left out: $1"
    if [ -n "${LEFT_OUT:-}" ]; then echo "$1" >>"$LEFT_OUT"; fi
}

# The first value of this name in Cargo.toml.
manifest() {
    local value
    value="$(sed -n "0,/^$1 = \"\(.*\)\"\$/s//\1/p" Cargo.toml)"
    [ -n "$value" ] || { echo "Cargo.toml: expected a line $1 = \"…\"" >&2; exit 1; }
    echo "$value"
}

# The crate's version, from Cargo.toml alone.
crate_version() {
    manifest version
}

# What the soname of a version ends in: before 1.0 each minor version may break, after it each major one.
so_version() {
    case "$1" in
    0.*) cut -d. -f1-2 <<<"$1" ;;
    *) cut -d. -f1 <<<"$1" ;;
    esac
}
