#!/usr/bin/env bash
# The C ABI, by programs in C and C++ that use it as a stranger would: with the static library and the shared
# one, under valgrind, and with both sides instrumented by the address, undefined and thread sanitizers.
#
#   ci/ffi.sh            every part
#   ci/ffi.sh PART...    only these: static, shared, memcheck, address, thread
source "$(dirname "$0")/lib.sh"

out="$target/ffi"
mkdir -p "$out"

missing=()
needs() {
    command -v "$1" >/dev/null || missing+=("$1 (Debian: $2)")
}
needs gcc gcc
needs g++ g++
needs make make
needs valgrind valgrind
needs pkg-config pkg-config
sysroot="$(rustc +nightly --print sysroot || true)"
[ -d "$sysroot/lib/rustlib/src" ] ||
    missing+=("rust-src (rustup component add rust-src --toolchain nightly)")
pkg-config --exists json-c 2>/dev/null || missing+=("json-c (Debian: libjson-c-dev)")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'missing: %s\n' "${missing[@]}" >&2
    exit 1
fi

# Builds and runs every program. $1: the part's name, under which they are built; then variables of the Makefile.
check() {
    local name="$1"
    shift
    make --no-print-directory -j2 -C ffi-tests check OUT="$out/$name" "$@"
}

# Three parts link the same objects.
plain() {
    check "$1" LINK="$1" LIB="$out/lib" OBJECTS="$out/objects" "${@:2}"
}

static_part() {
    plain static
}

shared_part() {
    plain shared
}

memcheck_part() {
    plain shared \
        RUN="valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,possible"
}

# Where memory is placed as randomly as new kernels do, Debian's sanitizers may not start.
fixed=""
if setarch -R true 2>/dev/null; then fixed="setarch -R"; fi

# A limiter of more keys than memory holds is an answer, so the sanitizer must let malloc return NULL.
address_part() {
    ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        check address LIB="$out/lib-address" SANITIZE=address,undefined RUN="$fixed"
}

thread_part() {
    TSAN_OPTIONS=allocator_may_return_null=1 \
        check thread LIB="$out/lib-thread" SANITIZE=thread RUN="$fixed"
}

timed() {
    local started=$SECONDS
    echo "-- $1"
    "${@:2}"
    echo "-- $1: $((SECONDS - started)) s"
}

parts=("$@")
if [ $# -eq 0 ]; then parts=(static shared memcheck address thread); fi
timed libraries ci/capi.sh "$out/lib"
for part in "${parts[@]}"; do
    case "$part" in
    static | shared | memcheck) ;;
    address) timed "library for address" ci/capi.sh "$out/lib-address" --sanitize address ;;
    thread) timed "library for thread" ci/capi.sh "$out/lib-thread" --sanitize thread ;;
    *) usage ;;
    esac
    timed "$part" "${part}_part"
done
