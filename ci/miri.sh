#!/usr/bin/env bash
# Miri looks for undefined behaviour in the core, and in the portable paths of the clock, the memory and the table: those
# that other systems than Linux run.
source "$(dirname "$0")/lib.sh"

# Interpreted, a case of a property takes seconds.
export PROPTEST_CASES=1 PROPTEST_DISABLE_FAILURE_PERSISTENCE=1 CARGO_TARGET_DIR="$target/miri"
# proptest asks for the folder that it is in.
export MIRIFLAGS=-Zmiri-disable-isolation

run() {
    cargo +nightly miri test --quiet --lib "$@" 2>"$target/miri.log" || { cat "$target/miri.log" >&2; exit 1; }
}

mkdir -p "$target"
# Interpreted, years of a zone's days take minutes, and so do searches of whole documents; neither has unsafe code.
run -p ratecell-core -- --skip calendar_window::tests --skip zone:: --skip tests::moving --skip tests::grammar
# Linux maps its memory, which Miri does not do as Linux does; elsewhere it is the allocator's.
run -p ratecell --target aarch64-apple-darwin -- \
    clock::tests memory::heap::tests::it_is_zeroed sync::pair table::find::tests::one table::entries
