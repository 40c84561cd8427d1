//! The uses of leases, and the checks that each of them must pass.

use std::collections::HashMap;

use ratecell_core::algorithm::{Algorithm, Kernel};
use ratecell_core::{Generation, Policy, with_kernel};
use ratecell_sync::Words;

use crate::machine::kernels;

/// A request that was admitted by a lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// The instant by which it was judged: the store's at the grant, and the machine's time since.
    pub(crate) instant: u64,
    /// The same, less what the machine's clock may be too fast: never later than `shown`.
    pub(crate) latest: u64,
    /// What the store's clock showed then.
    pub(crate) shown: u64,
    pub(crate) machine: usize,
    pub(crate) cost: u32,
    /// The generation that the machine knew of, and that of the lease.
    pub(crate) known: u64,
    pub(crate) lent: u64,
}

/// All that was granted and used of a key.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) uses: Vec<Use>,
    /// By machine and layer, where the layer has slots: the tick at which each begins.
    pub(crate) slots: HashMap<(usize, usize), Vec<u64>>,
}

/// What the checks found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    pub(crate) uses: u64,
    /// Uses that one limiter refuses, by their instants.
    pub(crate) refused: u64,
    /// Those that it refuses by the latest instants at which they can have been judged.
    pub(crate) refused_later: u64,
    /// Uses of what machines granted by their part of the policy, and those that this part refuses.
    pub(crate) local: u64,
    pub(crate) refused_local: u64,
    /// Uses without a slot of their own.
    pub(crate) slotless: u64,
    /// Uses judged by an instant that the store's clock had not shown yet.
    pub(crate) early: u64,
    /// Uses of machines that had not heard of a change, the most of them of a key and a generation, and those beyond its
    /// burst.
    pub(crate) unheard: u64,
    pub(crate) most_unheard: u64,
    pub(crate) beyond_burst: u64,
}

impl Findings {
    pub(crate) fn add(&mut self, other: Self) {
        self.uses += other.uses;
        self.refused += other.refused;
        self.refused_later += other.refused_later;
        self.local += other.local;
        self.refused_local += other.refused_local;
        self.slotless += other.slotless;
        self.early += other.early;
        self.unheard += other.unheard;
        self.most_unheard = self.most_unheard.max(other.most_unheard);
        self.beyond_burst += other.beyond_burst;
    }

    pub(crate) fn is_clean(&self) -> bool {
        let refused = self.refused + self.refused_later + self.refused_local;
        refused + self.slotless + self.early + self.beyond_burst == 0
    }
}

/// The uses that one limiter refuses, of these in the order of their instants. Those that it refuses are not charged.
pub(crate) fn refused(kernels: &[Kernel], uses: impl IntoIterator<Item = (u64, u32)>) -> u64 {
    let mut uses: Vec<_> = uses.into_iter().collect();
    uses.sort_unstable();
    let mut words: Words = kernels.iter().map(|_| 0).collect();
    let mut refused = 0;
    for (instant, cost) in uses {
        let charged = kernels.iter().zip(&words).map(
            |(kernel, word)| with_kernel!(kernel, algorithm => algorithm.step(*word, instant, cost).charged),
        );
        match charged.collect::<Option<Words>>() {
            Some(charged) => words = charged,
            None => refused += 1,
        }
    }
    refused
}

/// One limiter that changes at the record's instants.
fn refused_by_all<'u>(generations: &[Generation], uses: impl Iterator<Item = (u64, &'u Use)>) -> u64 {
    let mut uses: Vec<_> = uses.map(|(instant, one)| (instant, one.cost)).collect();
    uses.sort_unstable();
    let Some((first, mut later)) = generations.split_first() else { return uses.len() as u64 };
    let (mut now, mut refused) = (first, 0);
    let mut words: Words = kernels(first.policy()).iter().map(|_| 0).collect();
    for (instant, cost) in uses {
        while let Some((next, rest)) = later.split_first().filter(|(next, _)| next.at_ns() <= instant) {
            for (layer, word) in words.iter_mut().enumerate() {
                *word = now.changed(next, layer, *word);
            }
            (now, later) = (next, rest);
        }
        let kernels = kernels(now.policy());
        let charged = kernels.iter().zip(&words).map(
            |(kernel, word)| with_kernel!(kernel, algorithm => algorithm.step(*word, instant, cost).charged),
        );
        match charged.collect::<Option<Words>>() {
            Some(charged) => words = charged,
            None => refused += 1,
        }
    }
    refused
}

impl History {
    /// Checks the uses of a key under policies that follow each other, the first one from the beginning on. A use is heard if
    /// its machine knows the generation in force then.
    pub(crate) fn changed(&self, generations: &[Generation]) -> Findings {
        let in_force = |instant: u64| {
            let begun = generations.iter().rev().find(|one| one.at_ns() <= instant);
            begun.or(generations.first()).map_or(0, Generation::number)
        };
        let (heard, unheard): (Vec<&Use>, Vec<&Use>) =
            self.uses.iter().partition(|one| one.known >= in_force(one.instant));
        let mut of: HashMap<u64, u64> = HashMap::new();
        for one in &unheard {
            *of.entry(one.lent).or_default() += u64::from(one.cost);
        }
        let beyond = of.iter().map(|(number, units)| {
            let policy = generations.iter().find(|one| one.number() == *number).map(Generation::policy);
            units.saturating_sub(policy.map_or(0, Policy::capacity))
        });
        Findings {
            uses: self.uses.len() as u64,
            refused: refused_by_all(generations, heard.iter().map(|one| (one.instant, *one))),
            early: self.uses.iter().filter(|one| one.latest > one.shown).count() as u64,
            unheard: unheard.len() as u64,
            most_unheard: of.values().copied().max().unwrap_or(0),
            beyond_burst: beyond.sum(),
            ..Findings::default()
        }
    }

    /// Checks the uses of a key. `dens` are the ticks of a nanosecond of each layer that has slots. Where the store's clock
    /// was set, what it showed says nothing.
    pub(crate) fn findings(&self, kernels: &[Kernel], dens: &[Option<u64>], clock_was_set: bool) -> Findings {
        let by =
            |instant: fn(&Use) -> u64| refused(kernels, self.uses.iter().map(|one| (instant(one), one.cost)));
        let early = self.uses.iter().filter(|one| !clock_was_set && one.latest > one.shown).count() as u64;
        Findings {
            uses: self.uses.len() as u64,
            refused: by(|one| one.instant),
            refused_later: by(|one| one.latest),
            slotless: self.slotless(dens),
            early,
            ..Findings::default()
        }
    }

    /// Each unit needs a slot that begins at its instant or later. Of nested sets it is enough to compare the latest of both,
    /// the second to last, and so on.
    fn slotless(&self, dens: &[Option<u64>]) -> u64 {
        let mut without = 0;
        for (layer, den) in dens.iter().enumerate().filter_map(|(layer, den)| Some((layer, (*den)?))) {
            let mut units: HashMap<usize, Vec<u64>> = HashMap::new();
            for one in &self.uses {
                let all = units.entry(one.machine).or_default();
                all.extend((0..one.cost).map(|_| one.instant * den));
            }
            for (machine, mut units) in units {
                let mut slots = self.slots.get(&(machine, layer)).cloned().unwrap_or_default();
                slots.sort_unstable_by(|a, b| b.cmp(a));
                units.sort_unstable_by(|a, b| b.cmp(a));
                let mut slots = slots.into_iter().peekable();
                for unit in units {
                    // A slot that begins before this unit may still serve an earlier one.
                    without += u64::from(slots.next_if(|begins| *begins >= unit).is_none());
                }
            }
        }
        without
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_needs_a_slot_of_its_own() {
        let one = |at| Use { instant: at, latest: at, shown: at, machine: 0, cost: 1, known: 0, lent: 0 };
        let slots = HashMap::from([((0, 0), vec![10, 30, 20])]);
        let history = |instants: &[u64]| History {
            uses: instants.iter().map(|at| one(*at)).collect(),
            slots: slots.clone(),
        };
        assert_eq!(history(&[5, 20, 25]).slotless(&[Some(1)]), 0);
        assert_eq!(history(&[5, 25, 25]).slotless(&[Some(1)]), 1);
        assert_eq!(history(&[1, 1, 1, 1]).slotless(&[Some(1)]), 1);
        assert_eq!(history(&[1, 1, 1, 1]).slotless(&[None]), 0);
    }
}
