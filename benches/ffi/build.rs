//! Links `libratecell.a` as a C program would.

use std::path::Path;

fn main() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/capi-dist");
    let archive = built.join("libratecell.a");
    assert!(archive.exists(), "{} is missing: expected ci/capi.sh to have built it", archive.display());
    println!("cargo::rerun-if-changed={}", archive.display());
    println!("cargo::rustc-link-search=native={}", built.display());
    println!("cargo::rustc-link-lib=static=ratecell");
    println!("cargo::rustc-env=SHARED_LIBRARY={}", built.join("libratecell.so").display());
}
