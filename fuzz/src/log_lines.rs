//! The lines of an access log: every way to read them gives a record or says what is missing.

use std::sync::{LazyLock, Mutex};

use ratecell_cli::replay::{ClfClock, KeySource, LogField, Record, RecordParser, TimeSource};

const KEYS: [&str; 10] = [
    "ip",
    "user",
    "method",
    "path",
    "agent",
    "host",
    "field:1",
    "field:4",
    "regex:[a-z]+",
    "regex:id=([0-9]*)",
];

/// Without these a line is no record.
const NEVER_EMPTY: [LogField; 3] = [LogField::Ip, LogField::User, LogField::Method];

/// Where a time is and how it is written.
const TIMES: [(&str, &str); 7] = [
    ("field:1", "rfc3339"),
    ("field:1", "unix"),
    ("field:1", "unix_ms"),
    ("field:1", "unix_ns"),
    ("field:4", "%d/%b/%Y:%H:%M:%S %z"),
    ("regex:[0-9].*", "%Y-%m-%d %H:%M:%S"),
    ("regex:@([0-9]+)", "%s"),
];

/// Every key with the time of an access log, and every time with one key of either kind; compiled once. The
/// second of two does not remember the lines before.
static PARSERS: LazyLock<Mutex<Vec<[RecordParser; 2]>>> = LazyLock::new(|| {
    let clf = || TimeSource::AccessLog(ClfClock::default());
    let keyed = KEYS.iter().map(|key| (*key, clf()));
    let timed = TIMES.iter().flat_map(|(place, format)| {
        let place = place.parse().expect("a place for a time");
        let time = TimeSource::Selected(place, format.parse().expect("a format of times"));
        ["ip", "field:2"].map(|key| (key, time.clone()))
    });
    let parser = |(key, time): (&str, TimeSource)| {
        let parser = RecordParser { key: key.parse().expect("a place for a key"), time };
        [parser.clone(), parser]
    };
    Mutex::new(keyed.chain(timed).map(parser).collect())
});

pub fn run(text: &[u8]) {
    for [parser, other] in &mut *PARSERS.lock().expect("a crash ends the process") {
        forget(parser);
        for line in text.split(|byte| *byte == b'\n') {
            forget(other);
            check(line, parser, other);
        }
    }
}

/// Forgets the minute of the last line.
fn forget(parser: &mut RecordParser) {
    if let TimeSource::AccessLog(clock) = &mut parser.time {
        *clock = ClfClock::default();
    }
}

fn check(line: &[u8], parser: &mut RecordParser, forgetful: &mut RecordParser) {
    let told = |record: Record<'_>| (record.key.to_owned(), record.time);
    let shown = line.escape_ascii();
    let parsed = parser.parse(line);
    assert_eq!(
        parsed.map(told),
        forgetful.parse(line).map(told),
        "{shown}: expected the same as without the lines before, by {parser:?}"
    );
    let Ok(Record { key, time }) = parsed else { return };
    assert!(
        line.as_ptr_range().contains(&key.as_ptr()) || key.is_empty(),
        "{shown}: expected a key of the line"
    );
    if let KeySource::AccessLog(field) = parser.key {
        assert!(
            !key.is_empty() || !NEVER_EMPTY.contains(&field),
            "{shown}: expected a key, {field:?} is empty"
        );
    }
    assert_eq!(time.to_string().parse().ok(), Some(time), "{shown}: expected a time that RFC 3339 can tell");
}
