//! The axis of time that all pictures of a page have in common.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

use crate::log::{Input, Period};

/// The most spans of time in a picture.
const MOST_SPANS: i64 = 120;

/// Lengths of time that people count in, in seconds.
const STEPS: [i64; 18] =
    [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800];

const SECOND_NS: i64 = 1_000_000_000;

/// The spans of time into which the period of a log is cut. By its clock they begin at multiples of their length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    period: Period,
    clock: Clock,
    /// The beginning of the first span, in nanoseconds since the period's epoch. It can lie before the epoch.
    start_ns: i64,
    pub(super) width_ns: u64,
    pub(super) count: usize,
}

/// The clock by which a page writes times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// That of the log, whose stamps all have this offset.
    OfLog(Offset),
    /// The log has none, or several.
    Utc,
}

impl Clock {
    /// The clock of the first stamps of all files, if it is one.
    pub(super) fn of(files: &[Input]) -> Self {
        let mut clocks = files.iter().filter(|file| file.reader.is_some()).map(|file| file.east_s);
        match clocks.next().flatten() {
            Some(east_s) if clocks.all(|other| other == Some(east_s)) => {
                Offset::from_seconds(east_s).map_or(Self::Utc, Self::OfLog)
            }
            _ => Self::Utc,
        }
    }

    fn offset(self) -> Offset {
        match self {
            Self::OfLog(offset) => offset,
            Self::Utc => Offset::UTC,
        }
    }

    pub(super) fn at(self, instant: Timestamp) -> DateTime {
        self.offset().to_datetime(instant)
    }

    /// A sentence that names it.
    pub(super) fn named(self) -> String {
        match self {
            Self::OfLog(offset) if offset != Offset::UTC => {
                let seconds = offset.seconds();
                let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() / 60 % 60);
                let sign = if seconds < 0 { '\u{2212}' } else { '+' };
                format!("Times are those of the log, UTC{sign}{hours:02}:{minutes:02}.")
            }
            _ => "Times are in UTC.".to_owned(),
        }
    }
}

impl Axis {
    pub(super) fn new(period: Period, clock: Clock) -> Self {
        let east_ns = i64::from(clock.offset().seconds()) * SECOND_NS;
        let local_ns = |time_ns| period.now_ns(time_ns).cast_signed().saturating_add(east_ns);
        let (first_ns, last_ns) = (local_ns(period.first_ns), local_ns(period.last_ns));
        let count = |width_ns: i64| last_ns.div_euclid(width_ns) - first_ns.div_euclid(width_ns) + 1;
        let fitting =
            STEPS.iter().map(|step| step * SECOND_NS).find(|width_ns| count(*width_ns) <= MOST_SPANS);
        let width_ns = fitting.unwrap_or_else(|| (last_ns / (MOST_SPANS - 1)).max(1));
        Self {
            period,
            clock,
            start_ns: first_ns.div_euclid(width_ns) * width_ns - east_ns,
            width_ns: width_ns.unsigned_abs(),
            count: count(width_ns) as usize,
        }
    }

    /// The span of an instant. Requests of the last stamp may be spread beyond the last span; they count in it.
    pub(super) fn place(&self, now_ns: u64) -> usize {
        let since_ns = now_ns.cast_signed().saturating_sub(self.start_ns).max(0).unsigned_abs();
        ((since_ns / self.width_ns) as usize).min(self.count - 1)
    }

    /// The beginning of the span at `place`, of which a fraction is as much later.
    pub(super) fn start_of(&self, place: f64) -> DateTime {
        let later_ns = (place * self.width_ns as f64) as i64;
        self.clock.at(self.period.at_signed(self.start_ns.saturating_add(later_ns)))
    }

    /// Whether the pictures are so long that a label has to name the day.
    pub(super) fn has_days(&self) -> bool {
        self.width_ns.saturating_mul(self.count as u64) > 2 * 86_400 * SECOND_NS.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(first_s: u64, span_s: u64, clock: Clock) -> (Period, Axis) {
        let mut period = Period::from(first_s * SECOND_NS.unsigned_abs());
        period.last_ns += span_s * SECOND_NS.unsigned_abs();
        (period, Axis::new(period, clock))
    }

    #[test]
    fn spans_cover_the_period() {
        let clocks = [0, 5 * 3600 + 1800, -11 * 3600].map(|s| Clock::OfLog(Offset::from_seconds(s).unwrap()));
        for (first_s, span_s, width_s) in [
            (200_000, 0, 1),
            (200_007, 119, 1),
            (200_000, 120, 2),
            (286_399, 3_600, 60),
            (200_050, 86_400, 900),
            (200_001, 100_000_000, 841_000),
        ] {
            for clock in clocks {
                let (period, axis) = axis(first_s, span_s, clock);
                assert!((axis.width_ns / SECOND_NS.unsigned_abs()).abs_diff(width_s) <= width_s / 1_000);
                assert!(axis.count as i64 <= MOST_SPANS, "{axis:?}");
                assert_eq!(axis.place(period.now_ns(period.first_ns)), 0, "{axis:?}");
                assert_eq!(axis.place(period.now_ns(period.last_ns)), axis.count - 1, "{axis:?}");
            }
        }
    }

    #[test]
    fn spans_begin_by_the_clock_of_the_log() {
        // 2024-05-20T23:10:00Z and 20 days, at +02:00.
        let clock = Clock::OfLog(Offset::constant(2));
        let (_, axis) = axis(1_716_246_600, 100 * 86_400, clock);
        assert_eq!(axis.start_of(0.0).to_string(), "2024-05-21T00:00:00");
        assert_eq!(axis.start_of(1.5).to_string(), "2024-05-22T12:00:00");
        assert_eq!(clock.named(), "Times are those of the log, UTC+02:00.");
        assert_eq!(Clock::Utc.named(), "Times are in UTC.");
    }
}
