//! Limiters whose policies change at once: they have the number of the generation in force in common.
//!
//! Each has its own policies by that number. Where only some of the policies change, the others get the number alone, and
//! their words stay as they are.

use std::sync::MutexGuard;

use super::{Generations, Own, Record, latest, number_in_force};
use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::limiter::{Limiter, LimiterBuilder};
use crate::memory::{Memory, MemoryError};
use crate::table::era::InForce;
use ratecell_core::{Decision, Generation, Layer, Policy, Request};

/// What limiters have in common whose policies change at once, by one caller at a time.
#[derive(Debug)]
pub(crate) struct Family {
    in_force: InForce,
}

/// Limiters of a family whose next generations can be put in force: nothing can go wrong any more.
#[must_use = "nothing has changed yet"]
pub(crate) struct Ready<'l> {
    in_force: &'l InForce,
    next: Vec<Next<'l>>,
}

struct Next<'l> {
    own: &'l Own,
    generation: Generation,
    /// Whether its policy is another.
    is_other: bool,
}

impl Family {
    pub(crate) fn new() -> Result<Self, MemoryError> {
        Ok(Self { in_force: number_in_force()? })
    }

    /// That of the generation in force.
    pub(crate) fn number(&self) -> u64 {
        self.in_force.number()
    }

    /// Builds a limiter of the family, whose first generation has this number: the one in force, or the next one, if nobody
    /// decides by the limiter before that is in force.
    pub(crate) fn build(
        &self,
        builder: LimiterBuilder,
        number: u64,
        clock: Clock,
        memory: fn(usize) -> Result<Memory, MemoryError>,
    ) -> Result<Limiter, BuildError> {
        builder.build_by(clock, memory, |policy| {
            // Capacities are 32-bit parameters.
            let reach = policy.layers().iter().map(|layer| layer.capacity() as u32).collect();
            Ok(Own::of(self.in_force.clone(), Generation::recorded(policy, number, reach, 0)?))
        })
    }

    /// Makes all limiters of the family ready for a change of some of them: those with a generation get it, which is the one
    /// [after](Limiter::followed_by) their own, and the others the number alone. Limiters that are left out answer no one
    /// after the change.
    ///
    /// Every third time all words are carried before, while requests are decided: see the [sweep](crate::table::sweep).
    ///
    /// # Errors
    /// A generation cannot be made: nothing has changed.
    pub(crate) fn ready<'l>(
        &'l self,
        limiters: impl Iterator<Item = (&'l Limiter, Option<Generation>)>,
    ) -> Result<Ready<'l>, BuildError> {
        let mut next = Vec::new();
        for (limiter, other) in limiters {
            let Generations::Own(own) = &limiter.regimes.generations else {
                return Err(RegionError::Corrupt.into());
            };
            limiter.regimes.sweep_if_due()?;
            let is_other = other.is_some();
            let generation = match (other, limiter.regimes.generations.lineage()?.last()) {
                (Some(other), _) => other,
                (None, Some(held)) => held.repeated(),
                (None, None) => return Err(BuildError::NoPolicy),
            };
            next.push(Next { own, generation, is_other });
        }
        Ok(Ready { in_force: &self.in_force, next })
    }
}

impl Ready<'_> {
    /// Puts all of them in force by one step, from `now_ns` on or else from a moment later than any decision by the policies
    /// before.
    pub(crate) fn put_in_force(self, now_ns: Option<u64>, clock: &Clock) {
        let Self { in_force, next } = self;
        let Some(number) = next.first().map(|one| one.generation.number()) else { return };
        // A caller that finds the number waits for the record of its limiter.
        let mut records: Vec<MutexGuard<'_, Record>> = next.iter().map(|one| one.own.record()).collect();
        // Nobody else can have changed the number: the changes of a family come one after the other.
        let _ = in_force.advance(number.wrapping_sub(1));
        let now = now_ns.unwrap_or_else(|| latest(clock));
        for (record, Next { generation, is_other, .. }) in records.iter_mut().zip(&next) {
            let at = if *is_other { now.max(generation.at_ns()) } else { generation.at_ns() };
            record.follow(generation.clone().since(at));
        }
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
