//! Which run of which machine this is, as far as its monotonic clock goes.

use std::fs;
use std::os::unix::ffi::OsStrExt;

/// Where the monotonic clock of this process comes from. What the system does not tell is 0, and so the same
/// for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boot {
    /// Of the machine's run.
    pub(super) id: [u64; 2],
    /// Of the time namespace.
    pub(super) namespace: u64,
}

impl Boot {
    pub(super) fn here() -> Self {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
        Self { id: uuid(&id), namespace: number(namespace.as_os_str().as_bytes()) }
    }
}

/// The hexadecimal digits of a UUID.
fn uuid(text: &str) -> [u64; 2] {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |range| digits.get(range).and_then(|half| u64::from_str_radix(half, 16).ok()).unwrap_or(0);
    [half(0..16), half(16..32)]
}

/// The number in `time:[4026531834]`.
fn number(link: &[u8]) -> u64 {
    let digits = link.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        let id = uuid("01234567-89ab-cdef-fedc-ba9876543210\n");
        assert_eq!(id, [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210]);
        assert_eq!(uuid("none"), [0, 0]);
        assert_eq!(number(b"time:[4026531834]"), 4_026_531_834);
        assert_eq!(number(b""), 0);
        assert_eq!(Boot::here(), Boot::here());
    }
}
