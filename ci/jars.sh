#!/usr/bin/env bash
# The jars of the Java package, with native libraries inside.
#
#   ci/jars.sh OUT         with the library of this machine: built, packed again to the same bytes, and used without Rust
#
# With DEPTH=long the libraries are, by zig's linker, those for glibc 2.17 and musl, on x86-64 and aarch64.
# MAVEN_ARGUMENTS are passed to Maven, which otherwise runs no tests.
source "$(dirname "$0")/lib.sh"
source ci/reproducible.sh

[ $# -eq 1 ] || usage
mkdir -p "$1"
out="$(cd "$1" && pwd)"
root="$PWD"
here=bindings/java
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for tool in mvn javac; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (Debian: maven, default-jdk-headless)" >&2; exit 1; }
done
version="$(crate_version)"
for file in "$here"/pom.xml "$here"/ratecell*/pom.xml "$here/native/Cargo.toml"; do
    grep -q "<version>$version</version>\|^version = \"$version\"" "$file" ||
        { echo "$file: expected the version $version, as in Cargo.toml" >&2; exit 1; }
done

natives="$target/java/natives"
rm -rf "$natives"
# Puts the library for the triple $1, which is the file $2, where the jar takes it from.
put() {
    local system libc
    case "$1" in
    *-linux-gnu) libc=gnu ;;
    *-linux-musl) libc=musl ;;
    *) echo "$1: expected a triple of Linux" >&2 && exit 1 ;;
    esac
    system="linux-${1%%-*}-$libc"
    install -D -m 644 "$2" "$natives/$system/libratecell_java.so"
    echo "$system" >>"$natives/platforms"
}
if [ "$DEPTH" = long ]; then
    python_tools ci/requirements-zig.txt
    for triple in "${platforms[@]}"; do
        CARGO_TARGET_DIR="$target/java" by_zig "$root" "$here/native" "$triple" build --release
        library="$target/java/$triple/release/libratecell_java.so"
        expect_platform "$library" "$triple"
        put "$triple" "$library"
    done
else
    triple="$(host)"
    CARGO_TARGET_DIR="$target/java" at_one_place "$root" "$here/native" \
        cargo build --quiet --release --locked --target "$triple"
    put "$triple" "$target/java/$triple/release/libratecell_java.so"
fi
expect_no_folder "the Java library" "$natives"

# Maven packs sources that stand elsewhere: no folder of the user's is written to, and no name of one is in the jars.
# $1 is the copy; the jars go into the folder $2.
pack() {
    rm -rf "$1"
    mkdir -p "$1/bindings" "$2"
    cp -r "$here" "$1/bindings/java"
    find "$1" -name target -prune -exec rm -r {} +
    ln -sfn "$root/vectors" "$root/README.md" "$1"
    (cd "$1/bindings/java" && mvn --batch-mode --quiet --no-transfer-progress ${offline:+--offline} \
        "-Dratecell.natives=$natives" package "${@:3}")
    cp "$1"/bindings/java/*/target/*-"$version".jar "$1"/bindings/java/*/target/*-"$version"-sources.jar "$2"
    for module in "$1"/bindings/java/ratecell*; do
        cp "$module/pom.xml" "$2/$(basename "$module")-$version.pom"
    done
    cp "$1/bindings/java/pom.xml" "$2/ratecell-parent-$version.pom"
}
offline=""
read -ra arguments <<<"${MAVEN_ARGUMENTS:--Dmaven.test.skip=true}"
pack "$target/java/sources" "$work/first" "${arguments[@]}"
# All that Maven needs is here now.
offline=yes
pack "$work/elsewhere" "$work/second" -Dmaven.test.skip=true
expect_same "$work/first" "$work/second"
rm -f "$out"/*.jar "$out"/*.pom
cp "$work"/first/* "$out"
(cd "$out" && stat -c '%n: %s bytes' ./*-"$version".jar)

# The README's first program, where there is Java alone.
sed -n '/^```java$/,/^```$/p' "$here/README.md" | sed '1d; /^```$/,$d' >"$work/First.java"
jar="$out/ratecell-$version.jar"
(cd "$work" && javac -cp "$jar" -d "$work/classes" First.java)
java="$(command -v java)"
java="$(readlink -f "$java")"
env -i HOME="$work" PATH="$work/no-programs" "$BASH" -c \
    'if command -v cargo rustc cc; then echo "expected no compiler" >&2; exit 1; fi'
(cd "$work" && env -i HOME="$work" PATH="$work/no-programs" "$java" -cp "$jar:$work/classes" First) >"$work/printed"
sed -n '/^```text$/,/^```$/p' "$here/README.md" | sed '1d; /^```$/,$d' | diff - "$work/printed"
echo "the README's first program: as it says"
