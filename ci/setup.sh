#!/usr/bin/env bash
# Makes sure that everything the other scripts need is here: installs it, or says what is missing.
#
#   ci/setup.sh            what building needs
#   ci/setup.sh --tools    and what testing needs
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
[ "${1:-}" = --tools ] || exit 0

# What only the tests need: a linter of shell scripts, C++, CMake and valgrind, abidiff, a JSON reader for the vectors, what
# makes and checks Debian's packages, nginx,
# Prometheus' tool, Redis, Python, Node, a browser, and a linker and an interpreter of aarch64.
packages=()
needs() {
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep 'install ok installed' >/dev/null || packages+=("$1")
}
for package in shellcheck g++ binutils make cmake pkg-config valgrind libc6-dbg abigail-tools libjson-c-dev \
    dpkg-dev debhelper help2man lintian man-db \
    nginx nginx-dev redis-server openssl tzdata util-linux-extra python3 python3-pip python3-venv chromium \
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user; do needs "$package"; done
# Prometheus for its promtool alone, without the exporter that it recommends.
command -v promtool >/dev/null || packages+=(prometheus prometheus-node-exporter-)
# Any Go since Debian's, and any Node.
command -v go >/dev/null || needs golang
command -v node >/dev/null || needs nodejs
command -v npm >/dev/null || needs npm
# Any Java since Debian's.
command -v javac >/dev/null || needs default-jdk-headless
command -v mvn >/dev/null || needs maven
if [ ${#packages[@]} -gt 0 ]; then
    root=()
    [ "$EUID" -eq 0 ] || root=(sudo)
    # The run level keeps Debian from starting what it installs. Another that is installing is waited for.
    apt=("${root[@]}" env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    if ! { "${apt[@]}" update && "${apt[@]}" install -y "${packages[@]}" >/dev/null; }; then
        echo "missing: Debian's ${packages[*]}" >&2
        exit 1
    fi
fi
# The oldest compiler that is promised.
oldest="$(manifest rust-version)"
toolchains="$(rustup toolchain list)"
grep -q "^$oldest-" <<<"$toolchains" || rustup toolchain install "$oldest" --profile minimal
read -ra targets <<<"$SYSTEMS $WASM"
rustup --quiet target add "${targets[@]}"
# For the sanitizers and the fuzzer, which are the nightly compiler's alone.
cargo +nightly --version >/dev/null 2>&1 || rustup toolchain install nightly --profile minimal
cargo +nightly miri --version >/dev/null 2>&1 || rustup component add miri --toolchain nightly
# Rust's own library, to be instrumented with ours.
sysroot="$(rustc +nightly --print sysroot)"
[ -d "$sysroot/lib/rustlib/src" ] || rustup component add rust-src --toolchain nightly
command -v cargo-fuzz >/dev/null || cargo install --quiet --locked --debug cargo-fuzz --version 0.13.2
command -v cargo-deny >/dev/null || cargo install --quiet --locked --debug --no-default-features cargo-deny --version 0.20.2
# The newest that this project's compilers build.
command -v cargo-cinstall >/dev/null || cargo install --quiet --locked --debug cargo-c --version 0.10.24+cargo-0.98.0
