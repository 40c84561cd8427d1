//! The requests of an access log.

use std::collections::HashMap;
use std::io::Cursor;

use ratecell_logs::{
    ClientText, Group, Line, Lines, Options, Reader, SAMPLE_LINES, Selector, Spread, counts_for_sample,
    recognise,
};
use serde::Serialize;

/// Requests that are kept at most, the first ones of the log.
const MOST_REQUESTS: usize = 200_000;

/// A request of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// In nanoseconds since 1970.
    pub time_ns: u64,
    /// The number of its client, in the order of their first lines.
    pub client: u32,
}

/// The requests of a log, in the order of time.
#[derive(Clone, Debug, Serialize)]
pub struct Requests {
    /// The format that was recognised.
    pub format: String,
    /// The clients by their numbers, as the keys that ratecell gives them.
    pub clients: Vec<String>,
    /// Lines that are no request of a client.
    pub others: u64,
    /// Whether the log has more requests than are kept.
    pub is_cut: bool,
    #[serde(skip)]
    /// What is decided.
    pub requests: Vec<Logged>,
}

/// Reads the bytes of a log, which may be packed by gzip.
///
/// # Errors
/// In one sentence: it is damaged, of no known format, or without a request.
pub fn read(bytes: Vec<u8>) -> Result<Requests, String> {
    let mut lines = Lines::new(Cursor::new(bytes)).map_err(|error| format!("the file {error}"))?;
    let sample = lines.sample(SAMPLE_LINES, counts_for_sample);
    let sample = sample.map_err(|error| format!("the file cannot be read: {error}"))?;
    let recognised = recognise(&sample);
    let Some(format) = recognised.accepted() else {
        return Err(
            "no format reads these lines: expected an access log, such as nginx, Apache, Caddy, Traefik, \
                    HAProxy or Envoy write"
                .to_owned(),
        );
    };
    let mut reader = Reader::new(format, &Options::default());
    let selector: Selector = "client".parse().map_err(|error| format!("client: {error}"))?;
    let mut numbers = HashMap::<Vec<u8>, u32>::new();
    let mut clients = Vec::new();
    let (mut stamped, mut digits, mut others, mut is_cut) = (Vec::new(), 0, 0, false);
    while let Some((_, line)) = lines
        .next_line()
        .map_err(|error| format!("the file cannot be read after line {}: {error}", stamped.len()))?
    {
        let Line::Record(record) = reader.line(line) else {
            others += 1;
            continue;
        };
        let Some(key) = selector.key(&record, ClientText::Key) else {
            others += 1;
            continue;
        };
        if stamped.len() == MOST_REQUESTS {
            is_cut = true;
            break;
        }
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        let client = *numbers.entry(key.to_vec()).or_insert_with(|| {
            clients.push(String::from_utf8_lossy(&key).into_owned());
            next
        });
        digits = digits.max(record.digits());
        stamped.push((record.time_ns(), client));
    }
    if stamped.is_empty() {
        return Err("no line is a request of a client".to_owned());
    }
    // Stable: those of one stamp stay in the order of the file.
    stamped.sort_by_key(|(time_ns, _)| *time_ns);
    let mut requests = Vec::with_capacity(stamped.len());
    let mut group = Group::new(Spread::Even);
    for (time_ns, client) in stamped {
        group.push(time_ns, digits, client, |time_ns, client| requests.push(Logged { time_ns, client }));
    }
    group.flush(|time_ns, client| requests.push(Logged { time_ns, client }));
    Ok(Requests { format: format.to_string(), clients, others, is_cut, requests })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = r#"203.0.113.7 - - [24/Nov/2026:09:00:01 +0000] "GET / HTTP/1.1" 200 5
198.51.100.2 - - [24/Nov/2026:09:00:00 +0000] "GET /a HTTP/1.1" 200 5
nothing of a log
203.0.113.7 - - [24/Nov/2026:09:00:01 +0000] "GET /b HTTP/1.1" 200 5
203.0.113.7 - - [24/Nov/2026:09:00:02 +0000] "GET /c HTTP/1.1" 200 5
203.0.113.7 - - [24/Nov/2026:09:00:02 +0000] "GET /d HTTP/1.1" 200 5
203.0.113.7 - - [24/Nov/2026:09:00:03 +0000] "GET /e HTTP/1.1" 200 5
"#;

    #[test]
    fn requests_come_in_the_order_of_time() {
        let read = read(LOG.as_bytes().to_vec()).unwrap();
        assert_eq!(
            (read.clients, read.others, read.is_cut),
            (vec!["203.0.113.7".into(), "198.51.100.2".into()], 1, false)
        );
        let start_ns = 1_795_510_800_000_000_000;
        let seen: Vec<_> = read
            .requests
            .iter()
            .map(|request| ((request.time_ns - start_ns) / 100_000_000, request.client))
            .collect();
        assert_eq!(seen, [(0, 1), (10, 0), (15, 0), (20, 0), (25, 0), (30, 0)]);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(read(b"one\ntwo\n".to_vec()).unwrap_err().starts_with("no format reads these lines"));
        assert!(read(b"\xFD7zXZ\0".to_vec()).unwrap_err().contains("xz"));
    }
}
