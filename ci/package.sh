#!/usr/bin/env bash
# What users get: the installed C library, found by pkg-config, linked in three ways; the same from cargo-c;
# and a Rust program, which gets none of it.
source "$(dirname "$0")/lib.sh"

command -v pkg-config >/dev/null || { echo "missing: pkg-config (Debian: pkg-config)" >&2; exit 1; }
cargo cinstall --version >/dev/null 2>&1 || { echo "missing: cargo-c (cargo install cargo-c)" >&2; exit 1; }

work="$target/installed"
rm -rf "$work"
mkdir -p "$work"

files() {
    (cd "$1" && find . ! -type d | LC_ALL=C sort)
}

# What it is not given, it refuses by name.
for wrong in "PREFIX=usr" "LIBDIR=lib" "INCLUDEDIR=include" "LIBDIR=/with&sign"; do
    if env "$wrong" DESTDIR="$work/refused" ci/install.sh 2>"$work/why"; then
        echo "make install takes $wrong" >&2
        exit 1
    fi
    grep -q "^${wrong%%=*} is .*: expected" "$work/why" || { cat "$work/why" >&2; exit 1; }
done

# As the super-user installs: what somebody else has built, without cargo, and for all to read.
make --no-print-directory lib
(
    umask 077
    mkdir "$work/tools"
    for tool in bash cat cut dirname find install ln make mktemp rm sed; do ln -s "$(command -v "$tool")" "$work/tools"; done
    PATH="$work/tools" make --no-print-directory install PREFIX=/usr DESTDIR="$work/made"
)
unreadable="$(find "$work/made" -type f ! -perm -444)"
[ -z "$unreadable" ] || { echo "not everybody can read $unreadable" >&2; exit 1; }
cargo cinstall --profile capi --prefix /usr --libdir /usr/lib --destdir "$work/cargo-c" \
    --target-dir "$target/cargo-c" >"$work/cargo-c.log" 2>&1 || { cat "$work/cargo-c.log" >&2; exit 1; }
diff <(files "$work/made") <(files "$work/cargo-c") || { echo "make install and cargo cinstall differ" >&2; exit 1; }

# Compiles and runs the user's program with what is installed in $1, linked as $2 says.
try() {
    local installed="$1" name="$2" out
    shift 2
    export PKG_CONFIG_SYSROOT_DIR="$installed" PKG_CONFIG_LIBDIR="$installed/usr/lib/pkgconfig"
    # shellcheck disable=SC2046 # flags are words
    cc -Wall -Wextra -Werror ffi-tests/user/program.c -o "$work/program" "$@" $(pkg-config --cflags "${static[@]}" --libs ratecell)
    out="$(LD_LIBRARY_PATH="$installed/usr/lib" "$work/program")"
    [ "$(grep -c ALLOWED <<<"$out")" -eq 2 ] || { echo "$name: $out" >&2; exit 1; }
    echo "$(basename "$installed"), $name: runs; $(stat -c %s "$work/program") bytes, needs $(needed)"
}

needed() {
    objdump -p "$work/program" | sed -n 's/ *NEEDED *//p' | paste -sd' ' | sed 's/^$/nothing/'
}

for installed in "$work/made" "$work/cargo-c"; do
    static=()
    try "$installed" shared
    [[ "$(needed)" == *"libratecell.so.$(so_version "$(crate_version)")"* ]]
    static=(--static)
    # Where there is no shared one beside it, the linker takes the static.
    rm "$installed"/usr/lib/libratecell.so*
    try "$installed" static
    [[ "$(needed)" != *ratecell* ]]
done
# cargo-c's file also names libgcc_s, of which there is no static form.
try "$work/made" "all static" -static
make --no-print-directory uninstall PREFIX=/usr DESTDIR="$work/made" >/dev/null
[ -z "$(files "$work/made")" ] || { echo "make uninstall leaves: $(files "$work/made")" >&2; exit 1; }

# A Rust program has no C names in it, and cbindgen is not built for it.
mkdir -p "$work/user/src"
cat >"$work/user/Cargo.toml" <<TOML
[package]
name = "user"
edition = "2024"
[dependencies]
ratecell = { path = "$PWD" }
[workspace]
TOML
cat >"$work/user/src/main.rs" <<'RUST'
fn main() {
    let limiter = ratecell::Limiter::builder("2/h".parse().unwrap()).build().unwrap();
    assert_eq!([(); 3].map(|()| limiter.check("you").is_allowed()), [true, true, false]);
}
RUST
cp Cargo.lock "$work/user"
cargo run --quiet --target "$(host)" --manifest-path "$work/user/Cargo.toml" --target-dir "$work/user/target"
! nm "$work/user/target/$(host)/debug/user" | grep ' T ratecell_' || { echo "a Rust program has C names" >&2; exit 1; }
! cargo tree --quiet --manifest-path "$work/user/Cargo.toml" | grep cbindgen || { echo "a Rust program builds cbindgen" >&2; exit 1; }
echo "a Rust program has no C names, and builds no cbindgen"
