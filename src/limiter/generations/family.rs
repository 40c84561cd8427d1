//! Limiters whose policies change at once: they have the number of the generation in force in common.
//!
//! Each has its own policies by that number. Where only some of the policies change, the others get the number alone, and
//! their words stay as they are.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Generations, Own, Record, latest, number_in_force};
use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::limiter::mixed::{Next, Places};
use crate::limiter::tables::LayerTable;
use crate::limiter::{Limiter, LimiterBuilder};
use crate::memory::MemoryError;
use crate::table::era::{Era, InForce};
use crate::table::log::LogTable;
use ratecell_core::algorithm::Plan;
use ratecell_core::{Decision, Generation, Layer, Policy, Request};

/// What limiters have in common whose policies change at once, by one caller at a time.
#[derive(Debug)]
pub(crate) struct Family {
    in_force: InForce,
    /// Held while its limiters are made and changed.
    changing: Mutex<()>,
}

/// Limiters of a family whose next generations can be put in force: nothing can go wrong any more.
#[must_use = "nothing has changed yet"]
pub(crate) struct Ready<'l> {
    in_force: &'l InForce,
    /// Of the generation in force.
    number: u64,
    limiters: Vec<Changing<'l>>,
    tables: Next,
}

struct Changing<'l> {
    limiter: &'l Limiter,
    own: &'l Own,
    generation: Generation,
    /// Whether its policy is another.
    is_other: bool,
}

impl Family {
    pub(crate) fn new() -> Result<Self, MemoryError> {
        Ok(Self { in_force: number_in_force()?, changing: Mutex::new(()) })
    }

    /// That of the generation in force.
    pub(crate) fn number(&self) -> u64 {
        self.in_force.number()
    }

    pub(in crate::limiter) fn in_force(&self) -> &InForce {
        &self.in_force
    }

    /// Nobody else makes or changes its limiters until this is dropped.
    pub(crate) fn exclusively(&self) -> MutexGuard<'_, ()> {
        // A change that panicked has put nothing in force, or all of it.
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds a limiter of the family, with its words in these tables, of which it gets the numbers when they are
    /// [committed](Places::commit).
    pub(crate) fn build(
        &self,
        builder: LimiterBuilder,
        clock: &Clock,
        places: &mut Places<'_>,
    ) -> Result<Limiter, BuildError> {
        let (max_keys, when_full) = (builder.room(), builder.when_full.unwrap_or_default());
        let own = |policy: &Policy| {
            // Capacities are 32-bit parameters.
            let reach = policy.layers().iter().map(|layer| layer.capacity() as u32).collect();
            Ok(Own::of(self.in_force.clone(), Generation::recorded(policy, places.generation(), reach, 0)?))
        };
        let (policy, generations) = builder.policy_by(clock, own)?;
        let lineage = generations.lineage()?;
        let words = places.words(&lineage)?.into_iter();
        let layers = policy.layers().iter().map(Layer::plan).enumerate().zip(words);
        let layers = layers.map(|((number, plan), words)| match (plan, words) {
            (Plan::Word(kernel), Some(words)) => Ok(LayerTable::Words(kernel, words)),
            (Plan::Log(log), _) => {
                let era = Era::last_of(self.in_force.clone(), &lineage, number);
                Ok(LayerTable::Logs(log, LogTable::for_keys(max_keys, when_full, era)?))
            }
            (Plan::Word(_), None) => Err(BuildError::too_large()),
        });
        let layers = layers.collect::<Result<_, _>>()?;
        Limiter::of_layers(policy, layers, generations, lineage, clock.clone())
    }

    /// Makes limiters of the family ready for a change of some of them: those with a generation get it, which is the one
    /// [after](Limiter::followed_by) their own, and the others the number alone. `tables` are those of all limiters that decide
    /// after the change, with the numbers of those that were made for it. Limiters that are left out answer no one after it.
    ///
    /// Every third time all words are carried before, while requests are decided: see the [sweep](crate::table::sweep).
    ///
    /// # Errors
    /// A generation cannot be made: nothing has changed.
    pub(crate) fn ready<'l>(
        &'l self,
        limiters: impl Iterator<Item = (&'l Limiter, Option<Generation>)>,
        tables: Next,
    ) -> Result<Ready<'l>, BuildError> {
        tables.sweep_if_due()?;
        let number = self.number();
        let mut changing = Vec::new();
        for (limiter, other) in limiters {
            let Generations::Own(own) = &limiter.regimes.generations else {
                return Err(RegionError::Corrupt.into());
            };
            let is_other = other.is_some();
            let generation = match (other, limiter.regimes.generations.lineage()?.last()) {
                (Some(other), _) => other,
                (None, Some(held)) if held.number() > number => continue,
                (None, Some(held)) => held.repeated(),
                (None, None) => return Err(BuildError::NoPolicy),
            };
            changing.push(Changing { limiter, own, generation, is_other });
        }
        Ok(Ready { in_force: &self.in_force, number, limiters: changing, tables })
    }
}

impl Ready<'_> {
    /// Puts all of them in force by one step, from `now_ns` on or else from a moment later than any decision by the policies
    /// before.
    pub(crate) fn put_in_force(self, now_ns: Option<u64>, clock: &Clock) {
        let Self { in_force, number, limiters, tables } = self;
        // A caller that finds the number waits for the record of its limiter, and then finds its tables in that generation.
        let mut records: Vec<MutexGuard<'_, Record>> = limiters.iter().map(|one| one.own.record()).collect();
        // Nobody else can have changed the number: the changes of a family come one after the other.
        let _ = in_force.advance(number);
        let now = now_ns.unwrap_or_else(|| latest(clock));
        for (record, Changing { limiter, generation, is_other, .. }) in records.iter_mut().zip(&limiters) {
            let at = if *is_other { now.max(generation.at_ns()) } else { generation.at_ns() };
            record.follow(generation.clone().since(at));
            tables.stays(limiter, &record.lineage);
            limiter.regimes.let_go();
        }
        tables.put_in_force(number.saturating_add(1));
    }
}

impl Limiter {
    /// Whether `policy` may follow the one in force over the same words.
    pub(crate) fn is_of_kind(&self, policy: &Policy) -> bool {
        let held = self.policy();
        let mut layers = policy.layers().iter().map(Layer::plan).zip(held.layers().iter().map(Layer::plan));
        policy.layers().len() == held.layers().len() && layers.all(|(asked, held)| asked.may_follow(&held))
    }

    /// Decides by the policy of that generation; superseded, if another is in force.
    #[inline]
    pub(crate) fn decide_by(&self, number: u64, now: u64, request: &Request<'_>) -> Decision {
        match self.regimes.numbered(number) {
            Ok(Some(regime)) => regime.decide(self.hash(request), now, request),
            Ok(None) => Decision::superseded(),
            Err(_) => Decision::allowed(self.regimes.first.policy.capacity()).never(),
        }
    }
}
