#!/usr/bin/env bash
# All that a release gives to users, in one folder, with sums, bills of materials and what is new.
#
#   ci/release.sh OUT            for this machine
#   ci/release.sh OUT PART...    only these: python node java go deb c crates bills
#
# With DEPTH=long also for glibc 2.17 and musl, on x86-64 and aarch64, and each crate is built from its package alone. OUT
# gets a folder for each part, NEWS.md, and SHA256SUMS of all. The sources must be those of a commit.
source "$(dirname "$0")/lib.sh"
# shellcheck source=reproducible.sh
source ci/reproducible.sh

parts=(python node java go deb c crates bills)
[ $# -ge 1 ] || usage
out="$1"
chosen=("${@:2}")
if [ ${#chosen[@]} -eq 0 ]; then chosen=("${parts[@]}"); fi
for part in "${chosen[@]}"; do
    case " ${parts[*]} " in *" $part "*) ;; *) usage ;; esac
done
if [ -d "$out" ]; then
    there="$(ls -A "$out")"
    [ -z "$there" ] || { echo "$out: expected an empty folder, or none" >&2; exit 1; }
fi
mkdir -p "$out"
out="$(cd "$out" && pwd)"
changed="$(git status --porcelain)"
[ -z "$changed" ] || { printf 'expected the sources of a commit; these are others:\n%s\n' "$changed" >&2; exit 1; }
version="$(crate_version)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# The packages of the script $1, in the folder $2; those by zig are for more machines than this one's.
packages() {
    "ci/$1.sh" "$out/$2"
    if [ -d "$out/$2/zig" ]; then
        find "$out/$2" -maxdepth 1 -type f -delete
        mv "$out/$2"/zig/* "$out/$2"
        rmdir "$out/$2/zig"
    fi
}

python_part() {
    packages wheels python
}

node_part() {
    packages npm node
}

java_part() {
    packages jars java
}

go_part() {
    packages archives go
}

deb_part() {
    ci/deb.sh "$out/deb"
}

# What `make install` installs below a prefix, of which pkg-config and CMake find the place.
c_part() {
    local name machine
    machine="$(host)"
    name="ratecell-$version-$machine"
    # The compiler's own folders are the same wherever it builds.
    at_one_place "$PWD" . env BUILT="$target/release-c/dist" CARGO_TARGET_DIR="$target/release-c" DESTDIR="$work/c" PREFIX="/$name" ci/install.sh
    install -m 644 LICENSE-APACHE LICENSE-MIT "$work/c/$name"
    # Wherever it is put.
    sed -i 's|^prefix=.*|prefix=${pcfiledir}/../..|' "$work/c/$name/lib/pkgconfig/ratecell.pc"
    expect_no_folder "$name" "$work/c"
    mkdir -p "$out/c"
    archive "$out/c/$name.tar.gz" "$work/c"
}

# The crates that are published.
published() {
    cargo metadata --format-version 1 --no-deps --locked | python3 -c '
import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] is None:
        print(package["name"])'
}

crates_part() {
    local names name verify=(--no-verify) these=()
    if [ "$DEPTH" = long ]; then verify=(); fi
    names="$(published)"
    for name in $names; do these+=(--package "$name"); done
    cargo package --quiet --locked --target-dir "$target/release-crates" "${verify[@]}" "${these[@]}"
    mkdir -p "$out/crates"
    for name in $names; do cp "$target/release-crates/package/$name-$version.crate" "$out/crates"; done
}

# A bill of materials in CycloneDX's JSON: what is linked on this machine into the crate in the folder $1 of the sources; the
# others are cargo's arguments.
bill() {
    local file member=""
    case "$1" in crates/*) member="\"$1\"" ;; esac
    # Alone in its workspace, whose other crates ask for features that it does not.
    cp Cargo.lock "$work/sources"
    sed -i "s|^members = .*|members = [$member]|" "$work/sources/Cargo.toml"
    at_one_place "$work/sources" "$1" cargo cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps "${@:3}"
    file="$(find "$work/sources/$1" -maxdepth 1 -name '*.cdx.json')"
    mv "$file" "$out/bills/$2.cdx.json"
    find "$work/sources" -name '*.cdx.json' -delete
}

bills_part() {
    local tools="$target/release-tools"
    # A release alone needs it.
    [ -x "$tools/bin/cargo-cyclonedx" ] ||
        cargo install --quiet --locked --debug --root "$tools" cargo-cyclonedx --version 0.5.9
    export PATH="$tools/bin:$PATH"
    mkdir -p "$out/bills"
    copy_sources "$work/sources"
    bill crates/ratecell-cli ratecell --no-default-features
    bill . libratecell --features capi
    bill bindings/python python
    if [ -d bindings/node ]; then bill bindings/node node; fi
    if [ -d bindings/java/native ]; then bill bindings/java/native java; fi
}

# The section of this version, and before it has one that of what is unreleased.
news() {
    local heading="## $version"
    if ! grep -q "^## \[\?$version\b" CHANGELOG.md; then
        heading="## Unreleased"
        echo "CHANGELOG.md has no section \`## $version\`: NEWS.md is what is unreleased"
    fi
    if grep -q "^## \[\?$version\b.*unreleased" CHANGELOG.md; then
        echo "CHANGELOG.md says that $version is unreleased, and so does NEWS.md: a release has a date there"
    fi
    awk -v heading="$heading" '
        /^## / { inside = index($0, heading) == 1 || index($0, "## [" substr(heading, 4)) == 1 }
        inside { print; lines++ }
        END { exit lines < 2 }' CHANGELOG.md >"$out/NEWS.md" || { echo "CHANGELOG.md: expected text under $heading" >&2; exit 1; }
}

# What takes no time first: the rest takes an hour.
news
for part in "${chosen[@]}"; do
    echo "-- $part"
    "${part}_part"
done
cd "$out"
find . -type f -printf '%P\n' | sort | xargs sha256sum >"$work/sums"
mv "$work/sums" SHA256SUMS
cat SHA256SUMS
