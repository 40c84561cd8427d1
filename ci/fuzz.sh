#!/usr/bin/env bash
# The fuzz targets: first over their seeds, then on from there, two at a time.
#
#   ci/fuzz.sh [TARGET...]                so many executions of each, the same each time: about 10 seconds
#   ci/fuzz.sh --seconds N [TARGET...]    as long as that, others each time
#
# DEPTH=long is --seconds 600.
# What is found in a given time is kept in fuzz/corpus and gone on from; what fails is kept in fuzz/artifacts.
source "$(dirname "$0")/lib.sh"

# Executions of about 10 seconds; of a target without a line here, the default.
declare -A executions=([attach]=3000 [calls]=18000 [fields]=15000 [import]=8000 [log_lines]=2500 [policy]=180000 [resp]=5000 [rules]=8000)
default_executions=8000
seconds=""
if [ "$DEPTH" = long ]; then seconds=600; fi
case "${1:-}" in
--seconds) seconds="$2" && shift 2 ;;
-*) usage ;;
esac
names=("$@")
if [ $# -eq 0 ]; then
    for source in fuzz/fuzz_targets/*.rs; do names+=("$(basename "$source" .rs)"); done
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
build="$target/fuzz"
mkdir -p "$build"
started=$SECONDS
cargo +nightly fuzz build --target-dir "$build" 2>"$build/build.log" || { cat "$build/build.log" >&2; exit 1; }
echo "built in $((SECONDS - started)) s"
programs="$build/$(host)/release"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# The last number after a name in what libFuzzer printed.
figure() {
    sed -n "s/.*$1 *\([0-9]*\).*/\1/p" "$2" | tail -n 1
}

# Runs a target over its seeds and then on, and prints a line of figures; what crashed is named.
fuzz() {
    local name="$1" log="$build/$1.log" crashed=0 executed took covered
    local seeds="fuzz/seeds/$name" artifacts="fuzz/artifacts/$name/" corpus extent
    # An input takes far less than a second: only one that hangs runs out of such a time, on however busy a machine.
    local options=(-artifact_prefix="$artifacts" -timeout=120 -max_len=1024 -print_final_stats=1)
    if [ -f "fuzz/$name.dict" ]; then options+=(-dict="fuzz/$name.dict"); fi
    if [ -n "$seconds" ]; then
        corpus="fuzz/corpus/$name" extent=(-max_total_time="$seconds")
    else
        corpus="$scratch/$name" extent=(-seed=1 -runs="${executions[$name]:-$default_executions}")
    fi
    mkdir -p "$corpus" "$artifacts"
    {
        "$programs/$name" "${options[@]}" -runs=0 "$seeds" &&
            "$programs/$name" "${options[@]}" "${extent[@]}" "$corpus" "$seeds"
    } >"$log" 2>&1 || crashed=1
    executed="$(figure stat::number_of_executed_units: "$log")"
    took="$(figure 'runs in' "$log")"
    covered="$(figure cov: "$log")"
    printf '%-10s %9d executions, %4d s, cov: %5d, %d crashes\n' "$name" "$executed" "$took" "$covered" "$crashed"
    if [ "$crashed" -eq 0 ]; then return; fi
    grep -aE -A 3 'panicked at|ERROR: (AddressSanitizer|libFuzzer: [^d])' "$log" >&2 || tail -n 20 "$log" >&2
    local artifact
    artifact="$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)"
    echo "$name: to repeat it: $programs/$name ${artifact:-$seeds -runs=0}" >&2
    return 1
}

for name in "${names[@]}"; do
    [ -x "$programs/$name" ] || { echo "no target $name: expected one of fuzz/fuzz_targets" >&2; exit 2; }
done
failed=0
for ((next = 0; next < ${#names[@]}; next += 2)); do
    running=()
    for name in "${names[@]:next:2}"; do
        fuzz "$name" &
        running+=($!)
    done
    for pid in "${running[@]}"; do wait "$pid" || failed=$((failed + 1)); done
done
[ "$failed" -eq 0 ] || { echo "$failed of ${#names[@]} targets failed" >&2; exit 1; }
