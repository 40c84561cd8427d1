#!/usr/bin/env bash
# Each build and each check, with one broken line in what it builds: it must fail, and name the file.
#
#   ci/broken.sh            all; after ci/c.sh, ci/go.sh, ci/python.sh and ci/proofs.sh, with what they built. No script and no
#                           target of make may be missing here
#   ci/broken.sh PATTERN    those whose command matches
source "$(dirname "$0")/lib.sh"

only="${1:-}"
libraries="$PWD/target/capi-dist"
for built in "$libraries/libratecell.so" "$target/python/bin/maturin"; do
    [ -e "$built" ] || { echo "missing: $built (ci/c.sh, ci/python.sh)" >&2; exit 1; }
done

work="$target/broken"
copy="$work/copy"
rm -rf "$copy" "$work/destination"
mkdir -p "$copy" "$work/target"
tar -c --exclude-vcs --exclude=./target --exclude='./benches/*/target' . | tar -x -C "$copy"
# Only what is broken is built: in folders of cargo's of its own, with the tools that Python has.
export CARGO_TARGET_DIR="$work/target"
ln -sfn "$target/python" "$work/target/python"
mkdir -p "$work/target/proofs"
ln -sfn "$target/proofs/venv" "$work/target/proofs/venv"
# Other people's crates are the same there; cargo tells the project's own by the folder that they are in.
triple="$(host)"
mkdir -p "$work/target/$triple"
if [ -d "$target/$triple/capi" ] && [ ! -d "$work/target/$triple/capi" ]; then
    cp -a "$target/$triple/capi" "$work/target/$triple"
fi

# The C libraries are those of the whole sources, where it is not they that are broken.
capi() {
    if [ "$1" = real ]; then
        cp -p ci/capi.sh "$copy/ci"
    else
        printf '#!/usr/bin/env bash\nset -euo pipefail\nmkdir -p "$1"\ncp -a %s/. "$1"\n' "$libraries" >"$copy/ci/capi.sh"
    fi
}

count=0 passed=0 named=""
# Adds the line $2 to the file $1, and runs the command.
broken() {
    local file="$1" log="$work/log" fails=no
    local command=("${@:3}")
    named+="${command[*]}"$'\n'
    [[ "${command[*]}" == *"$only"* ]] || return 0
    cp -p "$copy/$file" "$work/whole"
    echo "$2" >>"$copy/$file"
    (cd "$copy" && exec "${command[@]}") </dev/null >"$log" 2>&1 || fails=yes
    cp -p "$work/whole" "$copy/$file"
    count=$((count + 1))
    if [ "$fails" = no ]; then
        echo "passes with a broken $file: ${command[*]}" >&2
        passed=$((passed + 1))
    elif ! grep -qF "${file##*/}" "$log"; then
        cat "$log" >&2
        echo "does not name the broken $file: ${command[*]}" >&2
        passed=$((passed + 1))
    else
        echo "fails with a broken $file: ${command[*]}"
    fi
}

capi real
for command in "make lib" "make install DESTDIR=$work/destination" "make go"; do
    read -ra words <<<"$command"
    broken src/lib.rs "broken line" "${words[@]}"
done
broken Cargo.toml "broken line" benches/nginx.sh
broken Cargo.toml "broken line" benches/nginx-store.sh
# What removes files builds nothing.
broken ci/lib.sh "broken line" make uninstall DESTDIR="$work/destination"

capi built
broken bindings/nginx/src/ngx_http_ratecell_rate.c "broken line" make nginx
broken bindings/nginx/src/ngx_http_ratecell_zone.c "broken line" make nginx-install DESTDIR="$work/destination"
broken bindings/nginx/src/ngx_http_ratecell_file.c "broken line" make nginx-demo
broken bindings/nginx/src/ngx_http_ratecell_stats.c "broken line" ci/nginx.sh
broken bindings/nginx/tests/test_rates.py "broken line" env "RATECELL_NGINX_STATIC=$target/nginx-static/objs/nginx" \
    "RATECELL_PROGRAM=$target/$triple/release/ratecell" ci/nginx.sh test_rates
broken bindings/go/limiter.go "broken line" ci/go.sh
broken bindings/go/limiter.go $'\nvar broken = undefined' ci/go.sh
broken Cargo.toml "broken line" ci/archives.sh "$work/archives"
broken bindings/go/examples/server/main.go "broken line" ci/together.sh
broken examples/shop/catalog/main.go "broken line" ci/example.sh
broken Cargo.toml "broken line" make example
broken bindings/java/native/Cargo.toml "broken line" ci/java.sh
broken bindings/java/native/Cargo.toml "broken line" ci/jars.sh "$work/jars"
broken bindings/python/Cargo.toml "broken line" ci/python.sh
broken bindings/node/Cargo.toml "broken line" ci/node.sh
broken bindings/node/Cargo.toml "broken line" ci/npm.sh "$work/npm"
broken bindings/python/pyproject.toml "broken line" ci/wheels.sh "$work/wheels"
broken ffi-tests/abi/symbols.txt ratecell_broken ci/abi.sh "$libraries"
broken ffi-tests/abi/symbols.txt ratecell_broken ci/panics.sh "$libraries"
broken ffi-tests/evolution/program.c "broken line" ci/evolution.sh "$libraries"
broken ffi-tests/c/contract_limiter.c "broken line" env ONLY=c/contract_limiter ci/ffi.sh static
broken ffi-tests/c/contract_limiter.c "broken line" env ONLY=c/contract_limiter ci/ffi.sh shared
broken ffi-tests/snippets.sh "false snippets.sh" env ONLY=c/contract_limiter ci/ffi.sh static
broken docs/C-API.md '```' ci/ffi.sh static
broken Makefile "broken line" ci/package.sh
broken Cargo.toml "broken line" ci/c.sh
broken Cargo.toml "broken line" ci/header.sh

for command in "make demo" "make test" "make loom" "make many-machines" "make bench-store" ci/demo.sh ci/setup.sh ci/msrv.sh \
    ci/test.sh ci/vectors.sh ci/systems.sh ci/serve.sh benches/serve.sh ci/envoy.sh "make deb" ci/deb.sh \
    "make release OUT=$work/release" ci/loom.sh "ci/loom.sh --mutate floor_not_read" ci/miri.sh "ci/store.sh --machines" \
    "ci/store.sh --run" ci/leased.sh "env MACHINES_NGINX=no ci/many-machines.sh"; do
    read -ra words <<<"$command"
    broken Cargo.toml "broken line" "${words[@]}"
done
broken fuzz/Cargo.toml "broken line" ci/fuzz.sh
broken proofs/seam/Cargo.toml "broken line" ci/proofs.sh
broken crates/ratecell-playground/Cargo.toml "broken line" ci/site.sh
broken crates/ratecell-playground/Cargo.toml "broken line" make site
broken benches/compare/Cargo.toml "broken line" make bench ARGS=--quick
broken benches/instructions/Cargo.toml "broken line" benches/instructions.sh
broken src/lib.rs "fn  broken( ) {}" make lint
broken deny.toml "broken line" make lint
# What would hide a failure, as the line above that made `make nginx` pass.
broken ci/demo.sh 'build() { false; }; build && echo built' make lint
broken ci/lib.sh '[ "${0##*/}" != vectors.sh ] || { echo "a line of lib.sh" && false; }' ci/all.sh vectors
broken ci/lib.sh '[ "${0##*/}" != msrv.sh ] || { left_out "a line of lib.sh"; exit 0; }' env CI=true ci/all.sh msrv

# Each script and each target is in a line above. A target of make names the scripts that it runs.
goals="$(sed -n 's/^\.PHONY: //p' Makefile)"
made="$(sed -n 's/^make \([a-z-]*\).*/\1/p' <<<"$named" | sort -u)"
while read -r goal; do
    recipe="$(make --no-print-directory -n "$goal")"
    named+="$recipe"$'\n'
done <<<"$made"
unnamed=()
for script in ci/*.sh benches/*.sh; do
    case "$script" in
    # This one, what others read, and what builds the libraries for `make lib`.
    ci/broken.sh | ci/lib.sh | ci/reproducible.sh | benches/lib.sh | ci/capi.sh) continue ;;
    esac
    [[ "$named" =~ (^|[[:space:]])"$script"([[:space:]]|$) ]] || unnamed+=("$script")
done
for goal in $goals; do
    # It is a text.
    if [ "$goal" = help ]; then continue; fi
    [[ "$named" =~ (^|[[:space:]])"make $goal"([[:space:]]|$) ]] || unnamed+=("make $goal")
done
if [ ${#unnamed[@]} -gt 0 ]; then
    printf 'no line of this script breaks %s\n' "${unnamed[@]}" >&2
    exit 1
fi

[ "$count" -gt 0 ] || { echo "no command matches $only" >&2; exit 2; }
echo "$((count - passed)) of $count commands fail with a broken line, and name its file"
[ "$passed" -eq 0 ]
