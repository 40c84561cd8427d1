//! GCRA, and the policies that are GCRA under other names: the leaky meter, the leaky queue and the
//! continuous token bucket.
//!
//! Source: ITU-T I.371 and ATM Forum TM 4.0, "virtual scheduling".
//!
//! | word | bits |
//! | --- | --- |
//! | TAT, the theoretical arrival time, in ticks of `1 / den` ns since the epoch | 64 |

use alloc::format;
use core::num::NonZeroU32;

use super::change::ceil;
use super::divide::Divider;
use super::lease::{Drain, Lease};
use super::packing::{self, LayoutChoice, WordLayout};
use super::params::{Key, Params};
use super::reserve::ahead;
use super::{
    Algorithm, Change, Emission, Held, Kernel, Lend, Plan, Reserve, Resolved, Span, Spec, Step, WORD_LIMIT,
    quota,
};
use crate::decision::Decision;
use crate::error::{PolicyError, PolicyErrorKind as Kind};

pub(crate) static GCRA: Spec = Spec {
    name: "gcra",
    quota: quota::RATE,
    options: &[Key::Burst],
    resolve: |params, pack, _| {
        let limit = params.limit("limit")?;
        let period = params.period("period")?;
        let burst = params.units_or(params.burst, limit, "burst")?;
        Gcra::resolve(params, pack, limit, period, burst, burst)
    },
};

pub(crate) static LEAKY_METER: Spec = Spec {
    name: "leaky_meter",
    quota: quota::RATE,
    options: &[Key::Capacity],
    resolve: |params, pack, _| {
        let leak = params.limit("leak")?;
        let period = params.period("period")?;
        let capacity = params.capacity()?;
        Gcra::resolve(params, pack, leak, period, capacity, capacity)
    },
};

pub(crate) static LEAKY_QUEUE: Spec = Spec {
    name: "leaky_queue",
    quota: quota::RATE,
    options: &[Key::Queue, Key::Burst],
    resolve: |params, pack, _| {
        let leak = params.limit("leak")?;
        let period = params.period("period")?;
        let burst = params.units_or(params.burst, 1, "burst")?;
        let Some(queue) = params.queue else {
            return Err(PolicyError::new(Kind::MissingParameter, "queue is missing: expected queue=UNITS"));
        };
        let capacity = queue.checked_add(u64::from(burst)).and_then(|sum| u32::try_from(sum).ok());
        let Some(capacity) = capacity else {
            let message = format!("queue {queue} + burst {burst}: expected a sum of at most {}", u32::MAX);
            return Err(PolicyError::new(Kind::Range, message).about(Key::Queue.name()));
        };
        Gcra::resolve(params, pack, leak, period, capacity, burst)
    },
};

/// GCRA over ticks. One unit costs `num` ticks, and a key may run `tau` ticks ahead of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gcra {
    num: u64,
    den: u64,
    /// `capacity * num`.
    tau: u64,
    /// Ticks ahead of the clock that need no delay; `tau` unless it is a queue.
    undelayed: u64,
    /// `max_now * den + tau < WORD_LIMIT`: no sum below leaves a `u64`, so nothing saturates that a
    /// step of this policy has written.
    max_now: u64,
    capacity: NonZeroU32,
    heal: Option<u64>,
    /// Ticks that no word runs further ahead of its writer's clock, whichever policy of those that share it was the
    /// writer's: what is further ahead of this clock has come from another. 0 where no word is healed.
    reach: u64,
    by_num: Divider,
    by_den: Divider,
}

impl Gcra {
    pub(super) fn resolve(
        params: &Params,
        pack: LayoutChoice,
        limit: u32,
        period: u64,
        capacity: u32,
        undelayed: u32,
    ) -> Result<(Plan, Resolved), PolicyError> {
        let most = pack.reach(capacity);
        let emission = match pack {
            LayoutChoice::Tight { .. } | LayoutChoice::Wide { .. } => {
                Emission::new(period, limit, most, params.horizon()?)?
            }
            LayoutChoice::As(packing) => Emission::in_ticks(packing.unit, period, limit)?,
        };
        // den_max in `emission` leaves room for the horizon and the burst; ticks that were there may not.
        let Some(furthest) = u64::from(most).checked_mul(emission.num) else {
            return Err(PolicyError::new(Kind::Range, "the burst does not fit a 64-bit word"));
        };
        // Within the most.
        let tau = u64::from(capacity) * emission.num;
        let reach = match pack {
            LayoutChoice::Tight { .. } | LayoutChoice::Wide { .. } => params.heal_ns.map_or(0, |_| furthest),
            LayoutChoice::As(packing) => held_reach(packing.grain, tau, emission.num, params.heal_ns)?,
        };
        let burst_ns = Divider::new(emission.den).ceil(furthest);
        let max_now = ((WORD_LIMIT - 1) / emission.den).saturating_sub(burst_ns);
        params.reaches_horizon(max_now, "the clock and the burst")?;
        // Refused above where it is 0.
        let capacity = NonZeroU32::new(capacity).unwrap_or(NonZeroU32::MIN);
        let gcra = Self::new(&emission, capacity, undelayed, max_now, params.heal_ns, reach);
        let resolved = Resolved {
            capacity: u64::from(capacity.get()),
            max_now_ns: max_now,
            cell_bits: 64,
            emission: Some(emission),
            count_bits: None,
            quantum_ns: None,
            boundaries: None,
            boundary_digest: None,
        };
        Ok((Plan::Word(Kernel::Gcra(gcra)), resolved))
    }

    /// With `undelayed` units of the capacity that need no delay. A burst of the capacity fits a word.
    pub(super) fn new(
        emission: &Emission,
        capacity: NonZeroU32,
        undelayed: u32,
        max_now: u64,
        heal: Option<u64>,
        reach: u64,
    ) -> Self {
        let Emission { num, den, .. } = *emission;
        let tau = u64::from(capacity.get()) * num;
        debug_assert!(u128::from(max_now) * u128::from(den) + u128::from(tau) < u128::from(WORD_LIMIT));
        Self {
            num,
            den,
            tau,
            // Within the capacity.
            undelayed: u64::from(undelayed).saturating_mul(num),
            max_now,
            capacity,
            heal,
            reach,
            by_num: Divider::new(num),
            by_den: Divider::new(den),
        }
    }
}

/// The reach of words that are there already, if this policy's stay within it.
fn held_reach(reach: u64, tau: u64, num: u64, heal: Option<u64>) -> Result<u64, PolicyError> {
    if reach == 0 && heal.is_some() {
        return Err(PolicyError::new(
            Kind::Range,
            "heal was not an option when this table was made: expected none",
        ));
    }
    if reach > 0 && tau > reach {
        let most = reach.checked_div(num).unwrap_or(0);
        return Err(PolicyError::new(
            Kind::Range,
            format!(
                "this table heals by the greatest burst that it has had so far: expected one of at most {most} at this rate"
            ),
        ));
    }
    Ok(reach)
}

impl Algorithm for Gcra {
    #[inline(always)]
    fn step(&self, word: u64, now: u64, cost: u32) -> Step {
        let limit = u64::from(self.capacity.get());
        if now > self.max_now {
            return Step::out_of_range(limit);
        }
        // now <= max_now: below WORD_LIMIT - tau.
        let t = now * self.den;
        let tat = if self.is_healed(word, now) { 0 } else { word };
        let base = tat.max(t);
        let mut decision = Decision::allowed(limit);
        let after = if cost > self.capacity.get() {
            decision.refuse();
            base
        } else {
            // cost * num <= tau. Their sum with `base` may leave a u64, so it is the differences that are
            // compared; what is allowed ends at most tau ahead of t.
            let charge = u64::from(cost) * self.num;
            let (ahead, room) = (base - t, self.tau - charge);
            if ahead <= room {
                if cost > 0 {
                    decision.delay_ns = self.by_den.ceil((ahead + charge).saturating_sub(self.undelayed));
                }
                base + charge
            } else {
                decision.deny(self.by_den.ceil(ahead - room));
                base
            }
        };
        let level = after - t;
        decision.remaining = self.by_num.floor(self.tau.saturating_sub(level));
        decision.reset_after_ns = self.by_den.ceil(level);
        let charged = (cost > 0 && decision.is_allowed()).then_some(after);
        Step { charged, decision }
    }

    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        self.by_den.ceil(word)
    }

    #[inline]
    fn is_fresh(&self, word: u64, now: u64) -> bool {
        word <= now.saturating_mul(self.den) || self.is_healed(word, now)
    }

    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        word.max(instant.saturating_mul(self.den))
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        self.by_num.ceil(word.saturating_sub(now.saturating_mul(self.den)))
    }

    #[inline]
    fn weight(&self, word: u64, now: u64) -> u64 {
        if self.is_healed(word, now) { 0 } else { word.saturating_sub(now.saturating_mul(self.den)) }
    }

    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        match self.heal {
            None => false,
            // floor((tat - reach) / den) > now + heal, without the division.
            Some(heal) => {
                let bound = now.saturating_add(heal).saturating_add(1).saturating_mul(self.den);
                word >= bound.saturating_add(self.reach)
            }
        }
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.heal
    }

    fn packing(&self) -> WordLayout {
        WordLayout { word: packing::GCRA, unit: self.den, grain: self.reach, count_bits: 0 }
    }

    #[inline]
    fn fill(&self, word: u64, now: u64, cost: u32) -> u64 {
        if now > self.max_now || cost == 0 {
            return word;
        }
        let t = now * self.den;
        let base = if self.is_healed(word, now) { t } else { word.max(t) };
        // To the brim, not beyond: max_now leaves room for tau.
        let charged = base.saturating_add(u64::from(cost).saturating_mul(self.num)).min(t + self.tau);
        if charged > base { charged } else { word }
    }
}

impl Reserve for Gcra {
    #[inline(always)]
    fn held(&self, after: u64, now: u64, cost: u32, given: u64) -> Held {
        // Of what a step has charged nothing wraps: these are its own products.
        let charge = u64::from(cost).wrapping_mul(self.num);
        Held { made: now.wrapping_mul(self.den), start: after.wrapping_sub(charge), end: after, given }
    }

    #[inline(always)]
    fn give_back(
        &self,
        word: u64,
        now: u64,
        held: &Held,
        _: u32,
        units: u32,
        total: Option<u64>,
    ) -> (u64, u64) {
        let Held { made, start, end, .. } = *held;
        if now > self.max_now || self.is_healed(word, now) {
            return (word, 0);
        }
        let t = now * self.den;
        let ahead = if self.undelayed == self.tau {
            ahead(word, t, made, start, end.saturating_sub(start), held.since(total))
        } else if word == end {
            // The requests behind a place in the queue have been promised theirs: only the last place is given back.
            end.saturating_sub(t)
        } else {
            0
        };
        // No more than the word, which reaches at least as far as what is ahead.
        let back = u64::from(units).saturating_mul(self.num).min(ahead);
        (word - back, back)
    }
}

impl Change for Gcra {
    fn changed(&self, next: &Self, word: u64, at: u64, reach: u32) -> u64 {
        let reach = u64::from(reach).saturating_mul(self.num);
        // A word further ahead was written by a clock that was set back since: that much of it stays time.
        let made = at.saturating_mul(self.den).max(word.saturating_sub(reach));
        let used = u128::from(word.saturating_sub(made));
        let made = ceil(u128::from(made) * u128::from(next.den), self.den);
        let used = ceil(used * u128::from(next.num), self.num);
        (made + used).min(u128::from(WORD_LIMIT - 1)) as u64
    }
}

impl Lend for Gcra {
    fn span(&self, word: u64, now: u64) -> Option<Span> {
        if now > self.max_now || self.is_healed(word, now) {
            return None;
        }
        let t = now * self.den;
        Some(Span { floor: t, ceiling: t + self.tau, unit: self.num, raises: true })
    }

    fn instant(&self, _: u64, now: u64) -> u64 {
        now
    }

    fn lasts_ns(&self, word: u64, _: u64, now: u64) -> u64 {
        self.by_den.floor(word.saturating_sub(now.saturating_mul(self.den)))
    }

    fn lease(&self) -> Option<Lease> {
        let is_queue = self.undelayed < self.tau;
        Some(Lease {
            capacity: u64::from(self.capacity.get()),
            drain: Drain::Evenly { num: self.num, by_num: self.by_num, den: self.den },
            burst_ns: self.by_den.floor(self.tau),
            undelayed_ns: is_queue.then(|| self.by_den.floor(self.undelayed)),
            one_by_one: is_queue,
        })
    }
}
