# Shared by the scripts in this folder: they run at home as in CI, from any folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A cargo command whose warnings are errors. The flags would otherwise rebuild what users build without.
strict() {
    RUSTFLAGS="${RUSTFLAGS:-} -Dwarnings" "$@"
}

# The first value of this name in Cargo.toml.
manifest() {
    sed -n "0,/^$1 = \"\(.*\)\"\$/s//\1/p" Cargo.toml
}

# The crate's version, from Cargo.toml alone.
crate_version() {
    manifest version
}

# What the soname of a version ends in: before 1.0 each minor version may break, after it each major one.
so_version() {
    case "$1" in
    0.*) cut -d. -f1-2 <<<"$1" ;;
    *) cut -d. -f1 <<<"$1" ;;
    esac
}
