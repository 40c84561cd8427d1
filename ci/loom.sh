#!/usr/bin/env bash
# The models of the table and of the cells, under loom and under shuttle.
#
#   ci/loom.sh             every model, within the bounds that each names
#   ci/loom.sh --long      two preemptions and thirty times the schedules more, others each time: hours
#   ci/loom.sh --mutate    every recorded mutation of the code, each of which must turn its model red
#   ci/loom.sh --mutate NAME...    only these
#
# SHUTTLE_RANDOM_SEED=N has shuttle take the schedules of that seed.
source "$(dirname "$0")/lib.sh"

# Shuttle's schedules of seed $1, unless the caller names one.
seeded() {
    export SHUTTLE_RANDOM_SEED="${SHUTTLE_RANDOM_SEED:-$1}"
    echo "shuttle's schedules are those of SHUTTLE_RANDOM_SEED=$SHUTTLE_RANDOM_SEED"
}

# Runs the models whose names contain $2 under checker $1 (loom or shuttle).
models() {
    RUSTFLAGS="--cfg ratecell_$1 $(deny_warnings)" \
        cargo test --target-dir "$target/$1" --quiet --lib "$2" -- --nocapture
}

copy="$target/mutated"

# Runs cargo test on the mutated copy, in a target folder of its own: cargo takes two copies of a crate
# for one where they share it. Little optimised, for it is built once for each mutation.
mutated() {
    local checker="$1"
    shift
    RUSTFLAGS="--cfg ratecell_$checker" CARGO_PROFILE_TEST_OPT_LEVEL=1 CARGO_PROFILE_TEST_DEBUG=0 \
        cargo test --manifest-path "$copy/Cargo.toml" --target-dir "$target/mutated-$checker" \
        --quiet --lib "$@"
}

# Applies one mutation to a copy of the sources and expects its model to fail.
#
# A mutation is a patch. The line "Red: CHECKER MODEL" above it names what must turn red.
mutate() {
    local patch="$1" name log checker model
    name="$(basename "$patch" .patch)"
    log="$target/mutation-$name.log"
    rm -rf "$copy"
    mkdir -p "$copy"
    # What cargo reads to build the library's tests.
    cp -r Cargo.toml Cargo.lock README.md src crates docs benches tests "$copy"
    patched "$copy" "$patch" || { echo "$name: does not apply" >&2; return 1; }
    read -r checker model <<<"$(sed -n 's/^Red: //p' "$patch")"
    # Built first: a mutation that does not compile is not a red model.
    mutated "$checker" --no-run >"$log" 2>&1 ||
        { echo "$name: does not compile" >&2; cat "$log" >&2; return 1; }
    if RATECELL_SCHEDULES=400000 mutated "$checker" "$model" -- --nocapture >"$log" 2>&1; then
        echo "$name: $model stays green" >&2
        return 1
    fi
    grep -aq 'test result: FAILED' "$log" || { echo "$name: $model did not run" >&2; cat "$log" >&2; return 1; }
    echo "$name: red in $model ($checker)"
}

case "${1:-}" in
--mutate)
    shift
    seeded 1
    patches=(ci/mutations/*.patch)
    if [ $# -gt 0 ]; then patches=("${@/#/ci/mutations/}"); patches=("${patches[@]/%/.patch}"); fi
    failed=0
    for patch in "${patches[@]}"; do mutate "$patch" || failed=$((failed + 1)); done
    echo "$((${#patches[@]} - failed)) of ${#patches[@]} mutations turn their model red"
    [ "$failed" -eq 0 ]
    ;;
--long)
    seeded "$(od -An -N6 -t u8 /dev/urandom | tr -d ' ')"
    RATECELL_EXTRA_PREEMPTIONS=2 models loom tests::models
    RATECELL_SCHEDULES=60000 models shuttle tests::models
    ;;
"")
    # The same each time, so that a failure is of the change it is found with.
    seeded 1
    models loom tests::models
    models shuttle tests::models
    ;;
*)
    sed -n '2,9p' "$0" >&2
    exit 2
    ;;
esac
