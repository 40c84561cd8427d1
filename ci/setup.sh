#!/usr/bin/env bash
# Makes sure that everything the other scripts need is here, or says what is missing.
source "$(dirname "$0")/lib.sh"

missing=()
command -v cargo >/dev/null || missing+=("cargo (https://rustup.rs)")
command -v cc >/dev/null || missing+=("a C compiler (Debian: gcc)")
command -v git >/dev/null || missing+=("git (Debian: git)")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'missing: %s\n' "${missing[@]}" >&2
    exit 1
fi

# Part of rustup's default profile; a minimal one lacks them.
for component in rustfmt clippy; do
    if ! cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1; then
        rustup component add "$component"
    fi
done
cargo fetch --quiet
