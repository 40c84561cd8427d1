//! Regimes: what a limiter decides by in each generation of its policy.

use core::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};

use super::generations::Generations;
use super::states::Layers;
use super::tables::LayerTable;
use super::words::WordTable;
use crate::error::{BuildError, RegionError};
use crate::table::Lookup;
use crate::table::era::{Era, InForce, Lineage};
use crate::table::log::LogTable;
use ratecell_core::algorithm::{Kernel, Lend, Plan};
use ratecell_core::{Decision, Generation, Policy, Request, with_kernel};

/// How often a regime is made that is not in force any more when it is there.
const ATTEMPTS: usize = 1_000;

/// A policy in force, with what decides by it.
#[derive(Debug)]
pub(super) struct Regime {
    pub(super) number: u64,
    pub(super) policy: Arc<Policy>,
    pub(super) layers: Layers<WordTable, LogTable>,
    /// The generations of the table's policy up to this one, the last.
    pub(super) lineage: Lineage,
}

impl Regime {
    /// The regime of the last generation of `lineage`, over the same tables. `None` if another has been put in force since, or
    /// no policy could follow so.
    fn followed_by(&self, lineage: &Lineage, in_force: &InForce) -> Option<Self> {
        let (held, next) = (self.lineage.last()?, lineage.last()?);
        let policy = self.policy.beside(held.policy(), next.policy());
        let plans = policy.layers().iter().map(|layer| layer.plan());
        let era = |layer| Era::last_of(in_force.clone(), lineage, layer);
        let layers = self.layers.iter().zip(plans).enumerate().map(|(number, (layer, plan))| {
            match (layer, plan) {
                (LayerTable::Words(before, words), Plan::Word(kernel)) => {
                    let words = match words {
                        WordTable::Own(table) => WordTable::Own(table.in_era(era(number))),
                        #[cfg(feature = "rules")]
                        WordTable::Mixed(words) => WordTable::Mixed(words.followed_by(lineage)?),
                    };
                    let kernel = match before {
                        Kernel::Lease(_) => {
                            Kernel::Lease(with_kernel!(&kernel, algorithm => algorithm.lease())?)
                        }
                        _ => kernel,
                    };
                    Some(LayerTable::Words(kernel, words))
                }
                (LayerTable::Logs(_, table), Plan::Log(log)) => {
                    Some(LayerTable::Logs(log, table.in_era(era(number))))
                }
                // No policy follows one of other words.
                _ => None,
            }
        });
        let layers = layers.collect::<Option<Vec<_>>>()?.into_iter().collect();
        Some(Self { number: next.number(), policy: Arc::new(policy), layers, lineage: Arc::clone(lineage) })
    }

    /// Decides a request; superseded, if the policy is changed meanwhile.
    pub(super) fn decide(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        if let Layers::One(LayerTable::Words(Kernel::Gcra(gcra), table)) = &self.layers
            && request.is_plain()
        {
            let (cost, known) = (request.units(), table.try_hit(gcra, h, now, request.units()));
            return known.unwrap_or_else(|lookup| self.layers.decide_cost(h, now, cost, lookup));
        }
        self.layers.decide_apart(h, now, request)
    }

    /// Decides a plain request by the lease that is held, if there is one.
    #[inline]
    pub(super) fn decide_held(&self, h: u64, now: u64, cost: u32) -> Decision {
        let known = match &self.layers {
            Layers::One(LayerTable::Words(Kernel::Lease(lease), table)) => table.try_hit(lease, h, now, cost),
            _ => Err(Lookup::NotYet),
        };
        known.unwrap_or_else(|lookup| self.layers.decide_cost(h, now, cost, lookup))
    }

    /// Whether what was charged so many generations ago can be given back in the layer of that number.
    pub(super) fn can_give_back(&self, layer: usize, generations_ago: u16) -> bool {
        let generations_ago = usize::from(generations_ago);
        let then = self.lineage.iter().rev().nth(generations_ago);
        // Policies of others have changed: each word has stayed what it was.
        if then.is_some() && self.lineage.iter().rev().take(generations_ago).all(Generation::is_repeated) {
            return true;
        }
        match (then, self.lineage.last()) {
            (Some(then), Some(now)) => then.is_held_in(now, layer),
            (None, Some(now)) => now.has_fixed_times(layer),
            (_, None) => false,
        }
    }

    /// Carries all words in tables of its own to this generation; says no if it is not in force any more.
    pub(super) fn sweep(&self, skips_unused: bool) -> bool {
        self.layers.iter().all(|layer| match layer {
            LayerTable::Words(_, WordTable::Own(table)) => table.sweep(skips_unused),
            #[cfg(feature = "rules")]
            LayerTable::Words(_, WordTable::Mixed(_)) => true,
            LayerTable::Logs(..) => true,
        })
    }
}

/// The regimes of a limiter: the one that it was made with, and the newest that it has needed since.
#[derive(Debug)]
pub(super) struct Regimes {
    pub(super) first: Regime,
    later: ArcSwapOption<Regime>,
    in_force: InForce,
    pub(super) generations: Generations,
}

/// The regime that a limiter decides by.
#[derive(Debug)]
pub(super) enum Reigning<'l> {
    First(&'l Regime),
    /// The first one stands for one that is not there, which is none that was loaded.
    Later(Guard<Option<Arc<Regime>>>, &'l Regime),
}

impl Deref for Reigning<'_> {
    type Target = Regime;

    #[inline]
    fn deref(&self) -> &Regime {
        match self {
            Self::First(first) => first,
            Self::Later(later, first) => later.as_deref().unwrap_or(first),
        }
    }
}

impl Regimes {
    pub(super) fn new(first: Regime, generations: Generations) -> Self {
        let in_force = generations.in_force().clone();
        Self { first, later: ArcSwapOption::const_empty(), in_force, generations }
    }

    /// Whether that regime is the one in force.
    #[inline(always)]
    pub(super) fn is_in_force(&self, regime: &Regime) -> bool {
        self.in_force.number() == regime.number
    }

    #[inline(always)]
    pub(super) fn is_first_in_force(&self) -> bool {
        self.is_in_force(&self.first)
    }

    /// The regime in force. A caller that decides by it has read its clock before, so that nothing is decided by an older
    /// policy at an instant after the change.
    ///
    /// # Errors
    /// The region's record of its policy cannot be read.
    #[inline]
    pub(super) fn reigning(&self) -> Result<Reigning<'_>, BuildError> {
        if self.is_first_in_force() { Ok(Reigning::First(&self.first)) } else { self.later() }
    }

    /// The regime of that number; `None` if another is in force.
    ///
    /// # Errors
    /// It cannot be made.
    #[cfg(feature = "rules")]
    #[inline]
    pub(super) fn numbered(&self, number: u64) -> Result<Option<Reigning<'_>>, BuildError> {
        if self.in_force.number() != number {
            return Ok(None);
        }
        let reigning = self.reigning();
        // A table that a change has left out answers no number after it: that is another in force, and no error.
        if self.in_force.number() != number {
            return Ok(None);
        }
        Ok(Some(reigning?).filter(|regime| regime.number == number))
    }

    /// Lets go what the newest regime holds, which is not in force any more.
    #[cfg(feature = "rules")]
    pub(super) fn let_go(&self) {
        self.later.store(None);
    }

    /// Carries all words to the generation in force, if the next one has the bits of one whose words may still be there. One
    /// caller at a time changes the policy.
    ///
    /// # Errors
    /// The region's record of its policy cannot be read, or another caller has changed it.
    pub(super) fn sweep_if_due(&self) -> Result<(), BuildError> {
        let regime = self.reigning()?;
        // The bits of the generation after this one are those of the one that is three before.
        if self.generations.swept().saturating_add(2) < regime.number {
            if !regime.sweep(self.generations.spares_memory()) {
                return Err(RegionError::Corrupt.into());
            }
            self.generations.set_swept(regime.number);
        }
        Ok(())
    }

    /// The regime in force, for what has no error to answer: the first one, where that cannot be read.
    pub(super) fn reigning_or_first(&self) -> Reigning<'_> {
        self.reigning().unwrap_or(Reigning::First(&self.first))
    }

    /// The regime in force, made if it is not there yet: that parses and allocates. A panic there, which would be a bug, is
    /// an error: callers of a check are promised none.
    #[cold]
    #[inline(never)]
    fn later(&self) -> Result<Reigning<'_>, BuildError> {
        let made = catch_unwind(AssertUnwindSafe(|| self.made()));
        made.unwrap_or(Err(RegionError::Corrupt.into()))
    }

    fn made(&self) -> Result<Reigning<'_>, BuildError> {
        for _ in 0..ATTEMPTS {
            let later = self.later.load();
            let number = self.in_force.number();
            if later.as_deref().is_some_and(|later| later.number == number) {
                return Ok(Reigning::Later(later, &self.first));
            }
            let lineage = self.generations.lineage()?;
            if self.generations.are_left_behind(&lineage, number) {
                break;
            }
            // From the first one: what is a limiter's own does not depend on which generations it has seen.
            match self.first.followed_by(&lineage, &self.in_force) {
                Some(next) => self.later.store(Some(Arc::new(next))),
                None if self.in_force.number() == number => break,
                None => {}
            }
        }
        // The number is none that a change has put in force.
        Err(RegionError::Corrupt.into())
    }
}
