//! Deciding without the store: by a machine's part of the policy, while the store is away.

use std::collections::HashMap;

use ratecell_core::algorithm::{Algorithm, GRACE_NS, Kernel, Lease, Lend};
use ratecell_core::{Generation, Policy, with_kernel};

use super::known::Missed;
use super::{Agent, Effect, Layer, layers};
use crate::store::{StoreError, StoreErrorKind};
use crate::{Layered, Words};

/// Keys that are decided here at once; beyond, those whose words are fresh are forgotten.
const MOST_KEYS: usize = 1 << 17;

const LONGEST_DENIAL_NS: u64 = 1_000_000_000;

/// A part of the policy, and the words of the keys that were decided by it.
#[derive(Debug)]
pub(super) struct Local {
    layers: Vec<Layer>,
    /// Those of the whole policy, by which the table decides on leases.
    whole: Vec<Layer>,
    words: HashMap<u64, Words>,
    machines: u32,
    part: Generation,
}

impl Local {
    pub(super) fn new(policy: &Policy, machines: u32) -> Result<Self, StoreError> {
        let part = policy.divided(machines).map_err(|error| {
            let text = format!("\"{policy}\" cannot be divided among {machines} machines: {error}");
            StoreError::new(StoreErrorKind::Mismatch, text)
        })?;
        let layers_of_part = layers(&part)?;
        if layers_of_part.iter().any(|layer| matches!(layer.kernel, Kernel::CalendarWindow(_))) {
            // Its instants are those of the machine's clock, which counts from a Monday of its own.
            let text = format!(
                "\"{policy}\" cannot be decided without the store: expected no calendar_window with on_failure local"
            );
            return Err(StoreError::new(StoreErrorKind::Mismatch, text));
        }
        Ok(Self {
            layers: layers_of_part,
            whole: layers(policy)?,
            words: HashMap::new(),
            machines,
            part: Generation::first(part),
        })
    }

    pub(super) fn machines(&self) -> u32 {
        self.machines
    }

    /// The part of another policy, under which what was used stays used: `now` is by the machine's clock.
    pub(super) fn followed_by(self, policy: &Policy, now: u64) -> Result<Self, StoreError> {
        let next = Self::new(policy, self.machines)?;
        let part = self.part.followed_by(next.part.policy(), now).map_err(|error| {
            StoreError::new(StoreErrorKind::Mismatch, format!("a part of \"{policy}\": {error}"))
        })?;
        let Some(part) = part else { return Ok(Self { whole: next.whole, ..self }) };
        let carried = |words: Words| {
            words.iter().enumerate().map(|(layer, word)| self.part.changed(&part, layer, *word)).collect()
        };
        let words = self.words.into_iter().map(|(h, words)| (h, carried(words))).collect();
        Ok(Self { layers: layers(part.policy())?, words, part, ..next })
    }

    /// What was decided of the key is forgotten.
    pub(super) fn forget(&mut self, h: u64) {
        self.words.remove(&h);
    }

    /// The words of a lease of `units`, with their number; or those of a denial, and 0.
    pub(super) fn decide(&mut self, h: u64, units: u64, now: u64) -> (Layered<Option<u64>>, u64) {
        self.make_room(now);
        let cost = u32::try_from(units).unwrap_or(u32::MAX);
        let words = self.words.entry(h).or_insert_with(|| self.layers.iter().map(|_| 0).collect());
        let both = self.layers.iter().zip(words.iter());
        let steps: Layered<_> = both
            .map(|(Layer { kernel, .. }, word)| with_kernel!(kernel, algorithm => algorithm.step(*word, now, cost)))
            .collect();
        let charged: Option<Words> = steps.iter().map(|step| step.charged).collect();
        let Some(charged) = charged else {
            let both = self.layers.iter().zip(words.iter());
            let denied = both.zip(&steps).map(|((Layer { kernel, .. }, word), step)| {
                let one = with_kernel!(kernel, algorithm => algorithm.step(*word, now, 1));
                // Units that are too many say nothing of one.
                let (above, refused) = if one.charged.is_some() { (units - 1, step) } else { (0, &one) };
                // The store may be back before.
                let wait = refused.decision.retry_after_ns().min(LONGEST_DENIAL_NS);
                (refused.charged.is_none()).then(|| Lease::denied_above(above, now.saturating_add(wait)))
            });
            return (denied.collect(), 0);
        };
        *words = charged.clone();
        let leases = self.layers.iter().zip(&self.whole).zip(charged).map(|((part, whole), word)| {
            let lasts_ns = with_kernel!(&part.kernel, algorithm => algorithm.lasts_ns(word, units, now));
            let alone_ns = |layer: &Layer| {
                with_kernel!(&layer.kernel, algorithm => {
                    let alone = algorithm.step(0, now, cost).charged.unwrap_or(0);
                    algorithm.lasts_ns(alone, units, now)
                })
            };
            // In the table units pass by the whole policy's rate, which is faster: so they begin to pass at once. A queue's
            // delay is told by their end: they pass as if the first slot began where it does, and each took the whole
            // policy's time. Then no unit is used after its slot has begun.
            let lasts_ns = if whole.lease.is_one_by_one() {
                lasts_ns.saturating_sub(alone_ns(part).saturating_sub(alone_ns(whole)))
            } else {
                lasts_ns.min(alone_ns(whole))
            };
            Some(Lease::granted(now.saturating_add(GRACE_NS).saturating_add(lasts_ns), units))
        });
        (leases.collect(), units)
    }

    fn make_room(&mut self, now: u64) {
        if self.words.len() < MOST_KEYS {
            return;
        }
        let layers = &self.layers;
        self.words.retain(|_, words| {
            layers.iter().zip(words).any(|(Layer { kernel, .. }, word)| {
                with_kernel!(kernel, algorithm => !algorithm.is_fresh(*word, now))
            })
        });
        if self.words.len() >= MOST_KEYS {
            self.words.retain(|h, _| h % 2 == 0);
        }
    }
}

impl Agent {
    /// Decides the key by this machine's part of the policy, if it has one. Otherwise its callers decide.
    pub(super) fn decide_away(&mut self, h: u64, now: u64) {
        let Some(known) = self.keys.get_mut(&h) else { return };
        let Missed { units, fill, forget, .. } = known.missed;
        // That the store is to forget it waits for the store.
        known.missed = Missed { forget, queued: forget, ..Missed::default() };
        let Some(local) = &mut self.local else { return };
        let want = if fill { 1 } else { units.max(1) };
        let (words, units) = local.decide(h, want, now);
        // A lease that can be used is not denied.
        if units > 0 || known.usable == 0 {
            self.counts.local += units;
            known.left = units;
            known.usable = units;
            known.counted = known.counted.min(units);
            self.effects.push(Effect::of_words(h, words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratecell_core::Outcome::{Asked, Denied};
    use ratecell_core::algorithm::Plan;

    #[test]
    fn units_pass_no_later_than_their_slots() {
        const SECOND: u64 = 1_000_000_000;
        let policy: Policy = "1/s burst=20".parse().expect("a policy");
        let mut local = Local::new(&policy, 10).expect("a part");
        let (words, units) = local.decide(1, 2, 0);
        assert_eq!(units, 2);
        // A slot of the part begins at 0, another after ten seconds; the table lets one pass each second.
        let word = words[0].expect("a lease");
        assert!(Lease::deadline_ns(word) <= GRACE_NS + 2 * SECOND);
        let [layer] = policy.layers() else { panic!("one layer") };
        let Plan::Word(kernel) = layer.plan() else { panic!("a word") };
        let lease = with_kernel!(kernel, algorithm => algorithm.lease()).expect("a lease");
        assert_eq!(lease.units(word, GRACE_NS / 2), 2);
        assert_eq!(lease.units(word, SECOND), 1);
        assert_eq!(lease.units(word, 2 * SECOND), 0);
        // No more until the first of them is over.
        let (denied, none) = local.decide(1, 1, SECOND);
        assert_eq!((none, Lease::left(denied[0].expect("a denial"))), (0, 0));
        assert_eq!(local.decide(1, 1, 10 * SECOND).1, 1);
    }

    #[test]
    fn a_place_in_a_queue_is_used_until_its_slot_begins() {
        const SECOND: u64 = 1_000_000_000;
        let policy: Policy = "leaky_queue 10/s queue=20".parse().expect("a policy");
        let [layer] = policy.layers() else { panic!("one layer") };
        let Plan::Word(kernel) = layer.plan() else { panic!("a word") };
        let lease = with_kernel!(kernel, algorithm => algorithm.lease()).expect("a lease");
        let mut local = Local::new(&policy, 10).expect("a part");
        // The part's slots begin at 0, and a second later.
        for begins in [0, SECOND] {
            let (words, units) = local.decide(1, 1, 0);
            let word = words[0].expect("a lease");
            assert_eq!(units, 1);
            let step = lease.step(word, 0, 1).decision;
            assert!(step.delay_ns().abs_diff(begins) <= 1 << 14, "{begins}: {step:?}");
            let at = |instant: u64| lease.units(word, instant);
            assert_eq!([at(begins), at(begins + GRACE_NS + 1), at(begins + SECOND / 2)], [1, 0, 0]);
        }
    }

    #[test]
    fn a_cost_that_is_too_great_denies_no_smaller_one() {
        const SECOND: u64 = 1_000_000_000;
        let policy: Policy = "1/s burst=20".parse().expect("a policy");
        let [layer] = policy.layers() else { panic!("one layer") };
        let Plan::Word(kernel) = layer.plan() else { panic!("a word") };
        let lease = with_kernel!(kernel, algorithm => algorithm.lease()).expect("a lease");
        let mut local = Local::new(&policy, 10).expect("a part");
        let outcome = |word: Option<u64>, now, cost| {
            let word = word.expect("a denial");
            lease.step(word, now, cost).decision.outcome()
        };
        // More than the part ever has, and more than it has now.
        let (denied, units) = local.decide(1, 3, 0);
        assert_eq!(units, 0);
        assert_eq!([3, 2, 1].map(|cost| outcome(denied[0], 0, cost)), [Denied, Asked, Asked]);
        assert_eq!(local.decide(1, 1, 0).1, 1);
        let (denied, units) = local.decide(1, 2, 0);
        assert_eq!((units, outcome(denied[0], 0, 2), outcome(denied[0], 0, 1)), (0, Denied, Asked));
        // Of one unit the wait is that for one.
        assert_eq!(local.decide(2, 2, 0).1, 2);
        let (denied, units) = local.decide(2, 2, 9 * SECOND + SECOND / 2);
        assert_eq!((units, outcome(denied[0], 10 * SECOND - 1, 1)), (0, Denied));
        assert_eq!(outcome(denied[0], 10 * SECOND + (1 << 14), 1), Asked);
    }
}
