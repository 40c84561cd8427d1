//! What the algorithms have in common whose word is a count beside a time: the fixed windows, and the buckets refilled
//! at intervals.
//!
//! | word | bits |
//! | --- | --- |
//! | a time, in the algorithm's own steps | the rest |
//! | units in use | `bits(capacity)` |

use super::lease::{Drain, Lease};
use super::packing::WordLayout;
use super::{Algorithm, Change, Held, Lend, Reserve, Resolved, Span, Step, WORD_LIMIT};
use crate::decision::Decision;

/// A period that starts with a request has at least this many quanta.
pub(super) const MIN_QUANTA: u64 = 1000;

/// How a word is split: a time above, a count below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) bits: u32,
}

impl Count {
    /// The largest time of a policy's word.
    pub(super) fn top(self) -> u64 {
        (WORD_LIMIT >> self.bits) - 1
    }

    pub(super) fn unpack(self, word: u64) -> (u64, u64) {
        (word >> self.bits, word & ((1 << self.bits) - 1))
    }

    pub(super) fn pack(self, time: u64, used: u64) -> u64 {
        (time << self.bits) | used
    }
}

/// What there is to know of a counting policy beside its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) capacity: u32,
    pub(super) count: Count,
    pub(super) max_now: u64,
    pub(super) heal: Option<u64>,
}

impl Counter {
    pub(super) fn resolved(self, count_bits: Option<u32>, quantum_ns: Option<u64>) -> Resolved {
        Resolved {
            capacity: u64::from(self.capacity),
            max_now_ns: self.max_now,
            cell_bits: 64,
            emission: None,
            count_bits,
            quantum_ns,
            boundaries: None,
            boundary_digest: None,
        }
    }

    /// Whether a word holds the capacity beside `last`, the time of the last instant that is served.
    pub(super) fn holds(self, last: u64) -> bool {
        last <= self.count.top() && u64::from(self.capacity) >> self.count.bits == 0
    }

    /// A time and a count as a word of the policy: where the time is past its last one, that one with all of the capacity
    /// used.
    pub(super) fn packed_within(self, time: u64, used: u64) -> u64 {
        let top = self.count.top();
        if time <= top { self.count.pack(time, used) } else { self.count.pack(top, u64::from(self.capacity)) }
    }

    /// The decision and the count after `cost` beside `used`, but for the times; of a denial, by how many units there
    /// are too many.
    fn step(&self, used: u64, cost: u32) -> (Decision, u64, Option<u64>) {
        let limit = u64::from(self.capacity);
        let wanted = used + u64::from(cost);
        let mut decision = Decision::allowed(limit);
        let (used, too_many) = if cost > self.capacity {
            decision.refuse();
            (used, None)
        } else if wanted <= limit {
            (wanted, None)
        } else {
            (used, Some(wanted - limit))
        };
        decision.remaining = limit.saturating_sub(used);
        (decision, used, too_many)
    }
}

/// An algorithm that counts, by what it does with time: all of an [`Algorithm`] follows from that.
pub(super) trait Counting: Clone {
    fn counter(&self) -> &Counter;

    /// The earliest time that a request at `instant` leaves in a word.
    fn time_at(&self, instant: u64) -> u64;

    /// What a time and a count have become by `now`.
    fn passed(&self, time: u64, used: u64, now: u64) -> (u64, u64);

    /// The instant at which that many of the units counted from `time` are free again; with none, at which the time
    /// begins.
    fn free_at(&self, time: u64, units: u64) -> u128;

    /// The instant before which `time` was not written.
    fn written_from(&self, time: u64) -> u128 {
        self.free_at(time, 0)
    }

    fn packed(&self) -> WordLayout;

    /// Whether nothing that was counted before a time still counts in it, so that a word of an earlier one is raised to it.
    fn starts_anew(&self) -> bool;

    /// The nanoseconds in which a whole burst comes back.
    fn burst_ns(&self) -> u64 {
        Decision::until(self.free_at(0, u64::from(self.counter().capacity)), 0)
    }

    /// What a time and a count are under `next`, by a change at the instant `at`. A window is the same window.
    fn under(&self, next: &Self, time: u64, used: u64, at: u64) -> (u128, u64) {
        let _ = (next, at);
        (u128::from(time), used)
    }

    /// How many of `units` of a charge that is `held` can be given back at `now`, of the `used` ones of `time`.
    fn given_back(&self, time: u64, used: u64, now: u64, held: &Held, charge: Charge) -> u64 {
        // The state is then that of what was used alone: a window in which all units are alike.
        let _ = now;
        if time == held.made { u64::from(charge.units).min(used) } else { 0 }
    }

    /// How the units of a lease pass, and whether they are lent one by one.
    fn drain(&self) -> (Drain, bool);

    /// The end of the last `units` of the `used` ones of `time`, as a lease that [drains](Self::drain) has it.
    fn lasts_until(&self, time: u64, used: u64, units: u64) -> u128;
}

impl<C: Counting> Algorithm for C {
    #[inline]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let counter = self.counter();
        let limit = u64::from(counter.capacity);
        if now > counter.max_now {
            return Step::out_of_range(limit);
        }
        let (time, used) = counter.count.unpack(if self.is_healed(word, now) { 0 } else { word });
        let (time, used) = self.passed(time, used, now);
        let (mut decision, used, too_many) = counter.step(used, cost);
        if let Some(units) = too_many {
            decision.deny(Decision::until(self.free_at(time, units), now));
        }
        if used > 0 {
            decision.reset_after_ns = Decision::until(self.free_at(time, used), now);
        }
        let charged = (cost > 0 && decision.is_allowed()).then(|| counter.count.pack(time, used));
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        let (time, used) = self.counter().count.unpack(word);
        Decision::until(self.free_at(time, used), 0)
    }

    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        let (time, used) = self.counter().count.unpack(word);
        let (time, used) = self.passed(time, used, instant);
        self.counter().packed_within(time.max(self.time_at(instant)), used)
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        let (time, used) = self.counter().count.unpack(word);
        self.passed(time, used, now).1
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        let Some(heal) = self.heal() else { return false };
        let (time, _) = self.counter().count.unpack(word);
        self.written_from(time) > u128::from(now) + u128::from(heal)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.counter().heal
    }

    fn packing(&self) -> WordLayout {
        self.packed()
    }
}

/// What of a charge is to be given back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    pub(super) cost: u32,
    pub(super) units: u32,
    /// What has been given back to the key since, where it is known.
    pub(super) since: Option<u64>,
}

impl<C: Counting> Reserve for C {
    fn held(&self, after: u64, _: u64, cost: u32, given: u64) -> Held {
        let (made, used) = self.counter().count.unpack(after);
        Held { made, start: used.saturating_sub(u64::from(cost)), end: used, given }
    }

    fn give_back(
        &self,
        word: u64,
        now: u64,
        held: &Held,
        cost: u32,
        units: u32,
        total: Option<u64>,
    ) -> (u64, u64) {
        let count = self.counter().count;
        let (time, used) = count.unpack(word);
        if self.is_healed(word, now) {
            return (word, 0);
        }
        let back = self.given_back(time, used, now, held, Charge { cost, units, since: held.since(total) });
        let back = back.min(used);
        (count.pack(time, used - back), back)
    }
}

impl<C: Counting> Change for C {
    fn changed(&self, next: &Self, word: u64, at: u64, _: u32) -> u64 {
        let (time, used) = self.counter().count.unpack(word);
        let (time, used) = self.under(next, time, used, at);
        let count = next.counter().count;
        // Or the last time that fits.
        count.pack(u64::try_from(time).unwrap_or(u64::MAX).min(count.top()), used)
    }
}

impl<C: Counting> Lend for C {
    fn span(&self, word: u64, now: u64) -> Option<Span> {
        let counter = self.counter();
        if now > counter.max_now || self.is_healed(word, now) {
            return None;
        }
        let (held, used) = counter.count.unpack(word);
        let (time, _) = self.passed(held, used, now);
        let raises = self.starts_anew();
        let floor = counter.count.pack(time, 0);
        let span = Span { floor, ceiling: floor + u64::from(counter.capacity), unit: 1, raises };
        (raises || (time == held && used > 0)).then_some(span)
    }

    fn instant(&self, word: u64, now: u64) -> u64 {
        let (time, _) = self.counter().count.unpack(word);
        now.max(Decision::until(self.written_from(time), 0))
    }

    fn lasts_ns(&self, word: u64, units: u64, now: u64) -> u64 {
        let (time, used) = self.counter().count.unpack(word);
        Decision::until(self.lasts_until(time, used, units), now)
    }

    fn lease(&self) -> Option<Lease> {
        let (drain, one_by_one) = self.drain();
        let capacity = u64::from(self.counter().capacity);
        Some(Lease { capacity, drain, burst_ns: self.burst_ns(), undelayed_ns: None, one_by_one })
    }
}
