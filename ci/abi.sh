#!/usr/bin/env bash
# What a program that is already compiled relies on: the exported names, and the types and functions of the
# header, as the compiler sees them.
#
#   ci/abi.sh DIR            DIR: where ci/capi.sh built. Fails if anything differs from what is recorded
#   ci/abi.sh DIR --bless    records what was added. What breaks old programs needs a new soname, by the version
source "$(dirname "$0")/lib.sh"

recorded=ffi-tests/abi
work="$target/abi"
mkdir -p "$work"
command -v abidiff >/dev/null || { echo "missing: abidiff (Debian: abigail-tools)" >&2; exit 1; }
version="$(crate_version)"
soname="libratecell.so.$(so_version "$version")"

# A library that has the functions of the header $1 and does nothing, for its debug information: that of the
# real one tells Rust's types.
stand_in() {
    {
        cat "$1"
        cc -E -P "$1" | tr '\n' ' ' | sed 's/;/;\n/g' |
            sed -n '/ratecell_[a-z_]*(.*);$/s/;$/ { __builtin_trap(); }/p'
    } >"$work/$2.c"
    cc -g -shared -fPIC "-Wl,-soname,$soname" -o "$work/$2.so" "$work/$2.c"
}

# Compares the library $1 with what is recorded: `changes` is empty where nothing differs. Options of abidiff follow.
compare() {
    local status=0
    abidiff "${@:2}" "$recorded/ratecell.abi" "$1" >"$work/changes.txt" 2>&1 || status=$?
    # Its first two bits say that it could not compare.
    if [ $((status & 3)) -ne 0 ]; then cat "$work/changes.txt" >&2 && exit 1; fi
    changes=""
    if [ "$status" -ne 0 ]; then changes="$(cat "$work/changes.txt")"; fi
}

# Compares as far as programs rely on it that were compiled by what is recorded.
compare_for_old() {
    compare "$1" --no-added-syms --suppressions "$recorded/growing.suppr"
}

nm -D --defined-only --format=posix "$1/libratecell.so" | sed 's/ .*//' | LC_ALL=C sort >"$work/symbols.txt"
stand_in include/ratecell.h current
if [ "${2:-}" = --bless ]; then
    if grep -q "soname='$soname'" "$recorded/ratecell.abi" 2>/dev/null; then
        compare_for_old "$work/current.so"
        [ -z "$changes" ] || {
            echo "$changes" >&2
            echo "this breaks programs that use $soname: expected a new version in Cargo.toml" >&2
            exit 1
        }
    fi
    cp "$work/symbols.txt" "$recorded/symbols.txt"
    # The same wherever it is recorded: the stand-in's source is named without its folder.
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs "$work/current.so" |
        sed "s|path='[^']*/|path='|" >"$recorded/ratecell.abi"
    exit
fi

diff -u "$recorded/symbols.txt" "$work/symbols.txt" >&2 ||
    { echo "the library exports other names than recorded: ci/abi.sh $1 --bless accepts additions" >&2; exit 1; }
dynamic="$(objdump -p "$1/libratecell.so")"
grep -q "SONAME *$soname\$" <<<"$dynamic" || { echo "expected the soname $soname" >&2; exit 1; }
nm -g --defined-only --format=posix "$1/libratecell.a" 2>/dev/null | sed -n 's/ [A-Z] .*//p' | LC_ALL=C sort |
    diff -u "$recorded/symbols.txt" - >&2 || { echo "libratecell.a has other names than libratecell.so" >&2; exit 1; }
compare "$work/current.so"
[ -z "$changes" ] || {
    echo "$changes" >&2
    echo "the header is another ABI than recorded: ci/abi.sh $1 --bless accepts additions" >&2
    exit 1
}

# The comparison itself, on headers with a change each.
changed() {
    sed "$1" include/ratecell.h >"$work/changed.h"
    if cmp -s include/ratecell.h "$work/changed.h"; then echo "nothing to change: $1" >&2 && exit 1; fi
    stand_in "$work/changed.h" changed
    compare "$work/changed.so"
    [ -n "$changes" ] || { echo "not seen: $1" >&2; exit 1; }
    compare_for_old "$work/changed.so"
}
changed 's/^} ratecell_decision;/  uint64_t more;\n&/'
[ -n "$changes" ] || { echo "a longer decision passed" >&2; exit 1; }
changed 's/^} ratecell_request;/  uint64_t more;\n&/'
[ -n "$changes" ] || { echo "a longer request passed" >&2; exit 1; }
changed 's/^uint32_t ratecell_version_number(void);/& uint32_t ratecell_more(void);/'
[ -z "$changes" ] || { echo "an added function counts as a break" >&2; exit 1; }
changed 's/^} ratecell_config;/  uint64_t more;\n&/'
[ -z "$changes" ] || { echo "a field at the end of the config counts as a break" >&2; exit 1; }
changed 's/^  uint64_t max_keys;/  uint64_t more;\n&/'
[ -n "$changes" ] || { echo "a field inside the config passed" >&2; exit 1; }
names="$(wc -l <"$recorded/symbols.txt")"
echo "$names names, $soname, as recorded; five changed headers told apart"
