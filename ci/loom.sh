#!/usr/bin/env bash
# The models of the table and of the cells, under loom and under shuttle.
#
#   ci/loom.sh                     every model, within the bounds that each names
#   ci/loom.sh --mutate [NAME...]  every recorded mutation of the code, or these: each must turn its model red
#
# With DEPTH=long two preemptions more, and thirty times the schedules, others each time: hours.
# SHUTTLE_RANDOM_SEED=N has shuttle take the schedules of that seed.
source "$(dirname "$0")/lib.sh"

# Shuttle's schedules of seed $1, unless the caller names one.
seeded() {
    export SHUTTLE_RANDOM_SEED="${SHUTTLE_RANDOM_SEED:-$1}"
    echo "shuttle's schedules are those of SHUTTLE_RANDOM_SEED=$SHUTTLE_RANDOM_SEED"
}

deny="$(deny_warnings)"

# Makes `tests` the command that tests the library of the crate in folder $2 under checker $1 (loom or shuttle).
under() {
    export RUSTFLAGS="--cfg ratecell_model --cfg ratecell_$1 $deny"
    tests=(cargo test --manifest-path "$2/Cargo.toml" --target-dir "$target/$1" --quiet --lib)
}

# Runs every model under checker $1.
models() {
    local log="$target/models-$1.log"
    under "$1" "$PWD"
    "${tests[@]}" tests::models -- --nocapture | tee "$log"
    grep -q '^test result: ok\. [1-9]' "$log" || { echo "no model ran under $1" >&2; exit 1; }
}

copy="$target/mutated"

# How the copy is built: not optimised, for it is built once for each mutation, and with the dependencies that the
# models have. A copy that is built as the crate is, cargo takes for the crate.
hasty=()
for crate in ratecell ratecell-core; do
    hasty+=(--config "profile.test.package.$crate.opt-level=0")
done

# Copies what cargo reads to build the library's tests.
copied() {
    rm -rf "$copy"
    mkdir -p "$copy"
    cp -r Cargo.toml Cargo.lock README.md src crates docs benches tests "$copy"
    # What a mutation leaves unused.
    sed -i '1i #![allow(warnings)]' "$copy/src/lib.rs" "$copy/crates/ratecell-core/src/lib.rs"
}

# Applies one mutation to the copy of the sources and expects its model to fail.
#
# A mutation is a patch. The line "Red: CHECKER MODEL" above it names what must turn red.
mutate() {
    local patch="$1" built="$target/mutated.json" name log red checker model program
    name="$(basename "$patch" .patch)"
    log="$target/mutation-$name.log"
    patched "$copy" "$patch"
    # Taken out again, whatever comes of it. Either way the files that it names have a new time: what it leaves alone is not
    # built again.
    # shellcheck disable=SC2064 # it is this patch
    trap "patched '$copy' '$patch' -R" EXIT
    red="$(sed -n 's/^Red: //p' "$patch")"
    read -r checker model <<<"$red"
    under "$checker" "$copy"
    tests+=("${hasty[@]}")
    # Built first: a mutation that does not compile is not a red model.
    "${tests[@]}" --no-run --message-format=json-render-diagnostics >"$built" 2>"$log" ||
        { echo "$name: does not compile" >&2; cat "$log" >&2; exit 1; }
    program="$(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$built")"
    if (cd "$copy" && RATECELL_SCHEDULES=400000 exec "$program" "$model" --nocapture) >"$log" 2>&1; then
        echo "$name: $model stays green" >&2
        exit 1
    fi
    grep -aq 'test result: FAILED' "$log" || { echo "$name: $model did not run" >&2; cat "$log" >&2; exit 1; }
    echo "$name: red in $model ($checker)"
}

case "${1:-}" in
--mutate)
    shift
    seeded 1
    patches=(ci/mutations/*.patch)
    if [ $# -gt 0 ]; then patches=("${@/#/ci/mutations/}"); patches=("${patches[@]/%/.patch}"); fi
    failed=0
    # Each build differs from the one before in a line.
    export CARGO_INCREMENTAL=1
    copied
    for patch in "${patches[@]}"; do
        # A process of its own, which its first failure ends.
        mutate "$patch" &
        wait $! || { echo "$patch: failed" >&2; failed=$((failed + 1)); }
    done
    echo "$((${#patches[@]} - failed)) of ${#patches[@]} mutations turn their model red"
    [ "$failed" -eq 0 ]
    ;;
"")
    if [ "$DEPTH" = long ]; then
        export RATECELL_EXTRA_PREEMPTIONS=2 RATECELL_SCHEDULES=60000
        random="$(od -An -N6 -t u8 /dev/urandom | tr -d ' ')"
        seeded "$random"
    else
        # The same each time, so that a failure is of the change it is found with.
        seeded 1
    fi
    models loom
    models shuttle
    ;;
*) usage ;;
esac
