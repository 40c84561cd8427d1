//! What the entries of a descriptor are called in rules.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

/// The attribute that has the domain of the request.
pub(crate) const DOMAIN: &str = "domain";
/// The attribute that has the keys of a descriptor, in order.
pub(crate) const ENTRIES: &str = "entries";
/// The attribute that has the hits of a descriptor, where the request says how many.
pub(crate) const HITS: &str = "hits_addend";
/// What an entry is called by its number.
const NUMBERED: &str = "entry.";
/// The longest name of an attribute, and of a rule.
const MAX_NAME: usize = 64;

/// The names of the attributes that have the values of these entries, in order. An entry is called by its key, if that is a
/// name that is free, and otherwise by its number from 1.
pub(crate) fn attributes<'k>(keys: &[&'k str]) -> Vec<Cow<'k, str>> {
    let name = |(number, key): (usize, &&'k str)| {
        if is_free(key) && !keys[..number].contains(key) {
            Cow::Borrowed(*key)
        } else {
            Cow::Owned(format!("{NUMBERED}{}", number + 1))
        }
    };
    keys.iter().enumerate().map(name).collect()
}

/// The index of the entry that is called so, if it is called by its number.
#[cfg(feature = "server")]
pub(crate) fn number(name: &str) -> Option<usize> {
    let number = name.strip_prefix(NUMBERED)?;
    // What is no number, or 0, is the name of no entry.
    Some(number.parse().ok().and_then(|number: usize| number.checked_sub(1)).unwrap_or(usize::MAX))
}

/// Whether a file of rules can declare it as an attribute, and nothing else is called so.
fn is_free(key: &str) -> bool {
    let is_name = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.len() <= MAX_NAME
        && key.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    let is_built_in = ["method", "path", "host", "client"].iter().any(|name| key.eq_ignore_ascii_case(name));
    is_name && !is_built_in && ![DOMAIN, ENTRIES, HITS].contains(&key) && !key.starts_with(NUMBERED)
}

/// The keys of a descriptor as one value, `/` between them. Of two lists of keys no value is the same, and none has a `*`.
pub(crate) fn entries<'k>(keys: impl IntoIterator<Item = &'k str>) -> String {
    let mut text = String::new();
    for (number, key) in keys.into_iter().enumerate() {
        if number > 0 {
            text.push('/');
        }
        for byte in key.bytes() {
            match byte {
                b'%' | b'/' | b'*' | ..=0x20 | 0x7f.. => {
                    // Into a string nothing fails.
                    let _ = write!(text, "%{byte:02X}");
                }
                _ => text.push(char::from(byte)),
            }
        }
    }
    text
}

/// The names of rules, each given once.
#[derive(Debug, Default)]
pub(crate) struct RuleNames(HashSet<String>);

impl RuleNames {
    /// A name of a rule that looks like `text`. It is the same in another file, unless the names of two rules begin alike and
    /// have the same digest.
    pub(crate) fn name(&mut self, text: &str) -> String {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
        let begins = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if begins && text.len() <= MAX_NAME && text.chars().all(is_plain) && self.0.insert(text.to_owned()) {
            return text.to_owned();
        }
        let plain = text.chars().map(|c| c.to_ascii_lowercase()).map(|c| if is_plain(c) { c } else { '-' });
        let mut stem: String = plain.skip_while(|c| !c.is_ascii_alphanumeric()).take(MAX_NAME - 12).collect();
        if stem.is_empty() {
            stem.push('r');
        }
        let mut digest = digest(text.as_bytes());
        loop {
            let name = format!("{stem}-{digest:08x}");
            if self.0.insert(name.clone()) {
                return name;
            }
            digest = digest.wrapping_add(1);
        }
    }
}

/// FNV-1a: it tells names apart that look alike, and defends against nobody.
fn digest(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |digest, byte| (digest ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_called_by_their_keys_where_these_are_free() {
        let long = "k".repeat(65);
        let keys =
            ["user", "PATH", "user", "entry.9", "domain", ":path", "x-y.z", &long, "client", "_a", "entries"];
        let names = attributes(&keys);
        let expected = [
            "user", "entry.2", "entry.3", "entry.4", "entry.5", "entry.6", "x-y.z", "entry.8", "entry.9",
            "_a", "entry.11",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn no_two_lists_of_keys_are_one_value() {
        assert_eq!(entries(["a", "b c", "x/y", "50%*"]), "a/b%20c/x%2Fy/50%25%2A");
        assert_ne!(entries(["a", "b"]), entries(["a/b"]));
        assert_ne!(entries(["a", ""]), entries(["a"]));
    }

    #[test]
    fn names_of_rules_are_names_and_each_is_given_once() {
        let mut names = RuleNames::default();
        assert_eq!(names.name("rl.foo_a.bar"), "rl.foo_a.bar");
        let again = names.name("rl.foo_a.bar");
        assert!(again.starts_with("rl.foo_a.bar-") && again.len() == 21, "{again}");
        let capitals = names.name("Rl.PATH_/x");
        assert!(capitals.starts_with("rl.path_-x-"), "{capitals}");
        assert_eq!(capitals, RuleNames::default().name("Rl.PATH_/x"));
        let long = names.name(&"x/".repeat(100));
        assert!(long.len() <= MAX_NAME, "{long}");
        assert!(names.name("é").starts_with("r-"));
    }
}
