//! Files of envoyproxy/ratelimit: an error is on a line of the text, and what is imported is a file of rules.

use ratecell_envoy::Import;
use ratecell_rules::Rules;

/// Imports the text.
pub fn run(text: &str) {
    // Larger ones are slow, and nothing else.
    if text.len() > 4096 {
        return;
    }
    let mut import = Import::new().ignoring_replaces();
    match import.add(text) {
        Ok(()) => {
            let rules = import.finish();
            if let Err(error) = Rules::parse(&rules) {
                panic!("{error}\n{rules}");
            }
        }
        // At its end a text has one line more than it has ends of lines, by any of the three that YAML knows.
        Err(error) => {
            let lines = text.split(['\n', '\r']).count();
            assert!((1..=lines + 1).contains(&error.line), "{error}: {lines} lines");
            assert!(!error.message.is_empty());
        }
    }
}
