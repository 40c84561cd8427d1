//! Builds nothing for who uses the crate. With the feature `regen-header`, for maintainers, it generates
//! the C header from `src/ffi` and fails if `include/ratecell.h` is another; it never writes there.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "regen-header")]
    header::compare();
}

#[cfg(feature = "regen-header")]
mod header {
    use std::path::PathBuf;
    use std::{env, fs};

    const COMMITTED: &str = "include/ratecell.h";
    /// In the order in which they are to be read in the header.
    const SOURCES: [&str; 22] = [
        "version",
        "status",
        "flags",
        "config",
        "request",
        "decision",
        "limiter",
        "check",
        "reservation",
        "batch",
        "joint",
        "change",
        "zone",
        "regions",
        "stats",
        "policy",
        "fields",
        "clients",
        "rules/request",
        "rules",
        "rules/held",
        "waiting",
    ];

    pub(crate) fn compare() {
        for input in ["src/ffi.rs", "src/ffi", "cbindgen.toml", COMMITTED] {
            println!("cargo::rerun-if-changed={input}");
        }
        let generated = PathBuf::from(var("OUT_DIR")).join("ratecell.h");
        let mut config = cbindgen::Config::from_file("cbindgen.toml").expect("cbindgen.toml is right");
        config.header = Some(preamble());
        config.after_includes =
            Some(format!("{}\n{}", versions(), config.after_includes.unwrap_or_default()));
        let sources = SOURCES.iter().map(|name| format!("src/ffi/{name}.rs"));
        let builder = sources.fold(cbindgen::Builder::new().with_config(config), cbindgen::Builder::with_src);
        builder.generate().expect("cbindgen reads src/ffi").write_to_file(&generated);
        println!("cargo::metadata=header={}", generated.display());
        let [fresh, committed] = [generated.as_path(), COMMITTED.as_ref()].map(fs::read_to_string);
        assert!(
            fresh.expect("just written") == committed.unwrap_or_default(),
            "{COMMITTED} is not what src/ffi says, which is {}; `ci/header.sh --bless` accepts it",
            generated.display(),
        );
    }

    fn var(name: &str) -> String {
        env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
    }

    /// The documentation of `src/ffi.rs`: what holds for every function.
    fn preamble() -> String {
        let source = fs::read_to_string("src/ffi.rs").expect("src/ffi.rs is there");
        let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
        let text: String = lines.map(|line| format!(" *{line}\n")).collect();
        let licence = " *\n * Generated from src/ffi; MIT or Apache-2.0.\n";
        format!("/* ratecell.h\n *\n{text}{licence} */")
    }

    /// From Cargo.toml, as `src/ffi/version.rs` has them.
    fn versions() -> String {
        let parts = ["MAJOR", "MINOR", "PATCH"].map(|part| (part, var(&format!("CARGO_PKG_VERSION_{part}"))));
        let numbers = parts.map(|(part, number)| format!("#define RATECELL_VERSION_{part} {number}\n"));
        format!(
            "{}#define RATECELL_VERSION_NUMBER \\\n  (RATECELL_VERSION_MAJOR * 1000000 + RATECELL_VERSION_MINOR \
             * 1000 + RATECELL_VERSION_PATCH)\n#define RATECELL_VERSION_STRING \"{}\"\n",
            numbers.concat(),
            var("CARGO_PKG_VERSION"),
        )
    }
}
