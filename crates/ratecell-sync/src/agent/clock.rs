//! The store's time, as a machine knows it.

/// How much faster than the store's a machine's clock may run: more than clocks drift and are slewed by, 0.2 %.
const DRIFT: u64 = 500;
/// A reading that is older is read anew before anything is decided by it.
const STALE_NS: u64 = 1_000_000_000;

/// A clock that is never ahead of the store's, and never goes back.
///
/// The store read its clock before the answer came: from then on the machine adds what its own clock shows, less what that
/// may be too fast.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoreClock {
    /// What the store's clock showed, and the machine's when the answer came; nanoseconds.
    read: u64,
    received: u64,
    /// When it was asked for, by the machine's clock.
    sent: u64,
    latest: u64,
}

impl StoreClock {
    /// Notes a reading of the store's clock that was asked for at `sent` and came at `received`, both by the machine's.
    pub fn note(&mut self, read: u64, sent: u64, received: u64) {
        // Before the first reading the machine's clock says nothing of the store's.
        self.latest = if self.received == 0 { 0 } else { self.at(received) };
        (self.read, self.received, self.sent) = (read, received, sent);
        self.latest = self.latest.max(read);
    }

    /// The store's time at `now` by the machine's clock, or earlier.
    #[must_use]
    pub fn at(&self, now: u64) -> u64 {
        let since = now.saturating_sub(self.received);
        self.read.saturating_add(since - since.div_ceil(DRIFT).min(since)).max(self.latest)
    }

    /// How far behind the store's it may be at `now`, in nanoseconds, where the store's was not set back.
    #[must_use]
    pub fn lag_ns(&self, now: u64) -> u64 {
        let trip = self.received.saturating_sub(self.sent);
        trip.saturating_add(now.saturating_sub(self.received).div_ceil(DRIFT).saturating_mul(2))
    }

    /// Whether the store's clock has to be read before anything is decided at `now`.
    #[must_use]
    pub fn is_stale(&self, now: u64) -> bool {
        self.received == 0 || now.saturating_sub(self.received) > STALE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_never_ahead_and_never_back() {
        let mut clock = StoreClock::default();
        assert!(clock.is_stale(5));
        // However long the machine is up.
        clock.note(7, 900_000_000, 1_000_000_000);
        assert_eq!(clock.at(1_000_000_000), 7);
        let mut clock = StoreClock::default();
        // The store read 1,000,000 some time between 100 and 2,100.
        clock.note(1_000_000, 100, 2_100);
        assert_eq!(clock.at(2_100), 1_000_000);
        assert_eq!(clock.at(502_100), 1_000_000 + 499_000);
        assert_eq!(clock.lag_ns(502_100), 2_000 + 2_000);
        assert!(!clock.is_stale(502_100) && clock.is_stale(2_000_000_000));
        // An answer that was longer on its way tells less, and takes nothing back.
        clock.note(1_400_000, 500_000, 600_000);
        assert_eq!(clock.at(600_000), 1_000_000 + 597_900 - 1_196);
        clock.note(3_000_000, 700_000, 700_001);
        assert_eq!(clock.at(700_001), 3_000_000);
    }
}
