//! Reads files of vectors, and counts what each row says.

use serde_json::Value;

/// What came of one line of a file.
pub(crate) enum Row {
    /// It starts a section: nothing is compared.
    Section,
    /// What was computed, as the file writes it, and what the file has.
    Compared { computed: Value, expected: Value },
}

/// What was counted.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failures: Vec<String>,
}

/// Runs every line behind the first through `row`.
pub(crate) fn replay(text: &str, kind: &str, mut row: impl FnMut(&Value) -> Row) -> Tally {
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect(line));
    let header = lines.next().expect("a header");
    assert_eq!((number(&header["ratecell_vectors"]), string(&header["kind"])), (3, kind));
    let mut tally = Tally { passed: 0, failures: Vec::new() };
    for (line, at) in lines.zip(2..) {
        match row(&line) {
            Row::Section => {}
            Row::Compared { computed, expected } if computed == expected => tally.passed += 1,
            Row::Compared { computed, .. } => {
                tally.failures.push(format!("{at}: {line}: computed {computed}"));
            }
        }
    }
    tally
}

/// A whole file: `rows` rows, of which none fails.
pub(crate) fn replay_file(name: &str, text: &str, kind: &str, rows: usize, row: impl FnMut(&Value) -> Row) {
    let Tally { passed, failures } = replay(text, kind, row);
    println!("{name}: {passed} passed, {} failed", failures.len());
    assert!(failures.is_empty(), "{name}:{}", failures[..failures.len().min(20)].join("\n"));
    assert_eq!(passed, rows, "{name}: rows");
}

/// A file with one of its figures changed fails in one row, and in no other.
pub(crate) fn assert_spoiled(
    text: &str,
    kind: &str,
    figures: &[(&str, &str)],
    row: impl Fn() -> Box<dyn FnMut(&Value) -> Row>,
) {
    for (figure, changed) in figures {
        let spoiled = text.replacen(figure, changed, 1);
        assert_ne!(spoiled, text, "no {figure}");
        let tally = replay(&spoiled, kind, row());
        assert_eq!(tally.failures.len(), 1, "{figure} as {changed}: {tally:?}");
    }
}

/// A whole number, of all its digits: one that no u64 holds, and one with a point, is refused.
pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}: expected a u64"))
}

/// A whole number, or `null`.
pub(crate) fn optional(value: &Value) -> Option<u64> {
    (!value.is_null()).then(|| number(value))
}

pub(crate) fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}: expected a string"))
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value}: expected an array"))
}
