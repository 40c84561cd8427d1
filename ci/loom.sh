#!/usr/bin/env bash
# The models of the table and of the cells, under loom and under shuttle.
#
#   ci/loom.sh             every model, within the bounds that each names
#   ci/loom.sh --long      two preemptions and thirty times the schedules more: hours
#   ci/loom.sh --mutate    every recorded mutation of the code, each of which must turn its model red
#   ci/loom.sh --mutate NAME...    only these
source "$(dirname "$0")/lib.sh"

# Runs the models whose names contain $2 under checker $1 (loom or shuttle), in the folder $3.
models() {
    local checker="$1" filter="$2" tree="${3:-.}"
    RUSTFLAGS="--cfg ratecell_$checker -Dwarnings" \
        cargo test --manifest-path "$tree/Cargo.toml" --target-dir "target/$checker" --quiet \
        --lib "$filter" -- --nocapture
}

# Applies one mutation to a copy of the sources and expects its model to fail.
#
# A mutation is a patch. The line "Red: CHECKER MODEL" above it names what must turn red.
mutate() {
    local patch="$1" tree="target/mutated" name log
    name="$(basename "$patch" .patch)"
    log="target/mutation-$name.log"
    rm -rf "$tree"
    mkdir -p "$tree"
    cp -r Cargo.toml Cargo.lock README.md src crates docs benches tests "$tree"
    mkdir "$tree/vectors" && cp vectors/README.md "$tree/vectors"
    git apply --directory="$tree" --unsafe-paths "$patch" || { echo "$name: does not apply" >&2; return 1; }
    local red checker model
    red="$(sed -n 's/^Red: //p' "$patch")"
    read -r checker model <<<"$red"
    # Built first: a mutation that does not compile is not a red model.
    RUSTFLAGS="--cfg ratecell_$checker" cargo test --manifest-path "$tree/Cargo.toml" \
        --target-dir "target/$checker" --quiet --lib --no-run >"$log" 2>&1 ||
        { echo "$name: does not compile" >&2; cat "$log" >&2; return 1; }
    if RUSTFLAGS="--cfg ratecell_$checker" RATECELL_SCHEDULES="${RATECELL_SCHEDULES:-60000}" \
        cargo test --manifest-path "$tree/Cargo.toml" --target-dir "target/$checker" --quiet \
        --lib "$model" -- --nocapture >"$log" 2>&1; then
        echo "$name: $model stays green" >&2
        return 1
    fi
    grep -q 'test result: FAILED' "$log" || { echo "$name: $model did not run" >&2; cat "$log" >&2; return 1; }
    echo "$name: red in $model ($checker)"
}

case "${1:-}" in
--mutate)
    shift
    patches=(ci/mutations/*.patch)
    if [ $# -gt 0 ]; then patches=("${@/#/ci/mutations/}"); patches=("${patches[@]/%/.patch}"); fi
    failed=0
    for patch in "${patches[@]}"; do mutate "$patch" || failed=$((failed + 1)); done
    echo "$((${#patches[@]} - failed)) of ${#patches[@]} mutations turn their model red"
    [ "$failed" -eq 0 ]
    ;;
--long)
    RATECELL_EXTRA_PREEMPTIONS=2 models loom tests::models
    RATECELL_SCHEDULES=60000 models shuttle tests::models
    ;;
"")
    models loom tests::models
    models shuttle tests::models
    ;;
*)
    sed -n '2,8p' "$0" >&2
    exit 2
    ;;
esac
