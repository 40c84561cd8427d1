#!/usr/bin/env bash
# Old programs with a newer library, and new programs with an older one: each of two versions of the header
# with each of two versions of the library.
#
#   ci/evolution.sh DIR    DIR: where ci/capi.sh built this version
source "$(dirname "$0")/lib.sh"

libraries="$1"
next="$target/next-version"
rm -rf "$next"
mkdir -p "$next"
cp -r Cargo.toml Cargo.lock build.rs README.md src include crates benches ci docs "$next"
patched "$next" ffi-tests/evolution/next.patch

program() {
    cc -std=c99 -Wall -Wextra -Wpedantic -Werror "-I$1" "${@:3}" ffi-tests/evolution/program.c \
        -o "$next/$2" -L"$libraries" -lratecell
}

program include old
program "$next/include" new -DAPPENDED
# Its speed is not looked at. It is also built as for those who want the system's time zones.
ZONES=system CARGO_PROFILE_CAPI_LTO=off CARGO_PROFILE_CAPI_OPT_LEVEL=0 CARGO_TARGET_DIR="$target/next-build" \
    "$next/ci/capi.sh" "$target/next-dist"
grep -q /usr/share/zoneinfo "$target/next-dist/libratecell.so" ||
    { echo "ZONES=system: expected a library that reads the system's zones" >&2; exit 1; }
for program in old new; do
    LD_LIBRARY_PATH="$libraries" "$next/$program"
    NEXT=1 LD_LIBRARY_PATH="$target/next-dist" "$next/$program"
    echo "the $program program runs with both libraries"
done
