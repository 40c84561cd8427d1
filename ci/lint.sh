#!/usr/bin/env bash
# Format, lints, licenses and documentation, without a warning: the workspace, and the crates beside it.
source "$(dirname "$0")/lib.sh"

deny="$(deny_warnings)"
if [ -z "$deny" ]; then
    rustc --version
    echo "the warnings of this compiler are told, and are no errors"
fi
# No step of a script or of a recipe may fail unseen: .shellcheckrc names the checks that see to it.
shellcheck ci/*.sh benches/*.sh ffi-tests/*.sh proofs/*.sh .ci/run
cargo fmt --all --check
# The terms of what is linked, and where it is from: deny.toml.
for manifest in Cargo.toml bindings/*/Cargo.toml bindings/*/native/Cargo.toml; do
    if [ ! -e "$manifest" ]; then continue; fi
    cargo deny --locked --manifest-path "$manifest" --workspace --config deny.toml check licenses bans sources
done
crates=(benches/compare benches/ffi benches/instructions benches/store bindings/java/native bindings/node bindings/python
    fuzz proofs/seam)
for crate in "${crates[@]}"; do cargo fmt --manifest-path "$crate/Cargo.toml" --check; done
# Two of the benches link the C library.
ci/capi.sh target/capi-dist
# A folder of its own: nobody's build is waited for.
export CARGO_TARGET_DIR="$target/lint"
# As it is without a feature: in the workspace other crates ask for some.
cargo clippy -p ratecell --all-targets --quiet -- ${deny:+"$deny"}
cargo clippy --workspace --all-targets --features ratecell/async,ratecell/capi,ratecell/store,ratecell/metrics,ratecell/mock-clock,ratecell/tracing,ratecell/system-zones --quiet -- ${deny:+"$deny"}
# What these depend on is, for the most part, checked with the workspace.
for crate in "${crates[@]}"; do
    everywhere="" here=() targets=--all-targets
    case "$crate" in
    fuzz) here=(--cfg 'getrandom_backend="custom"') ;;
    # Under a test, napi exports nothing.
    bindings/node) targets=--lib ;;
    # Without the core's flag there is nothing in it. The tests in a file of the core that it names are the core's.
    proofs/seam) everywhere='--cfg ratecell_proofs' targets=--lib ;;
    esac
    RUSTFLAGS="$everywhere" cargo clippy --manifest-path "$crate/Cargo.toml" "$targets" --quiet -- ${deny:+"$deny"} "${here[@]}"
done
RUSTDOCFLAGS="$deny" cargo doc --workspace --no-deps --features ratecell/async,ratecell/capi,ratecell/store,ratecell/metrics,ratecell/mock-clock,ratecell/tracing --quiet
