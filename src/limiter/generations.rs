//! Where the generations of a limiter's policy are recorded: in this process, or in its region.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::error::BuildError;
#[cfg(all(feature = "rules", not(ratecell_model)))]
use crate::error::RegionError;
use crate::memory::{Memory, MemoryError};
use crate::table::era::{InForce, Lineage};
use ratecell_core::{Generation, Layer, Policy};

#[cfg(feature = "rules")]
mod family;
#[cfg(all(feature = "rules", not(ratecell_model)))]
mod numbers;
#[cfg(not(ratecell_model))]
mod region;

#[cfg(feature = "rules")]
pub(crate) use family::Family;
#[cfg(all(feature = "rules", not(ratecell_model)))]
pub(super) use numbers::OfNumbers;
#[cfg(all(feature = "rules", not(ratecell_model)))]
pub(super) use region::ATTEMPTS;
#[cfg(not(ratecell_model))]
pub(super) use region::OfRegion;

/// How many generations there are that a word can be of.
pub(super) const KEPT: usize = 4;

/// By how much an instant that is read after a number was put in force may be earlier than one that another caller read
/// before it loaded the number before. The processor may read its counter after a load that stands behind it in the program,
/// by as much as it executes out of order. And while chronyd slews the system's clock, a limiter's own is up to 30 us ahead.
const SLACK_NS: u64 = 40_000;

/// Held while a policy is changed, so that one change of this process comes after the other.
static CHANGING: Mutex<()> = Mutex::new(());

pub(super) fn one_at_a_time() -> MutexGuard<'static, ()> {
    // A change that panicked has put nothing in force, or all of it.
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An instant that is no earlier than any at which a caller has decided by the policy before: by one clock, after another
/// was put in force. A mock tells everybody the same.
fn latest(clock: &Clock) -> u64 {
    if clock.is_mock() {
        return clock.now();
    }
    clock.latest().saturating_add(SLACK_NS)
}

/// The generations of a table's policy.
#[derive(Clone, Debug)]
pub(super) enum Generations {
    Own(Own),
    #[cfg(not(ratecell_model))]
    OfRegion(OfRegion),
    /// In a region whose table has several policies.
    #[cfg(all(feature = "rules", not(ratecell_model)))]
    OfNumbers(OfNumbers),
}

/// Those of tables that this process alone uses.
#[derive(Clone, Debug)]
pub(super) struct Own {
    /// Limiters of one [family](family) have it in common.
    in_force: InForce,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug)]
struct Record {
    lineage: Lineage,
    swept: u64,
}

impl Own {
    pub(super) fn new(first: Generation) -> Result<Self, MemoryError> {
        Ok(Self::of(number_in_force()?, first))
    }

    /// Those of tables that are made when `first` is in force, or about to be.
    fn of(in_force: InForce, first: Generation) -> Self {
        // No word is older.
        let record = Record { swept: first.number(), lineage: Arc::new([first]) };
        Self { in_force, record: Arc::new(Mutex::new(record)) }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // Nothing that is done with it panics.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number is put in force under the lock, for which a caller that finds the number waits.
    fn put_in_force(&self, next: Generation, now_ns: Option<u64>, clock: &Clock) {
        let mut record = self.record();
        // Nobody else can have changed the number: the changes of a process come one after the other.
        let _ = self.in_force.advance(next.number().wrapping_sub(1));
        let at = now_ns.unwrap_or_else(|| latest(clock)).max(next.at_ns());
        record.follow(next.since(at));
    }
}

impl Record {
    /// `next` was made before the record was locked: a limiter that has come beside the others since has raised the last.
    fn follow(&mut self, next: Generation) {
        let raised = self.lineage.last().map_or(&[][..], Generation::reach);
        let next = next.raised(raised.iter().copied());
        let kept = self.lineage.iter().rev().take(KEPT - 1).rev().cloned();
        self.lineage = kept.chain([next]).collect();
    }
}

/// The number of the generation in force, which is 0, for tables of this process.
fn number_in_force() -> Result<InForce, MemoryError> {
    let memory = Memory::sparse(size_of::<u64>())?;
    InForce::in_memory(&memory, 0).ok_or(MemoryError::too_large(size_of::<u64>()))
}

impl Generations {
    pub(super) fn in_force(&self) -> &InForce {
        match self {
            Self::Own(own) => &own.in_force,
            #[cfg(not(ratecell_model))]
            Self::OfRegion(region) => region.in_force(),
            #[cfg(all(feature = "rules", not(ratecell_model)))]
            Self::OfNumbers(numbers) => numbers.in_force(),
        }
    }

    /// The newest generations, of which the last is in force or has been a moment ago.
    ///
    /// # Errors
    /// The region's records cannot be read.
    pub(super) fn lineage(&self) -> Result<Lineage, BuildError> {
        match self {
            Self::Own(own) => Ok(Arc::clone(&own.record().lineage)),
            #[cfg(not(ratecell_model))]
            Self::OfRegion(region) => region.lineage(),
            #[cfg(all(feature = "rules", not(ratecell_model)))]
            Self::OfNumbers(numbers) => numbers.lineage(),
        }
    }

    /// Whether no generation of that number will come, which is in force elsewhere: a change of the family has left the
    /// limiter out. A record of this process is complete once the number has been found.
    pub(super) fn are_left_behind(&self, lineage: &Lineage, number: u64) -> bool {
        matches!(self, Self::Own(_)) && lineage.last().is_none_or(|last| last.number() < number)
    }

    /// Runs `change` while no other caller changes the policy.
    ///
    /// # Errors
    /// Those of `change`; the region's file cannot be locked.
    pub(super) fn exclusively(
        &self,
        change: impl FnOnce() -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let _of_this_process = one_at_a_time();
        match self {
            Self::Own(_) => change(),
            #[cfg(not(ratecell_model))]
            Self::OfRegion(region) => {
                let _of_all = region.lock()?;
                change()
            }
            // All limits of a region change together.
            #[cfg(all(feature = "rules", not(ratecell_model)))]
            Self::OfNumbers(_) => Err(RegionError::Corrupt.into()),
        }
    }

    /// Puts `next` in force, from `now_ns` on, or with `None` from a moment later than any decision by the policy before. One
    /// caller at a time does so.
    ///
    /// # Errors
    /// The region has no room for it.
    pub(super) fn put_in_force(
        &self,
        next: Generation,
        now_ns: Option<u64>,
        clock: &Clock,
    ) -> Result<(), BuildError> {
        match self {
            Self::Own(own) => own.put_in_force(next, now_ns, clock),
            #[cfg(not(ratecell_model))]
            Self::OfRegion(region) => region.put_in_force(&next, now_ns)?,
            #[cfg(all(feature = "rules", not(ratecell_model)))]
            Self::OfNumbers(_) => return Err(RegionError::Corrupt.into()),
        }
        Ok(())
    }

    /// The generation to which all words have been carried.
    pub(super) fn swept(&self) -> u64 {
        match self {
            Self::Own(own) => own.record().swept,
            #[cfg(not(ratecell_model))]
            Self::OfRegion(region) => region.swept(),
            // The region is swept as a whole.
            #[cfg(all(feature = "rules", not(ratecell_model)))]
            Self::OfNumbers(numbers) => numbers.in_force().number(),
        }
    }

    pub(super) fn set_swept(&self, number: u64) {
        match self {
            Self::Own(own) => own.record().swept = number,
            #[cfg(not(ratecell_model))]
            Self::OfRegion(region) => region.set_swept(number),
            #[cfg(all(feature = "rules", not(ratecell_model)))]
            Self::OfNumbers(_) => {}
        }
    }

    /// Takes note of a limiter beside those that have the policy in force, before it decides.
    pub(super) fn raise(&self, policy: &Policy) {
        let capacities = || policy.layers().iter().map(Layer::capacity);
        match self {
            Self::Own(own) => {
                let mut record = own.record();
                let [earlier @ .., last] = &*record.lineage else { return };
                // Capacities are 32-bit parameters.
                let last = last.clone().raised(capacities().map(|capacity| capacity as u32));
                record.lineage = earlier.iter().cloned().chain([last]).collect();
            }
            #[cfg(not(ratecell_model))]
            Self::OfRegion(region) => region.raise(capacities()),
            // The register has the greatest capacity of all its limits.
            #[cfg(all(feature = "rules", not(ratecell_model)))]
            Self::OfNumbers(_) => {}
        }
    }

    /// Whether pages that no key has used are to stay unused.
    pub(super) fn spares_memory(&self) -> bool {
        matches!(self, Self::Own(_))
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::*;

    #[test]
    fn who_comes_beside_while_a_change_is_made_is_remembered() {
        let policy = |text: &str| text.parse::<Policy>().expect(text);
        let first = Generation::first(policy("10/s burst=10"));
        let next = first.followed_by(&policy("10/s burst=11"), 0).expect("alike").expect("another");
        let own = Generations::Own(Own::new(first).expect("memory"));
        own.raise(&policy("10/s burst=1000"));
        own.put_in_force(next, Some(0), &Clock::new()).expect("in force");
        let lineage = own.lineage().expect("of this process");
        assert_eq!(lineage.iter().map(Generation::reach).collect::<Vec<_>>(), [[1000], [1000]]);
    }
}
