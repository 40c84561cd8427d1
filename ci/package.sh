#!/usr/bin/env bash
# What users get: the installed C library, found by pkg-config, linked in three ways; the same from cargo-c;
# and a Rust program, which gets none of it.
source "$(dirname "$0")/lib.sh"

command -v pkg-config >/dev/null || { echo "missing: pkg-config (Debian: pkg-config)" >&2; exit 1; }
command -v cmake >/dev/null || { echo "missing: cmake (Debian: cmake)" >&2; exit 1; }
cargo cinstall --version >/dev/null 2>&1 || { echo "missing: cargo-c (cargo install cargo-c)" >&2; exit 1; }

work="$target/installed"
rm -rf "$work"
mkdir -p "$work"

# Lists the files in the folder $1.
files() {
    find "$1" ! -type d -printf '%P\n' | LC_ALL=C sort
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
    for tool in bash cat cut dirname find install ln make mktemp rm sed; do
        found="$(command -v "$tool")"
        ln -s "$found" "$work/tools"
    done
    PATH="$work/tools" make --no-print-directory install PREFIX=/usr DESTDIR="$work/made"
)
unreadable="$(find "$work/made" -type f ! -perm -444)"
[ -z "$unreadable" ] || { echo "not everybody can read $unreadable" >&2; exit 1; }
# It is compared in what it installs and links to: its speed is not looked at.
CARGO_PROFILE_CAPI_LTO=off CARGO_PROFILE_CAPI_OPT_LEVEL=0 \
    cargo cinstall --profile capi --prefix /usr --libdir /usr/lib --destdir "$work/cargo-c" \
    --target-dir "$target/cargo-c" >"$work/cargo-c.log" 2>&1 || { cat "$work/cargo-c.log" >&2; exit 1; }
for way in made cargo-c; do
    files "$work/$way" >"$work/$way.txt"
    [ -s "$work/$way.txt" ] || { echo "nothing is installed in $work/$way" >&2; exit 1; }
done
diff "$work/made.txt" "$work/cargo-c.txt" || { echo "make install and cargo cinstall differ" >&2; exit 1; }

# Compiles and runs the user's program with what is installed in $1, linked as $2 says.
try() {
    local installed="$1" name="$2" flags
    shift 2
    export PKG_CONFIG_SYSROOT_DIR="$installed" PKG_CONFIG_LIBDIR="$installed/usr/lib/pkgconfig"
    flags="$(pkg-config --cflags "${static[@]}" --libs ratecell)"
    # shellcheck disable=SC2086 # flags are words
    cc -Wall -Wextra -Werror ffi-tests/user/program.c -o "$work/program" "$@" $flags
    ran "$installed" "$name"
}

# The same program by CMake, which finds what is installed in $1; further arguments are CMake's.
try_cmake() {
    rm -rf "$work/cmake"
    cmake -S ffi-tests/user -B "$work/cmake" "-DCMAKE_PREFIX_PATH=$1/usr" "${@:3}" >"$work/cmake.log" ||
        { cat "$work/cmake.log" >&2; exit 1; }
    cmake --build "$work/cmake" >>"$work/cmake.log" || { cat "$work/cmake.log" >&2; exit 1; }
    cp "$work/cmake/program" "$work/program"
    ran "$1" "$2"
}

# Runs the program with what is installed in $1. `needed` is what it needs.
ran() {
    local installed="$1" name="$2" out size
    out="$(LD_LIBRARY_PATH="$installed/usr/lib" "$work/program")"
    [[ "$out" == *ALLOWED*ALLOWED* ]] || { echo "$name: $out" >&2; exit 1; }
    needed="$(objdump -p "$work/program" | sed -n 's/ *NEEDED *//p' | paste -sd' ' | sed 's/^$/nothing/')"
    size="$(stat -c %s "$work/program")"
    echo "${installed##*/}, $name: runs; $size bytes, needs $needed"
}

version="$(crate_version)"
so_version="$(so_version "$version")"

for installed in "$work/made" "$work/cargo-c"; do
    static=()
    try "$installed" shared
    [[ "$needed" == *"libratecell.so.$so_version"* ]]
    try_cmake "$installed" "shared, by CMake"
    [[ "$needed" == *"libratecell.so.$so_version"* ]]
    static=(--static)
    # Where there is no shared one beside it, the linker takes the static.
    rm "$installed"/usr/lib/libratecell.so*
    try "$installed" static
    [[ "$needed" != *ratecell* ]]
    try_cmake "$installed" "static, by CMake"
    [[ "$needed" != *ratecell* ]]
done
# The port for vcpkg, which is not here: its own steps, and a program that finds what they install. The libraries are built.
for linkage in static dynamic; do
    cmake "-DSOURCES=$PWD" "-DPACKAGES=$work/vcpkg-$linkage/usr" "-DBUILDTREES=$work/vcpkg-$linkage/trees" \
        "-DLINKAGE=$linkage" -P ffi-tests/user/vcpkg.cmake >"$work/vcpkg.log" 2>&1 || { cat "$work/vcpkg.log" >&2; exit 1; }
    try_cmake "$work/vcpkg-$linkage" "by vcpkg's port"
    case "$linkage:$needed" in
    static:*ratecell* | dynamic:) echo "the port for vcpkg, $linkage: the program needs $needed" >&2 && exit 1 ;;
    esac
done
# What CMake is told of the version is the crate's, and a line of versions that is another is not found.
grep -q "^set(PACKAGE_VERSION \"$version\")" contrib/cmake/ratecell-config-version.cmake ||
    { echo "contrib/cmake/ratecell-config-version.cmake: expected the version $version" >&2; exit 1; }
for other in 0.0 0.99 "$version.1"; do
    mkdir -p "$work/other"
    sed "s/find_package(ratecell [0-9.]*/find_package(ratecell $other/" ffi-tests/user/CMakeLists.txt >"$work/other/CMakeLists.txt"
    cp ffi-tests/user/program.c "$work/other"
    rm -rf "$work/cmake"
    if cmake -S "$work/other" -B "$work/cmake" "-DCMAKE_PREFIX_PATH=$work/made/usr" >"$work/cmake.log" 2>&1; then
        echo "CMake takes $version for $other" >&2
        exit 1
    fi
    grep -q 'compatible with' "$work/cmake.log" || { cat "$work/cmake.log" >&2; exit 1; }
done
# cargo-c's file also names libgcc_s, of which there is no static form.
try "$work/made" "all static" -static
make --no-print-directory uninstall PREFIX=/usr DESTDIR="$work/made" >/dev/null
left="$(files "$work/made")"
[ -z "$left" ] || { echo "make uninstall leaves: $left" >&2; exit 1; }

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
host="$(host)"
CARGO_PROFILE_DEV_DEBUG=false cargo run --quiet --target "$host" --manifest-path "$work/user/Cargo.toml" --target-dir "$work/user/target"
names="$(nm "$work/user/target/$host/debug/user")"
if grep ' T ratecell_' <<<"$names"; then echo "a Rust program has C names" >&2 && exit 1; fi
crates="$(cargo tree --quiet --manifest-path "$work/user/Cargo.toml")"
if grep cbindgen <<<"$crates"; then echo "a Rust program builds cbindgen" >&2 && exit 1; fi
echo "a Rust program has no C names, and builds no cbindgen"
