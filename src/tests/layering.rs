//! The modules import in one direction only.

use std::path::{Path, PathBuf};

/// A crate's modules: each may import from those before it.
struct House {
    /// From the workspace's folder.
    sources: &'static str,
    order: &'static [&'static str],
    /// The least number of imports that must be found, or the test reads them no more.
    imports: usize,
}

/// `sync` is the shim of the standard library's atomics.
const HOUSES: [House; 9] = [
    House {
        sources: "crates/ratecell-core/src",
        order: &[
            "error",
            "decision",
            "zone",
            "request",
            "algorithm",
            "policy",
            "structured",
            "client_key",
            "waiting",
            "fields",
        ],
        imports: 15,
    },
    House {
        sources: "crates/ratecell-serve/src",
        order: &["error", "resp", "limits", "commands", "server"],
        imports: 15,
    },
    House {
        sources: "crates/ratecell-envoy/src",
        order: &[
            "error",
            "names",
            "proto",
            "yaml",
            "config",
            "import",
            "descriptor",
            "counts",
            "service",
            "server",
        ],
        imports: 10,
    },
    House {
        sources: "crates/ratecell-study/src",
        order: &["error", "scale", "wish", "recording", "profile", "policy", "replay", "search", "study"],
        imports: 15,
    },
    House {
        sources: "crates/ratecell-http/src",
        order: &[
            "key", "head", "error", "refusal", "fields", "used", "held", "told", "limits", "rules", "decider",
        ],
        imports: 10,
    },
    House {
        sources: "crates/ratecell-tower/src",
        order: &["head", "limit", "fields", "body", "response", "shared", "future", "service", "layer"],
        imports: 10,
    },
    House {
        sources: "crates/ratecell-actix/src",
        order: &["head", "limit", "fields", "body", "shared", "service", "middleware"],
        imports: 10,
    },
    House {
        sources: "src",
        order: &[
            "sync", "clock", "memory", "error", "cell", "table", "board", "names", "region", "limiter",
            "metrics", "rules", "ffi",
        ],
        imports: 20,
    },
    House {
        sources: "crates/ratecell-playground/src",
        order: &["state", "permits", "lane", "deck", "log", "page"],
        imports: 6,
    },
];

/// Every source file of these crates, with its text.
pub(super) fn sources() -> Vec<(PathBuf, String)> {
    HOUSES.iter().flat_map(|house| sources_in(house.sources)).collect()
}

fn sources_in(folder: &str) -> Vec<(PathBuf, String)> {
    let mut folders = vec![workspace().join(folder)];
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

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The module of its crate's root that a source file belongs to.
pub(super) fn room(source: &Path) -> String {
    let inside = HOUSES.iter().find_map(|house| source.strip_prefix(workspace().join(house.sources)).ok());
    let inside = inside.expect("a source of one of the crates");
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
    for House { sources, order, imports: least } in HOUSES {
        let place = |name: &str| order.iter().position(|module| *module == name);
        let mut checked = 0;
        for (source, text) in sources_in(sources) {
            let room = room(&source);
            let Some(own) = place(&room) else {
                assert!(
                    ["lib", "docs", "tests"].contains(&room.as_str()),
                    "{room} has no place in the order"
                );
                continue;
            };
            for import in imports(&text).into_iter().filter(|import| import != "tests") {
                let imported = place(&import);
                let imported = imported.unwrap_or_else(|| panic!("{}: crate::{import}?", source.display()));
                assert!(imported <= own, "{}: {room} must not import from {import}", source.display());
                checked += 1;
            }
        }
        assert!(checked >= least, "{sources}: only {checked} imports found: does the test still read them?");
    }
}

#[test]
fn the_module_list_is_the_order() {
    for House { sources, order, .. } in HOUSES {
        let lib = std::fs::read_to_string(workspace().join(sources).join("lib.rs")).expect("lib.rs");
        let modules: Vec<_> = lib
            .lines()
            .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
            .collect();
        let listed: Vec<_> = modules.into_iter().filter(|name| order.contains(name)).collect();
        assert_eq!(listed, order, "{sources}");
    }
}

#[test]
fn imports_are_read() {
    assert_eq!(
        imports("use crate::cell::Cell;\n// crate::table\nlet x = crate::{policy::P, clock};"),
        ["cell", "policy", "clock"]
    );
}
