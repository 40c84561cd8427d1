//! The lengths of time over which rates are looked at.

const SECOND_NS: u64 = 1_000_000_000;

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// As it is written in a policy.
    pub text: &'static str,
    /// In nanoseconds.
    pub ns: u64,
}

/// The lengths, the shortest first. Windows of each begin at its multiples since the epoch of the recording.
pub const SCALES: [Scale; 5] = [
    Scale { text: "1s", ns: SECOND_NS },
    Scale { text: "10s", ns: 10 * SECOND_NS },
    Scale { text: "1m", ns: 60 * SECOND_NS },
    Scale { text: "1h", ns: 3_600 * SECOND_NS },
    Scale { text: "1d", ns: 86_400 * SECOND_NS },
];
