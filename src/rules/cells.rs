//! Where the cells of a file's rules stand, and which of them stay where another file follows.
//!
//! The cells of a rule are a *set*; those of a rule with tiers are a set for each tier, but of a rule with `shared = true`
//! they are one. A set is named by its rule, and its tier: within it a cell is named by its key, in which the references and
//! the tier stand. Each set has a table of its own, as long as the file has few.
//!
//! A set whose policy changes keeps its table, and the policy of the table changes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ratecell_core::{ChangeError, Generation, Policy};
use ratecell_rules::Rules;

use super::tables::Tables;
use crate::clock::Clock;
use crate::error::BuildError;
use crate::limiter::{Family, Limiter};

/// A file with so many tables gets another one only for a policy that no table has.
pub(super) const MANY_TABLES: usize = 256;

/// What a set of cells is named by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    rule: Box<str>,
    tier: Tier,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Tier {
    /// Of that value; `None` of all others, and where the limit has no tiers.
    One(Option<Box<str>>),
    /// All together.
    Shared,
}

/// A set of cells that a file wants.
struct Wanted {
    name: Name,
    /// The distinct policies that count in them, in one order, whatever their tiers are called.
    policies: Box<[Policy]>,
    /// The numbers of its policies in the file.
    numbers: Range<usize>,
}

impl Wanted {
    fn is_shared(&self) -> bool {
        self.name.tier == Tier::Shared
    }

    /// The error of its rule.
    fn refused(&self, error: BuildError) -> BuildError {
        match error {
            BuildError::Policy(_) | BuildError::Change(_) | BuildError::Memory(_) => {
                BuildError::InRule { rule: self.name.rule.to_string(), error: Box::new(error) }
            }
            other => other,
        }
    }
}

/// A table, and what stands in it.
pub(super) struct Table {
    sets: Vec<Name>,
    policies: Box<[Policy]>,
    /// One for each of its policies, over the same words.
    limiters: Box<[Arc<Limiter>]>,
}

/// The tables of a file.
pub(super) struct Cells {
    pub(super) tables: Vec<Table>,
    /// The number of the generation that all of them are decided by.
    pub(super) number: u64,
}

/// The cells of a file that follows another one.
pub(super) struct Following {
    pub(super) cells: Cells,
    /// The limiter of each policy of the file.
    pub(super) limiters: Box<[Arc<Limiter>]>,
    pub(super) changes: Changes,
}

/// Of tables of a file, by their numbers, the policies that they get.
pub(super) type Changes = HashMap<usize, Generation>;

/// What a new file has of the one before.
#[derive(Clone, Copy)]
pub(super) struct Before<'f> {
    pub(super) cells: &'f Cells,
    /// Whether policies may change over live cells.
    pub(super) is_live: bool,
    /// The instant of the change; `None` by the limiter's clock.
    pub(super) now_ns: Option<u64>,
}

/// How a set goes on in a table of the file before.
enum Stay {
    AsItIs,
    /// By other limiters over the same words.
    By(Box<[Arc<Limiter>]>),
    Changed(Generation),
}

/// A table of the new file while it is made up.
struct Placement<'f> {
    /// The numbers of its sets.
    sets: Vec<usize>,
    /// The table of the file before, and its number there.
    stays: Option<(usize, &'f Table, Stay)>,
}

impl Cells {
    /// The cells of rules: those that stay, and new ones.
    ///
    /// # Errors
    /// A table cannot be made, or the policy of one cannot change to that of its rule; then all is as it was.
    pub(super) fn of(
        rules: &Rules,
        tables: Tables,
        family: &Family,
        clock: Clock,
        before: Option<Before<'_>>,
    ) -> Result<Following, BuildError> {
        let wanted = wanted(rules);
        let placements = placements(&wanted, before)?;
        let is_other = |stay: &Stay| matches!(stay, Stay::By(_) | Stay::Changed(_));
        let mut stays = placements.iter().filter_map(|one| one.stays.as_ref());
        let is_change = stays.any(|(_, _, stay)| is_other(stay));
        let number = family.number().saturating_add(u64::from(is_change));
        let mut limiters: Vec<Option<Arc<Limiter>>> = vec![None; rules.policies().len()];
        let mut changes = HashMap::new();
        let mut cells = Self { tables: Vec::with_capacity(placements.len()), number };
        for Placement { sets, stays } in placements {
            let Some(first) = sets.first().and_then(|first| wanted.get(*first)) else { continue };
            let its = match stays {
                None => {
                    let made = tables.limiters(&first.policies, first.is_shared(), family, clock, number);
                    made.map_err(|error| first.refused(error))?
                }
                Some((_, table, Stay::AsItIs)) => table.limiters.clone(),
                Some((_, _, Stay::By(others))) => others,
                Some((place, table, Stay::Changed(next))) => {
                    changes.insert(place, next);
                    table.limiters.clone()
                }
            };
            let sets = sets.iter().filter_map(|set| wanted.get(*set));
            for set in sets.clone() {
                for policy in set.numbers.clone() {
                    let own = rules.policies().get(policy).map(|own| own.policy());
                    let place = first.policies.iter().position(|policy| Some(policy) == own);
                    if let (Some(limiter), Some(place)) = (limiters.get_mut(policy), place) {
                        *limiter = its.get(place).cloned();
                    }
                }
            }
            let sets = sets.map(|set| set.name.clone()).collect();
            cells.tables.push(Table { sets, policies: first.policies.clone(), limiters: its });
        }
        let limiters = limiters.into_iter().collect::<Option<_>>().ok_or(BuildError::NoPolicy)?;
        Ok(Following { cells, limiters, changes })
    }

    /// A limiter of each table.
    pub(super) fn limiters(&self) -> impl Iterator<Item = &Limiter> {
        self.tables.iter().filter_map(|table| table.limiters.first()).map(Arc::as_ref)
    }
}

/// The sets of cells of a file, in its order.
fn wanted(rules: &Rules) -> Vec<Wanted> {
    let mut all = Vec::with_capacity(rules.policies().len());
    let mut first = 0_usize;
    // The policies of one rule stand together.
    for of_rule in rules.policies().chunk_by(|one, other| one.rule() == other.rule()) {
        let numbers = first..first.saturating_add(of_rule.len());
        first = numbers.end;
        let Some(rule) = of_rule.first().map(|one| rules.rule(one.rule())) else { continue };
        let name = |tier| Name { rule: rule.name().into(), tier };
        if rule.is_shared() {
            let mut policies: Vec<Policy> = of_rule.iter().map(|one| one.policy().clone()).collect();
            policies.sort_by_cached_key(|policy| policy.to_string());
            policies.dedup();
            all.push(Wanted { name: name(Tier::Shared), policies: policies.into(), numbers });
            continue;
        }
        for (number, one) in numbers.zip(of_rule) {
            all.push(Wanted {
                name: name(Tier::One(one.value().map(Into::into))),
                policies: [one.policy().clone()].into(),
                numbers: number..number.saturating_add(1),
            });
        }
    }
    all
}

/// In which tables the sets are to stand.
fn placements<'f>(wanted: &[Wanted], before: Option<Before<'f>>) -> Result<Vec<Placement<'f>>, BuildError> {
    let mut placements = Vec::with_capacity(wanted.len());
    let mut is_placed = vec![false; wanted.len()];
    if let Some(before) = before {
        let by_name: HashMap<&Name, usize> = (0..).zip(wanted).map(|(set, one)| (&one.name, set)).collect();
        for (place, table) in before.cells.tables.iter().enumerate() {
            let staying = table.sets.iter().filter_map(|name| by_name.get(name).copied());
            let staying = by_policies(staying, wanted);
            // The table goes with those that keep its policy, if there are any.
            let (same, others): (Vec<_>, Vec<_>) =
                staying.into_iter().partition(|(policies, _)| **policies == *table.policies);
            for (_, sets) in same.into_iter().chain(others) {
                let Some(first) = sets.first().and_then(|first| wanted.get(*first)) else { continue };
                if let Some(stay) = before.stay(table, first)? {
                    for set in &sets {
                        is_placed.get_mut(*set).into_iter().for_each(|is_placed| *is_placed = true);
                    }
                    placements.push(Placement { sets, stays: Some((place, table, stay)) });
                    break;
                }
            }
        }
    }
    let mut with_policies = HashMap::new();
    for (number, placement) in placements.iter().enumerate() {
        if let Some(first) = placement.sets.first().and_then(|first| wanted.get(*first)) {
            with_policies.entry((first.is_shared(), &*first.policies)).or_insert(number);
        }
    }
    for (set, (one, is_placed)) in wanted.iter().zip(is_placed).enumerate() {
        if is_placed {
            continue;
        }
        let are_many = placements.len() >= MANY_TABLES;
        let same = *with_policies.entry((one.is_shared(), &*one.policies)).or_insert(placements.len());
        match placements.get_mut(same).filter(|_| are_many) {
            Some(placement) => placement.sets.push(set),
            None => placements.push(Placement { sets: vec![set], stays: None }),
        }
    }
    Ok(placements)
}

/// The numbers of sets by their policies, each in the order of the first.
fn by_policies(sets: impl Iterator<Item = usize>, wanted: &[Wanted]) -> Vec<(&[Policy], Vec<usize>)> {
    let mut places = HashMap::new();
    let mut all: Vec<(&[Policy], Vec<usize>)> = Vec::new();
    for set in sets {
        let Some(one) = wanted.get(set) else { continue };
        let place = *places.entry(&*one.policies).or_insert(all.len());
        match all.get_mut(place) {
            Some((_, same)) => same.push(set),
            None => all.push((&one.policies, vec![set])),
        }
    }
    all
}

impl Before<'_> {
    /// How a set goes on in a table of the file before; `None` if it cannot.
    fn stay(&self, table: &Table, set: &Wanted) -> Result<Option<Stay>, BuildError> {
        if set.policies == table.policies {
            return Ok(Some(Stay::AsItIs));
        }
        let (Some(held), [policy, ..], true) = (table.limiters.first(), &*set.policies, self.is_live) else {
            return Ok(None);
        };
        if set.is_shared() {
            // No change converts the words of these policies: only their limits are others.
            let before = held.policy();
            let are_others = |policy: &Policy| policy.beside(&before, &before) == *policy;
            if !set.policies.iter().all(|policy| held.is_of_kind(policy) && are_others(policy)) {
                return Ok(None);
            }
            let others = set.policies.iter().map(|policy| held.with_policy(policy.clone()).map(Arc::new));
            return Ok(others.collect::<Result<_, _>>().ok().map(Stay::By));
        }
        match held.followed_by(policy, self.now_ns) {
            Ok(None) => Ok(Some(Stay::AsItIs)),
            Ok(Some(next)) => Ok(Some(Stay::Changed(next))),
            Err(error @ BuildError::Change(ChangeError::ClockRange { .. })) => Err(set.refused(error)),
            // Of another kind, or without room in the words: in a table of its own.
            Err(_) => Ok(None),
        }
    }
}
