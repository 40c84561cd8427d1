//! What a reader of the sources may rely on.

use super::layering::{code, room, sources};

/// Lines above an ordering among which its reason stands.
const REACH: usize = 6;

#[test]
fn every_ordering_has_its_reason() {
    let mut checked = 0;
    for (source, text) in sources() {
        if ["sync", "tests"].contains(&room(&source).as_str()) {
            continue;
        }
        let lines: Vec<_> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            for use_of in line.split("Ordering::").skip(1) {
                let ordering: String = use_of.chars().take_while(char::is_ascii_alphanumeric).collect();
                let above = lines[number.saturating_sub(REACH)..number].iter();
                let explained = above
                    .filter_map(|line| line.trim_start().strip_prefix("//"))
                    .any(|comment| comment.contains(ordering.as_str()));
                assert!(explained, "{}:{}: why {ordering}?", source.display(), number + 1);
                assert_ne!(ordering, "SeqCst", "no proof needs it, and loom would not check it");
                checked += 1;
            }
        }
    }
    assert!(checked >= 8, "only {checked} orderings found: does the test still read them?");
}

#[test]
fn unsafe_code_stands_where_memory_is_and_at_the_border_to_c() {
    for (source, text) in sources() {
        // And what is assembly, and the names of exports.
        let others = [
            "clock/counter.rs",
            "sync/pair/aarch64.rs",
            "sync/pair/x86_64.rs",
            "table/group/sse2.rs",
            "ratecell-playground/src/page.rs",
        ];
        let allowed =
            ["table/buckets.rs", "table/plain.rs"].iter().chain(&others).any(|file| source.ends_with(file))
                || ["memory", "ffi", "tests"].contains(&room(&source).as_str());
        let code = code(&text);
        let mut words = code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        assert!(allowed || !words.any(|word| word == "unsafe"), "{} has unsafe code", source.display());
    }
}

#[test]
fn the_readme_names_the_oldest_compiler() {
    let readme = include_str!("../../README.md");
    let oldest = env!("CARGO_PKG_RUST_VERSION");
    assert!(readme.contains(&format!("Rust {oldest} or later")), "README says otherwise than {oldest}");
}

/// What the header says of every function: what the models of the field agree a caller must know.
#[test]
fn every_c_function_has_its_contract() {
    let list = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/build.rs")).expect("build.rs");
    let labels = ["Returns", "rrors", "NULL", "hreads", "Since: "];
    let mut functions = 0;
    for (source, text) in sources() {
        let lines: Vec<_> = text.lines().collect();
        for (number, _) in
            lines.iter().enumerate().filter(|(_, line)| line.contains("extern \"C\" fn ratecell_"))
        {
            let above = lines[..number].iter().rev().skip_while(|line| line.starts_with("#["));
            let docs: Vec<_> = above.map_while(|line| line.strip_prefix("///")).collect();
            let ffi = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ffi");
            let module = source.strip_prefix(ffi).expect("in ffi").with_extension("");
            let listed = list.contains(&format!("\"{}\"", module.display()));
            assert!(listed, "{}: not among the sources of the header", source.display());
            for label in labels {
                let said = docs.iter().any(|line| line.contains(label));
                assert!(said, "{}:{}: nothing on {label}", source.display(), number + 1);
            }
            functions += 1;
        }
    }
    assert!(functions >= 28, "only {functions} functions found: does the test still read them?");
}
