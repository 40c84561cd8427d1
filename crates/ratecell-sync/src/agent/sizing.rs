//! How many units to ask the store for, and when: pure functions of what happened to a key.

/// What is the same for all keys of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Sizing {
    /// How long a lease is to last, in nanoseconds: a tenth of a second, or a quarter of a burst.
    span_ns: u64,
    /// The nanoseconds in which a whole burst comes back.
    burst_ns: u64,
    /// The most units of a lease.
    most: u64,
    /// Whether nothing is taken beyond what was asked for.
    one_by_one: bool,
}

const TENTH_NS: u64 = 100_000_000;
const SECOND_NS: u64 = 1_000_000_000;

impl Sizing {
    /// For leases of at most `most` units of a burst that comes back in `burst_ns`.
    #[must_use]
    pub fn new(burst_ns: u64, most: u64, one_by_one: bool) -> Self {
        Self { span_ns: TENTH_NS.min(burst_ns / 4).max(1), burst_ns, most: most.max(1), one_by_one }
    }

    /// How long a lease is to last, in nanoseconds.
    pub(super) fn span_ns(&self) -> u64 {
        self.span_ns
    }

    /// However slow the rate, a unit that has come back is found in this time.
    fn longest_period_ns(&self) -> u64 {
        self.burst_ns.clamp(SECOND_NS, 10 * SECOND_NS)
    }
}

/// What a machine remembers of a key in order to size its leases.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Units asked for in a span: an average in which what is a span older weighs 1/e.
    demand: f64,
    demand_at: u64,
    period_ns: u64,
    /// The store is not asked before this instant, by the machine's clock in nanoseconds.
    ask_at: u64,
}

impl Pace {
    /// Of a key that has just been asked for.
    #[must_use]
    pub fn new(sizing: &Sizing, now: u64) -> Self {
        Self { demand: 0.0, demand_at: now, period_ns: sizing.span_ns, ask_at: 0 }
    }

    /// Notes units that callers asked for since the last note, whether or not they were there.
    pub fn asked(&mut self, sizing: &Sizing, now: u64, units: u64) {
        let spans = now.saturating_sub(self.demand_at).max(1) as f64 / sizing.span_ns as f64;
        let weight = (-spans).exp();
        self.demand = self.demand * weight + units.min(sizing.most) as f64 / spans * (1.0 - weight);
        self.demand_at = self.demand_at.max(now);
    }

    /// Notes that requests are denied until then: how many come is not seen meanwhile.
    pub fn denied(&mut self, until: u64) {
        self.demand_at = self.demand_at.max(until);
    }

    /// The instant before which the store is not asked for the key.
    #[must_use]
    pub fn ask_at(&self) -> u64 {
        self.ask_at
    }

    /// The policy is another: what was refused by the one before says nothing.
    pub(super) fn resumes(&mut self, sizing: &Sizing) {
        (self.period_ns, self.ask_at) = (sizing.span_ns, 0);
    }

    /// The units to ask for, where a caller misses `missed`: those of a span. A machine that has to wait longer than others
    /// asks for no more than they do, or it would be brought less than it wants, and wait again.
    #[must_use]
    pub fn want(&self, sizing: &Sizing, missed: u64) -> u64 {
        if sizing.one_by_one {
            return missed.clamp(1, sizing.most);
        }
        // Beyond any u64 it is the greatest.
        let ahead = self.demand.ceil() as u64;
        missed.max(ahead).clamp(1, sizing.most)
    }

    /// Notes what the store brought of `wanted` units. `random` is anything.
    ///
    /// A key of which there was less than wanted is contended: the next question waits for about a period. The period
    /// doubles while nothing is brought, and falls by a quarter each time that something is.
    pub fn brought(&mut self, sizing: &Sizing, now: u64, wanted: u64, units: u64, random: u64) {
        self.period_ns = match units {
            0 => self.period_ns.saturating_mul(2).min(sizing.longest_period_ns()),
            _ => (self.period_ns - self.period_ns / 4).max(sizing.span_ns),
        };
        self.ask_at = if units < wanted { now.saturating_add(self.jittered(random)) } else { now };
    }

    /// Half a period to one and a half.
    fn jittered(&self, random: u64) -> u64 {
        self.period_ns / 2 + random % self.period_ns.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZING: fn() -> Sizing = || Sizing::new(SECOND_NS, 1_000, false);

    #[test]
    fn a_cold_key_is_asked_for_by_the_unit() {
        let sizing = SIZING();
        let mut pace = Pace::new(&sizing, 0);
        for second in 0..20 {
            pace.asked(&sizing, second * SECOND_NS, 1);
            assert_eq!(pace.want(&sizing, 1), 1);
        }
        assert_eq!(pace.want(&sizing, 7), 7);
    }

    #[test]
    fn a_hot_key_is_asked_for_what_it_uses_in_a_tenth_of_a_second() {
        let sizing = SIZING();
        let mut pace = Pace::new(&sizing, 0);
        for tenth in 1..100 {
            pace.asked(&sizing, tenth * TENTH_NS, 100);
        }
        assert!((95..=101).contains(&pace.want(&sizing, 1)), "{}", pace.want(&sizing, 1));
        // It is forgotten when nobody asks.
        pace.asked(&sizing, 100 * TENTH_NS + 2 * SECOND_NS, 0);
        assert_eq!(pace.want(&sizing, 1), 1);
    }

    #[test]
    fn time_in_which_all_are_denied_is_not_counted() {
        let sizing = SIZING();
        let mut pace = Pace::new(&sizing, 0);
        // 100 in a tenth of a second, and then denied for nine.
        for second in 0..20 {
            pace.asked(&sizing, second * SECOND_NS + TENTH_NS, 100);
            pace.denied((second + 1) * SECOND_NS);
        }
        assert!((95..=101).contains(&pace.want(&sizing, 1)), "{}", pace.want(&sizing, 1));
    }

    #[test]
    fn a_contended_key_is_asked_for_less_often() {
        let sizing = SIZING();
        let mut pace = Pace::new(&sizing, 0);
        for (random, expected) in [(0, TENTH_NS), (u64::MAX, 2 * TENTH_NS), (1 << 40, 4 * TENTH_NS)] {
            pace.brought(&sizing, 0, 5, 0, random);
            assert!((expected..3 * expected + 1).contains(&pace.ask_at()), "{}", pace.ask_at());
        }
        for _ in 0..20 {
            pace.brought(&sizing, 0, 5, 0, 0);
        }
        assert_eq!(pace.ask_at(), SECOND_NS / 2);
        for _ in 0..20 {
            pace.brought(&sizing, 7, 5, 4, 0);
        }
        assert_eq!(pace.ask_at(), 7 + TENTH_NS / 2);
        pace.brought(&sizing, 9, 5, 5, 0);
        assert_eq!(pace.ask_at(), 9);
        // Of a slow rate no less often than this.
        let slow = Sizing::new(3_600 * SECOND_NS, 1_000, false);
        for _ in 0..40 {
            pace.brought(&slow, 0, 5, 0, u64::MAX);
        }
        assert!(pace.ask_at() <= 15 * SECOND_NS, "{}", pace.ask_at());
    }

    #[test]
    fn what_must_be_used_at_once_is_asked_for_one_by_one() {
        let sizing = Sizing::new(SECOND_NS, 1_000, true);
        let mut pace = Pace::new(&sizing, 0);
        pace.asked(&sizing, 0, 500);
        assert_eq!((pace.want(&sizing, 1), pace.want(&sizing, 3)), (1, 3));
    }
}
