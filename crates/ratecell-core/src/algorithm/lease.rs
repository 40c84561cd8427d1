//! Leases: units of a key that one machine has charged at a store, and then admits by itself.
//!
//! | word | bits |
//! | --- | --- |
//! | deadline, in steps of 2^14 ns, rounded down | 44 |
//! | whether the units can be used | 1 |
//! | 2^19 - 1 - units left | 19 |
//!
//! | usable | left | meaning |
//! | --- | --- | --- |
//! | 1 | above 0 | that many units, until the deadline |
//! | 1 | 0 | used up: a miss |
//! | 0 | 0 | denied until the deadline |
//! | 0 | above 0 | more than so many units are denied until the deadline; as many or fewer are a miss |
//!
//! From its deadline on a word decides as 0 does: it is a miss, which only the store can answer. A use never inserts: a
//! miss is not charged.
//!
//! Why a use admits nothing that the store's word does not: docs/DESIGN.md, *Leases*.

use super::divide::Divider;
use super::packing::WordLayout;
use super::{Algorithm, Kernel, Lend, Span, Step, WORD_LIMIT};
use crate::decision::Decision;

const LEFT_BITS: u32 = 19;
const USABLE: u64 = 1 << LEFT_BITS;
/// Steps of the deadline in a word, and nanoseconds of one: both by bits.
const DEADLINE_SHIFT: u32 = LEFT_BITS + 1;
const STEP_BITS: u32 = 14;
/// The last deadline of a word, in steps.
const LAST_STEP: u64 = (WORD_LIMIT >> DEADLINE_SHIFT) - 1;

/// The most units of one lease.
pub const MAX_LEASE: u64 = (1 << LEFT_BITS) - 1;

/// A lease stands still for so many nanoseconds once it is there: a use within them has the instant at which the store was
/// asked. Without it a key at rest could not use the last unit of a lease, whose slot begins at that instant.
pub const GRACE_NS: u64 = 10_000_000;

/// How the units of a lease pass unused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drain {
    /// All at the deadline: those of a window.
    AtOnce,
    /// One in `num / den` nanoseconds, the last at the deadline: slots of a TAT.
    Evenly { num: u64, by_num: Divider, den: u64 },
    /// One at each multiple of the interval, the last at the deadline.
    InSteps { by_interval: Divider },
}

/// What decides on the words of leases of one policy layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(super) capacity: u64,
    pub(super) drain: Drain,
    /// Nanoseconds for which units that have been charged lie ahead, at most: the time in which a burst comes back.
    pub(super) burst_ns: u64,
    /// Of a queue: nanoseconds ahead of the clock that need no delay.
    pub(super) undelayed_ns: Option<u64>,
    /// Whether units are taken only as they are asked for, because they must be used when they were charged.
    pub(super) one_by_one: bool,
}

/// A word, unpacked.
#[derive(Clone, Copy, Debug)]
struct View {
    deadline_ns: u64,
    usable: bool,
    left: u64,
}

impl View {
    fn of(word: u64) -> Self {
        // 44 bits of 2^14 ns: below 2^58.
        let deadline_ns = (word >> DEADLINE_SHIFT) << STEP_BITS;
        Self { deadline_ns, usable: word & USABLE != 0, left: MAX_LEASE - (word & MAX_LEASE) }
    }
}

fn pack(steps: u64, usable: bool, left: u64) -> u64 {
    let usable = if usable { USABLE } else { 0 };
    (steps.min(LAST_STEP) << DEADLINE_SHIFT) | usable | (MAX_LEASE - left.min(MAX_LEASE))
}

impl Lease {
    /// The word of so many units that can be used until `deadline_ns`; at most [`MAX_LEASE`].
    #[must_use]
    pub fn granted(deadline_ns: u64, units: u64) -> u64 {
        pack(deadline_ns >> STEP_BITS, true, units)
    }

    /// The word that denies until `deadline_ns`, or up to 2^14 ns longer.
    #[must_use]
    pub fn denied(deadline_ns: u64) -> u64 {
        Self::denied_above(0, deadline_ns)
    }

    /// The word that denies costs above `units` until `deadline_ns`, or up to 2^14 ns longer; at most [`MAX_LEASE`].
    #[must_use]
    pub fn denied_above(units: u64, deadline_ns: u64) -> u64 {
        pack(deadline_ns.div_ceil(1 << STEP_BITS), false, units)
    }

    /// The deadline of a word, in nanoseconds.
    #[must_use]
    pub fn deadline_ns(word: u64) -> u64 {
        View::of(word).deadline_ns
    }

    /// Units of a word that were never used, whether or not they have passed.
    #[must_use]
    pub fn left(word: u64) -> u64 {
        let View { usable, left, .. } = View::of(word);
        if usable { left } else { 0 }
    }

    /// Units that can be used at `now`.
    #[must_use]
    #[inline]
    pub fn units(&self, word: u64, now: u64) -> u64 {
        let View { deadline_ns, usable, left } = View::of(word);
        if !usable || deadline_ns <= now {
            return 0;
        }
        let ahead = deadline_ns - now;
        match self.drain {
            Drain::Evenly { num, by_num, den } => {
                let ahead = ahead.saturating_mul(den);
                // Units that lie ahead whole need no division, for whose end the charge would wait.
                match left.checked_mul(num) {
                    Some(slots) if slots <= ahead => left,
                    _ => left.min(by_num.floor(ahead)),
                }
            }
            Drain::AtOnce => left,
            Drain::InSteps { by_interval } => left.min(by_interval.ceil(ahead)),
        }
    }

    /// The most units at one instant, by the policy.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The nanoseconds in which a whole burst comes back.
    #[must_use]
    pub fn burst_ns(&self) -> u64 {
        self.burst_ns
    }

    /// Whether units are taken at the store only as they are asked for, and not ahead of requests.
    #[must_use]
    pub fn is_one_by_one(&self) -> bool {
        self.one_by_one
    }

    fn delay_ns(&self, deadline_ns: u64, now: u64) -> u64 {
        let Some(undelayed_ns) = self.undelayed_ns else { return 0 };
        // Never early: the deadline was rounded down.
        let slot_ends = deadline_ns.saturating_add(1 << STEP_BITS).saturating_sub(GRACE_NS);
        slot_ends.saturating_sub(now).saturating_sub(undelayed_ns)
    }
}

impl Algorithm for Lease {
    #[inline(always)]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let view = View::of(word);
        let mut decision = Decision::allowed(self.capacity).with_notes(Decision::LEASED);
        let units = self.units(word, now);
        let cost = u64::from(cost);
        decision.reset_after_ns = view.deadline_ns.saturating_sub(now);
        // Units are there: the deadline is ahead, so `now` is before the last one. A lease has at most the capacity's, so
        // what is refused below is above them.
        if cost > 0 && cost <= units {
            decision.remaining = units - cost;
            decision.delay_ns = self.delay_ns(view.deadline_ns, now);
            // The units that have passed and those that are used, of `left` at most: the last bits count up to MAX_LEASE.
            let charged = word + (view.left - units) + cost;
            return Step { charged: Some(charged), decision };
        }
        if now >> STEP_BITS >= LAST_STEP {
            return Step::out_of_range(self.capacity);
        }
        decision.remaining = units;
        if cost == 0 {
            return Step { charged: None, decision };
        }
        if cost > self.capacity.min(MAX_LEASE) {
            decision.refuse();
        } else if !view.usable && cost > view.left && view.deadline_ns > now {
            decision.deny(view.deadline_ns - now);
        } else {
            decision.ask();
        }
        Step { charged: None, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        View::of(word).deadline_ns
    }

    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        let steps = instant.div_ceil(1 << STEP_BITS).min(LAST_STEP);
        if word >> DEADLINE_SHIFT < steps { pack(steps, true, 0) } else { word }
    }

    /// What erasing it would lose: no unit that is lost is admitted by anybody.
    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        self.units(word, now)
    }

    #[inline]
    fn is_healed(&self, _: u64, _: u64) -> bool {
        false
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        None
    }

    fn packing(&self) -> WordLayout {
        WordLayout { word: *b"lease   ", unit: 0, grain: 1 << STEP_BITS, count_bits: LEFT_BITS }
    }
}

/// A lease is not lent again.
impl Lend for Lease {
    fn span(&self, _: u64, _: u64) -> Option<Span> {
        None
    }

    fn instant(&self, _: u64, now: u64) -> u64 {
        now
    }

    fn lasts_ns(&self, _: u64, _: u64, _: u64) -> u64 {
        0
    }

    fn lease(&self) -> Option<Self> {
        None
    }
}

/// What a store answered, as the table's step that writes it: it inserts the key if it has no slot.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    lease: Lease,
    word: u64,
}

impl Answered {
    /// Of the word that the store's answer is to the table.
    #[must_use]
    pub fn new(lease: Lease, word: u64) -> Self {
        Self { lease, word }
    }

    /// What it leaves, whatever stood there. Units of an older lease pass: after their own deadline their slots are other
    /// machines', and a word has one deadline.
    #[must_use]
    pub fn word(&self) -> u64 {
        self.word
    }
}

impl Algorithm for Answered {
    /// Whatever the cost: the store has decided.
    #[inline]
    fn step(&self, _: u64, _: u64, _: u32) -> Step {
        Step { charged: Some(self.word), decision: Decision::allowed(self.lease.capacity) }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        self.lease.fresh_at(word)
    }

    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        self.lease.carried(word, instant)
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        self.lease.level(word, now)
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        self.lease.is_healed(word, now)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        None
    }

    fn packing(&self) -> WordLayout {
        self.lease.packing()
    }
}

impl From<Lease> for Kernel {
    fn from(lease: Lease) -> Self {
        Self::Lease(lease)
    }
}

#[cfg(test)]
mod tests;
