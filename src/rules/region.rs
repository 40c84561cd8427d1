//! Limits by rules in a file that other processes have open, too: in its region they are known by name.
//!
//! Each process has its own file of rules, which says to which requests the limits apply. The region says which policy each
//! of them has: of the rules of all processes that have it open.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use ratecell_rules::{RulePolicy, Rules};

use super::cells::Cells;
use super::file::File;
use super::tables::Tables;
use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::limiter::Limiter;
use crate::limiter::differing::Differing;
use crate::limiter::mixed::{Asked, Latest, MixedRegion};
use crate::limiter::register::{Limit, Limits, Register, name};

/// The region that a limiter by rules has in common with other processes.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    region: Arc<MixedRegion>,
}

impl Shared {
    /// Opens the file at `path`, or makes it, and has these rules in it: with them it comes back.
    ///
    /// # Errors
    /// As [`RulesLimiterBuilder::open`](super::RulesLimiterBuilder::open).
    pub(super) fn open(
        path: &Path,
        rules: Rules,
        asked: Asked,
        tables: Tables,
        differing: Differing,
    ) -> Result<(Self, File), BuildError> {
        tables.refuse_any(&rules)?;
        let first = Register::first(&limits(&rules), Clock::new().epoch_s())?;
        let shared = Self { region: Arc::new(MixedRegion::open(path, asked, &first)?) };
        let file = shared.file(rules, tables, differing, None)?;
        Ok((shared, file))
    }

    pub(super) fn clock(&self) -> Clock {
        self.region.clock()
    }

    /// The number of the generation in force.
    pub(super) fn number(&self) -> u64 {
        self.region.in_force().number()
    }

    /// These rules by the limits of the region, in which they are afterwards: with another generation, if they are not there as
    /// they should be.
    ///
    /// # Errors
    /// A limit is another, and is neither to be followed nor changed; or there is no room.
    pub(super) fn file(
        &self,
        rules: Rules,
        tables: Tables,
        differing: Differing,
        now_ns: Option<u64>,
    ) -> Result<File, BuildError> {
        tables.refuse_any(&rules)?;
        let limits = limits(&rules);
        let next = || {
            let latest = self.region.latest()?;
            let (now, epoch_s) = (now_ns.unwrap_or_else(|| self.clock().latest()), self.clock().epoch_s());
            let next = latest.register.followed_by(&latest.lineages, &limits, differing, now, epoch_s)?;
            Ok::<_, BuildError>((latest, next))
        };
        if let (latest, None) = next()? {
            return self.followed(rules, tables, &latest);
        }
        self.region.exclusively(|| match next()? {
            (_, None) => Ok(()),
            (latest, Some(next)) => self.region.put_in_force(&next, &latest, now_ns),
        })?;
        self.followed(rules, tables, &*self.region.latest()?)
    }

    /// These rules by the limits in force, of the same names.
    ///
    /// # Errors
    /// The region's lists cannot be read, or have no such limit, or one that this limiter cannot have.
    pub(super) fn follow(&self, rules: &Rules, tables: Tables) -> Result<File, BuildError> {
        self.followed(rules.clone(), tables, &*self.region.latest()?)
    }

    fn followed(&self, rules: Rules, tables: Tables, latest: &Latest) -> Result<File, BuildError> {
        let by_name: HashMap<_, _> =
            latest.register.limits().map(|(place, name, policy)| (name, (place, policy))).collect();
        let held = |one: &RulePolicy| {
            let rule = rules.rule(one.rule());
            by_name.get(&*name(rule.name(), rule.is_shared(), one.value())).copied()
        };
        let held: Vec<_> =
            rules.policies().iter().map(held).collect::<Option<_>>().ok_or(RegionError::Corrupt)?;
        // Limits that share their cells have one limiter for each of them, on the same words.
        let mut first: HashMap<usize, Arc<Limiter>> = HashMap::new();
        let mut limiters = Vec::with_capacity(held.len());
        for (place, policy) in &held {
            let limiter = match first.get(place) {
                Some(limiter) => Arc::clone(limiter),
                None => {
                    let made = Arc::new(self.region.limiter(latest, *place)?);
                    first.insert(*place, Arc::clone(&made));
                    made
                }
            };
            limiters.push(match *limiter.policy() == **policy {
                true => limiter,
                false => Arc::new(limiter.sharing(policy)?),
            });
        }
        let policies: Vec<_> = held.iter().map(|(_, policy)| (*policy).clone()).collect();
        let rules = rules.limited_by(|number| policies.get(number).cloned());
        tables.refuse_any(&rules)?;
        let tables = vec![Arc::clone(self.region.table())];
        let cells = Cells::by(&rules, &limiters, tables, latest.number);
        Ok(File::by(rules, cells, limiters.into()))
    }
}

/// The limits of rules, by name.
fn limits(rules: &Rules) -> Vec<Limits> {
    // The policies of one rule stand together.
    let of_rule = rules.policies().chunk_by(|one, other| one.rule() == other.rule());
    let limits = of_rule.flat_map(|policies| {
        let limit = |one: &RulePolicy| {
            let rule = rules.rule(one.rule());
            Limit::new(rule.name(), rule.is_shared(), one.value(), one.policy().clone())
        };
        let is_shared = policies.first().is_some_and(|one| rules.rule(one.rule()).is_shared());
        let together = if is_shared { policies.len() } else { 1 };
        policies.chunks(together.max(1)).map(move |of_set| Limits::new(of_set.iter().map(limit).collect()))
    });
    limits.collect()
}
