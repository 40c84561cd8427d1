//! Each snippet of `docs/RULES.md` is a file, or the rules of one.

use std::fs;
use std::path::Path;

use ratecell_rules::Rules;

#[test]
fn each_snippet_is_accepted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/RULES.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut count = 0;
    for snippet in page.split("```toml\n").skip(1) {
        let (snippet, _) = snippet.split_once("```").expect("a snippet ends");
        let text = if snippet.contains("ratecell_rules") {
            snippet.to_owned()
        } else {
            format!("ratecell_rules = 1\nattributes = ['user', 'tier', 'bytes']\n{snippet}")
        };
        Rules::parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        count += 1;
    }
    assert!(count >= 5, "expected the snippets of {}, found {count}", path.display());
}
