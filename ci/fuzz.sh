#!/usr/bin/env bash
# The fuzz targets: first over their seeds, then on from there, two at a time.
#
#   ci/fuzz.sh [TARGET...]                a quarter of a minute each, the same way each time
#   ci/fuzz.sh --seconds N [TARGET...]    as long as that, another way each time
#   ci/fuzz.sh --minutes N [TARGET...]
#
# What is found on the way is kept in fuzz/corpus, what fails in fuzz/artifacts.
source "$(dirname "$0")/lib.sh"

seconds=15
# 0: another each time.
random_seed=1
case "${1:-}" in
--seconds) seconds="$2" random_seed=0 && shift 2 ;;
--minutes) seconds=$(($2 * 60)) random_seed=0 && shift 2 ;;
-*) sed -n '2,8p' "$0" >&2 && exit 2 ;;
esac
targets=("$@")
if [ $# -eq 0 ]; then
    for target in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$target" .rs)"); done
fi

missing=()
cargo +nightly --version >/dev/null 2>&1 || missing+=("a nightly compiler (rustup toolchain install nightly)")
cargo fuzz --version >/dev/null 2>&1 || missing+=("cargo-fuzz (cargo install --locked --debug cargo-fuzz)")
command -v c++ >/dev/null || missing+=("a C++ compiler, for libFuzzer (Debian: g++)")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'missing: %s\n' "${missing[@]}" >&2
    exit 1
fi

# The limiters' random bytes are the targets' own: a crash can be repeated.
export RUSTFLAGS='--cfg getrandom_backend="custom"'
build="${CARGO_TARGET_DIR:-target}/fuzz"
mkdir -p "$build"
started=$SECONDS
cargo +nightly fuzz build --target-dir "$build" 2>"$build/build.log" || { cat "$build/build.log" >&2; exit 1; }
echo "built in $((SECONDS - started)) s"
programs="$build/$(rustc -vV | sed -n 's/^host: //p')/release"

# The last number after a name in what libFuzzer printed.
figure() {
    sed -n "s/.*$1 *\([0-9]*\).*/\1/p" "$2" | tail -n 1
}

# Runs a target over its seeds and then for the time, and prints a line of figures; what crashed is named.
fuzz() {
    local target="$1" log="$build/$1.log" crashed=0
    local corpus="fuzz/corpus/$target" seeds="fuzz/seeds/$target" artifacts="fuzz/artifacts/$target/"
    local options=(-artifact_prefix="$artifacts" -timeout=10 -max_len=1024 -print_final_stats=1)
    if [ -f "fuzz/$target.dict" ]; then options+=(-dict="fuzz/$target.dict"); fi
    mkdir -p "$corpus" "$artifacts"
    {
        "$programs/$target" "${options[@]}" -runs=0 "$seeds" &&
            "$programs/$target" "${options[@]}" -seed="$random_seed" -max_total_time="$seconds" "$corpus" "$seeds"
    } >"$log" 2>&1 || crashed=1
    printf '%-10s %9d executions, %4d s, cov: %5d, %d crashes\n' "$target" \
        "$(figure stat::number_of_executed_units: "$log")" "$(figure 'runs in' "$log")" \
        "$(figure cov: "$log")" "$crashed"
    [ "$crashed" -eq 0 ] && return
    grep -aE -A 3 'panicked at|ERROR: (AddressSanitizer|libFuzzer: [^d])' "$log" >&2 || tail -n 20 "$log" >&2
    local artifact
    artifact="$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
    echo "$target: to repeat it: $programs/$target ${artifact:-$seeds -runs=0}" >&2
    return 1
}

for target in "${targets[@]}"; do
    [ -x "$programs/$target" ] || { echo "no target $target: expected one of fuzz/fuzz_targets" >&2; exit 2; }
done
failed=0
for ((next = 0; next < ${#targets[@]}; next += 2)); do
    running=()
    for target in "${targets[@]:next:2}"; do
        fuzz "$target" &
        running+=($!)
    done
    for pid in "${running[@]}"; do wait "$pid" || failed=$((failed + 1)); done
done
[ "$failed" -eq 0 ] || { echo "$failed of ${#targets[@]} targets failed" >&2; exit 1; }
