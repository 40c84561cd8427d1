//! The version stands in many files, and is the same in all of them.

use std::path::{Path, PathBuf};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files beside those of cargo, with what stands before the version. They may have one of the bindings not at all.
const PLACES: [(&str, &str); 13] = [
    ("include/ratecell.h", "#define RATECELL_VERSION_STRING \""),
    ("contrib/cmake/ratecell-config-version.cmake", "set(PACKAGE_VERSION \""),
    ("contrib/vcpkg/vcpkg.json", "\"version\": \""),
    ("bindings/go/README.md", "version v"),
    ("bindings/go/README.md", "bindings/go@v"),
    ("bindings/node/package.json", "  \"version\": \""),
    ("bindings/java/pom.xml", "\n  <version>"),
    ("bindings/java/ratecell/pom.xml", "\n    <version>"),
    ("bindings/java/ratecell-servlet/pom.xml", "\n    <version>"),
    ("bindings/java/ratecell-spring-boot-starter/pom.xml", "\n    <version>"),
    (".github/ISSUE_TEMPLATE/fault.yml", "placeholder: ratecell "),
    (".github/ISSUE_TEMPLATE/wrong_decision.yml", "placeholder: ratecell "),
    ("README.md", "ratecell = \""),
];

/// The files that name the version without its last number.
const MINORS: [(&str, &str); 4] = [
    ("docs/C-API.md", "find_package(ratecell "),
    ("ffi-tests/user/CMakeLists.txt", "find_package(ratecell "),
    ("bindings/go/library.h", "than this Go module needs, "),
    ("bindings/go/library.h", "bindings/go/v"),
];

/// The versions that stand behind each occurrence of a text.
fn behind<'t>(text: &'t str, before: &'t str) -> impl Iterator<Item = &'t str> {
    let digits = |rest: &'t str| rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next();
    text.split(before)
        .skip(1)
        .filter_map(digits)
        .map(|version| version.trim_end_matches('.'))
        .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}

/// The manifests and the locks of cargo's below a folder.
fn cargo_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name();
        let is_other = name == "target" || name == "node_modules" || name.to_string_lossy().starts_with('.');
        if entry.file_type().expect("a type").is_dir() {
            if !is_other {
                cargo_files(&entry.path(), found);
            }
        } else if name == "Cargo.toml" || name == "Cargo.lock" {
            found.push(entry.path());
        }
    }
}

/// The versions of the project's own crates in a manifest or a lock.
fn own_versions(text: &str) -> Vec<&str> {
    let mut versions = Vec::new();
    // In a lock they are those without a source, in a manifest those with a path.
    for package in text.split("[[package]]\n").skip(1) {
        if package.starts_with("name = \"ratecell") && !package.contains("\nsource = ") {
            // What is passed to nobody has none.
            versions.extend(behind(package, "\nversion = \"").take(1).filter(|version| *version != "0.0.0"));
        }
    }
    for line in text.lines().filter(|line| line.starts_with("ratecell") && line.contains("path = \"")) {
        versions.extend(behind(line, "version = \""));
    }
    versions
}

#[test]
fn every_file_says_the_same_version() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut wrong, mut right) = (Vec::new(), 0);
    let mut compare = |file: &Path, found: &str, expected: &str| {
        if found == expected {
            right += 1;
        } else {
            wrong.push(format!("{} says {found}", file.display()));
        }
    };
    let minor = VERSION.rsplit_once('.').expect("three numbers").0;
    for (places, expected) in [(&PLACES[..], VERSION), (&MINORS[..], minor)] {
        for (file, before) in places {
            let file = workspace.join(file);
            let Ok(text) = std::fs::read_to_string(&file) else { continue };
            behind(&text, before).for_each(|found| compare(&file, found, expected));
        }
    }
    let mut files = Vec::new();
    cargo_files(workspace, &mut files);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a text");
        own_versions(&text).into_iter().for_each(|found| compare(&file, found, VERSION));
        // Of a package beside the workspace that is passed on.
        if file.strip_prefix(workspace.join("bindings")).is_ok() && file.ends_with("Cargo.toml") {
            behind(&text, "\nversion = \"").for_each(|found| compare(&file, found, VERSION));
        }
    }
    assert!(wrong.is_empty(), "expected {VERSION} everywhere:\n{}", wrong.join("\n"));
    assert!(right > 60, "only {right} found: does the test still read them?");
}
