//! Which server of a cluster holds which keys.

use redis::Value as Raw;

/// The number of hash slots of a cluster.
const SLOTS: usize = 16_384;

/// The slot of a key: a CRC of it, or of what stands in its first braces.
pub(crate) fn slot(key: &[u8]) -> usize {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let length = rest.iter().position(|byte| *byte == b'}')?;
        (length > 0).then(|| &rest[..length])
    });
    let mut crc = 0u16;
    for byte in tag.unwrap_or(key) {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
        }
    }
    usize::from(crc) % SLOTS
}

/// For each slot, the number of its master in a list of servers.
pub(crate) struct Slots(Box<[Option<u32>]>);

impl Slots {
    pub(crate) fn new() -> Self {
        Self(vec![None; SLOTS].into())
    }

    pub(crate) fn get(&self, slot: usize) -> Option<usize> {
        self.0.get(slot).copied().flatten().map(|node| node as usize)
    }

    pub(crate) fn set(&mut self, slot: usize, node: usize) {
        if let Some(entry) = self.0.get_mut(slot) {
            *entry = u32::try_from(node).ok();
        }
    }
}

/// A range of slots, and the host and port of their master. No host: that of the server which answers.
pub(crate) type Range = (std::ops::RangeInclusive<usize>, Option<String>, u16);

/// Reads an answer to `CLUSTER SLOTS`: ranges without a known master are left out.
pub(crate) fn ranges(raw: &Raw) -> Option<Vec<Range>> {
    let Raw::Array(ranges) = raw else { return None };
    Some(ranges.iter().filter_map(range).collect())
}

fn range(raw: &Raw) -> Option<Range> {
    let Raw::Array(parts) = raw else { return None };
    let [Raw::Int(first), Raw::Int(last), Raw::Array(master), ..] = parts.as_slice() else { return None };
    let [host, Raw::Int(port), ..] = master.as_slice() else { return None };
    let host = match host {
        Raw::Nil => None,
        Raw::BulkString(host) if host.is_empty() => None,
        Raw::BulkString(host) if host == b"?" => return None,
        Raw::BulkString(host) => Some(String::from_utf8(host.clone()).ok()?),
        _ => return None,
    };
    let port = u16::try_from(*port).ok()?;
    Some((usize::try_from(*first).ok()?..=usize::try_from(*last).ok()?.min(SLOTS - 1), host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        // As `CLUSTER KEYSLOT` of Redis 7.0 answers.
        assert_eq!(slot(b""), 0);
        assert_eq!(slot(b"123456789"), 0x31C3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b"a{foo}b{bar}"), 12_182);
        assert_eq!(slot(b"foo{}{bar}"), 8_363);
        assert_eq!(slot(b"{foo"), slot(b"{foo"));
        assert_ne!(slot(b"{foo"), 12_182);
    }

    #[test]
    fn an_answer_names_masters() {
        let text = |text: &str| Raw::BulkString(text.as_bytes().to_vec());
        let master = |host: Raw| Raw::Array(vec![host, Raw::Int(7001), text("id")]);
        let range = |first, last, host| Raw::Array(vec![Raw::Int(first), Raw::Int(last), master(host)]);
        let answer = Raw::Array(vec![
            range(0, 5, text("10.0.0.1")),
            range(6, 9, Raw::Nil),
            range(10, 11, text("")),
            range(12, 13, text("?")),
        ]);
        let expected =
            vec![(0..=5, Some("10.0.0.1".to_owned()), 7001), (6..=9, None, 7001), (10..=11, None, 7001)];
        assert_eq!(ranges(&answer), Some(expected));
        assert_eq!(ranges(&Raw::Nil), None);
    }
}
