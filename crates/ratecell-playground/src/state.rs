//! What a lane keeps of a client, as what it is.

use ratecell_core::algorithm::{Algorithm, Kernel, Log, SlidingLog};
use ratecell_core::with_kernel;
use serde::Serialize;

/// Entries of a log that are shown at most, the newest.
const MOST_ENTRIES: usize = 500;

/// What is kept of a client by one layer, at an instant. Times are in nanoseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum State {
    /// The theoretical arrival time of the GCRA family.
    ArrivalTime {
        /// How far it runs ahead of now; 0 where it is in the past.
        ahead_ns: u64,
        /// How far it may.
        room_ns: u64,
    },
    /// A count in a window that ends at once.
    Window {
        /// Units in use.
        used: u64,
        /// 0 where windows differ in length.
        length_ns: u64,
        /// When the window ends, if one is open.
        end_ns: Option<u64>,
        /// Whether the windows of all clients begin and end at the same instants, one after the other.
        is_aligned: bool,
    },
    /// A bucket that is refilled at intervals.
    Bucket {
        /// Tokens that are out.
        used: u64,
        /// The interval.
        length_ns: u64,
        /// The next refill, if tokens are out.
        refill_ns: Option<u64>,
    },
    /// Two windows beside each other, which are aligned.
    TwoWindows {
        /// Units that both weigh together.
        used: u64,
        /// The length of each.
        length_ns: u64,
        /// Where the newer begins.
        start_ns: u64,
        /// Units counted in the older.
        previous: u64,
        /// Units counted in the newer.
        current: u64,
        /// Whether the older weighs less the longer it is over; otherwise all of it counts until the newer ends.
        is_weighted: bool,
    },
    /// The instants of the units that still count, oldest first.
    Log {
        /// How many.
        used: u64,
        /// How long each counts.
        length_ns: u64,
        /// The newest of them.
        entries_ns: Vec<u64>,
    },
}

impl State {
    /// What `word` is at `now_ns`.
    pub(crate) fn of_word(kernel: &Kernel, word: u64, now_ns: u64) -> Self {
        let (layout, peek) =
            with_kernel!(kernel, algorithm => (algorithm.packing(), algorithm.report(word, now_ns, 0)));
        let capacity = peek.limit();
        let used = capacity.saturating_sub(peek.remaining());
        let length_ns = layout.unit;
        let end_ns = (used > 0).then(|| now_ns.saturating_add(peek.reset_after_ns()));
        match kernel {
            Kernel::Gcra(_) => {
                let ticks = word.saturating_sub(now_ns.saturating_mul(layout.unit));
                // One unit is back after its reset.
                let unit_ns = with_kernel!(kernel, algorithm => algorithm.report(0, 0, 1).reset_after_ns());
                Self::ArrivalTime {
                    ahead_ns: ticks.div_ceil(layout.unit),
                    room_ns: unit_ns.saturating_mul(capacity),
                }
            }
            Kernel::BucketInterval(_) => {
                let refill_ns = (used > 0).then(|| (now_ns / length_ns + 1).saturating_mul(length_ns));
                Self::Bucket { used, length_ns, refill_ns }
            }
            Kernel::BucketIntervalFirst(_) => {
                let start_ns = (word >> layout.count_bits).saturating_mul(layout.grain);
                let intervals = now_ns.saturating_sub(start_ns) / length_ns + 1;
                let refill_ns = start_ns.saturating_add(intervals.saturating_mul(length_ns));
                Self::Bucket { used, length_ns, refill_ns: (used > 0).then_some(refill_ns) }
            }
            Kernel::SlidingWindow(_) | Kernel::InFlight(_) => {
                let mask = (1 << layout.count_bits) - 1;
                let (index, previous, current) =
                    (word >> (2 * layout.count_bits), (word >> layout.count_bits) & mask, word & mask);
                let at = index.max(now_ns / length_ns);
                let (previous, current) = match at - index {
                    0 => (previous, current),
                    1 => (current, 0),
                    _ => (0, 0),
                };
                let start_ns = at.saturating_mul(length_ns);
                let is_weighted = matches!(kernel, Kernel::SlidingWindow(_));
                Self::TwoWindows { used, length_ns, start_ns, previous, current, is_weighted }
            }
            Kernel::FixedWindow(_) => {
                let over_ns = (now_ns % length_ns + layout.grain) % length_ns;
                let end_ns = Some((now_ns - over_ns.min(now_ns)).saturating_add(length_ns));
                Self::Window { used, length_ns, end_ns, is_aligned: true }
            }
            Kernel::CalendarWindow(_) | Kernel::CallerWindow(_) => {
                Self::Window { used, length_ns: 0, end_ns, is_aligned: false }
            }
            _ => Self::Window { used, length_ns, end_ns, is_aligned: false },
        }
    }

    /// What `log` is at `now_ns`.
    pub(crate) fn of_log(algorithm: &SlidingLog, log: &Log, now_ns: u64) -> Self {
        let used = algorithm.level(log, now_ns);
        let shown = usize::try_from(used).unwrap_or(usize::MAX).min(MOST_ENTRIES);
        let entries = log.len().saturating_sub(shown)..log.len();
        let entries_ns = entries.filter_map(|index| log.get(index)).collect();
        Self::Log { used, length_ns: algorithm.window(), entries_ns }
    }

    /// The share of the capacity in use: 0 is none, 1 is all.
    pub(crate) fn fill(&self, capacity: u64) -> f64 {
        match self {
            Self::ArrivalTime { ahead_ns, room_ns } => *ahead_ns as f64 / (*room_ns).max(1) as f64,
            Self::Window { used, .. }
            | Self::Bucket { used, .. }
            | Self::TwoWindows { used, .. }
            | Self::Log { used, .. } => *used as f64 / capacity.max(1) as f64,
        }
    }
}
