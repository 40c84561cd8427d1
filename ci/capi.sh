#!/usr/bin/env bash
# Builds the C libraries into a folder.
#
#   ci/capi.sh DIR                     libratecell.a, libratecell.so and what it links to
#   ci/capi.sh DIR --sanitize NAME     libratecell.a alone, instrumented (address or thread), by a nightly compiler
#
# ZONES=system takes the time zones from the system's database when they are used; else they are in the library.
source "$(dirname "$0")/lib.sh"

dir="$1"
mkdir -p "$dir"
dir="$(cd "$dir" && pwd)"
host="$(host)"
case "${ZONES:-library}" in
library) features=capi ;;
system) features=capi,system-zones ;;
*) echo "ZONES is $ZONES: expected library or system" >&2 && exit 2 ;;
esac

# cargo rustc of the library with the C ABI, as what $1 lists.
library() {
    cargo rustc --quiet --locked --lib --features "$features" --target "$host" --crate-type "$1" "${@:2}"
}

if [ "${2:-}" = --sanitize ]; then
    # With Rust's own library instrumented as well: of a lock that it does not see the thread sanitizer sees
    # only what looks like a race.
    if [ "$3" = thread ]; then export CARGO_UNSTABLE_BUILD_STD=std,panic_unwind; fi
    # With assertions and overflow checks, for this is a build that tests.
    RUSTFLAGS="-Zsanitizer=$3 -Cunsafe-allow-abi-mismatch=sanitizer -Cdebug-assertions -Coverflow-checks -Cforce-frame-pointers" \
        RUSTUP_TOOLCHAIN=nightly \
        library staticlib --release --target-dir "$target/capi-$3"
    cp "$target/capi-$3/$host/release/libratecell.a" "$dir"
    # Functions that only newer runtimes than that of Debian's gcc have. The plain ones are watched as well.
    objcopy --redefine-sym __tsan_memcpy=memcpy --redefine-sym __tsan_memmove=memmove \
        --redefine-sym __tsan_memset=memset "$dir/libratecell.a"
    exit
fi

version="$(crate_version)"
soname="libratecell.so.$(so_version "$version")"
# Both at once, for they are of one code.
library cdylib,staticlib --profile capi -- -C "link-arg=-Wl,-soname,$soname"
cp "$target/$host/capi/libratecell.so" "$dir/libratecell.so.$version"
ln -sf "libratecell.so.$version" "$dir/$soname"
ln -sf "$soname" "$dir/libratecell.so"
echo "${ZONES:-library}" >"$dir/zones"

# One object in which nothing but the C names is global, so that it can stand in a program beside another
# library that Rust made: only what these names reach, without the compiler's own intermediate code, and
# without groups of which a linker would keep another's.
names="$dir/names.txt"
nm -D --defined-only --format=posix "$dir/libratecell.so" | sed 's/ .*//' >"$names"
roots=()
while read -r name; do roots+=(-u "$name"); done <"$names"
ld -r --gc-sections --force-group-allocation "${roots[@]}" "$target/$host/capi/libratecell.a" -o "$dir/ratecell.o"
objcopy --keep-global-symbols="$names" --strip-debug -R .llvmbc -R .llvmcmd "$dir/ratecell.o"
rm -f "$dir/libratecell.a"
ar rcs "$dir/libratecell.a" "$dir/ratecell.o"
rm "$dir/ratecell.o" "$names"
