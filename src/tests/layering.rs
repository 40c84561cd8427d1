//! The modules import in one direction only.

use std::path::{Path, PathBuf};

/// Each module may import from those before it. `sync` is the shim of the standard library's atomics.
const ORDER: [&str; 12] = [
    "sync",
    "clock",
    "error",
    "decision",
    "algorithm",
    "policy",
    "cell",
    "table",
    "region",
    "limiter",
    "headers",
    "ffi",
];

/// Every source file of the crate, with its text.
pub(super) fn sources() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("a source");
                sources.push((path, text));
            }
        }
    }
    sources
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The module of the crate's root that a source file belongs to.
pub(super) fn room(source: &Path) -> String {
    let inside = source.strip_prefix(root()).expect("a source of the crate");
    let first = inside.iter().next().expect("a name").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// A file without its comments.
pub(super) fn code(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules that a file names by `crate::`, braces included.
fn imports(text: &str) -> Vec<String> {
    let code = code(text);
    let names = code.split("crate::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or("").split(',').map(str::to_owned).collect(),
        None => vec![rest.to_owned()],
    });
    names
        .map(|name| name.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect())
        .filter(|name: &String| !name.is_empty())
        .collect()
}

#[test]
fn imports_go_one_way() {
    let place = |name: &str| ORDER.iter().position(|module| *module == name);
    let mut checked = 0;
    for (source, text) in sources() {
        let room = room(&source);
        let Some(own) = place(&room) else {
            assert!(["lib", "docs", "tests"].contains(&room.as_str()), "{room} has no place in the order");
            continue;
        };
        for import in imports(&text) {
            if import == "tests" {
                continue;
            }
            let imported = place(&import).unwrap_or_else(|| panic!("{}: crate::{import}?", source.display()));
            assert!(imported <= own, "{}: {room} must not import from {import}", source.display());
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} imports found: does the test still read them?");
}

#[test]
fn the_module_list_is_the_order() {
    let lib = include_str!("../lib.rs");
    let modules: Vec<_> = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(modules.iter().filter(|name| ORDER.contains(name)).copied().collect::<Vec<_>>(), ORDER);
}

#[test]
fn imports_are_read() {
    assert_eq!(
        imports("use crate::cell::Cell;\n// crate::table\nlet x = crate::{policy::P, clock};"),
        ["cell", "policy", "clock"]
    );
}
