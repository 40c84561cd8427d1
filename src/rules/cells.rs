//! Where the cells of a file's rules stand, and which of them stay where another file follows.
//!
//! The cells of a rule are a *set*; those of a rule with tiers are a set for each tier, but of a rule with `shared = true`
//! they are one. A set is named by its rule, and its tier: within it a cell is named by its key, in which the references and
//! the tier stand. The words of all sets stand in one table, where each layer of a set's policy has a number; the logs of a
//! set are its own.
//!
//! A set whose policy changes keeps its numbers, and their policies change.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ratecell_core::{ChangeError, Generation, Policy};
use ratecell_rules::Rules;

use super::tables::Tables;
use crate::clock::Clock;
use crate::error::BuildError;
use crate::limiter::mixed::{MixedTable, Next, Places};
use crate::limiter::{Family, Limiter};

/// A table with so many numbers, of which most are of rules that are gone, gets them back by the next change.
const MANY_NUMBERS: usize = 2_048;

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
            BuildError::Policy(_) | BuildError::Change(_) => {
                BuildError::InRule { rule: self.name.rule.to_string(), error: Box::new(error) }
            }
            other => other,
        }
    }
}

/// A set of cells, and what decides by it.
pub(super) struct Set {
    name: Name,
    policies: Box<[Policy]>,
    /// One for each of its policies, over the same words.
    limiters: Box<[Arc<Limiter>]>,
}

impl Set {
    /// The table of its words, if it has any.
    fn table(&self) -> Option<&Arc<MixedTable>> {
        self.limiters.first()?.mixed_table()
    }
}

/// The cells of a file.
pub(super) struct Cells {
    sets: Vec<Set>,
    /// Those in which words of the sets stand.
    pub(super) tables: Vec<Arc<MixedTable>>,
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

/// What is put in force with a file, if the number of the generation is another.
pub(super) struct Changes {
    /// Of sets, by their place in the file, the policies that they get.
    policies: HashMap<usize, Generation>,
    pub(super) tables: Next,
}

/// What a new file has of the one before.
#[derive(Clone, Copy)]
pub(super) struct Before<'f> {
    pub(super) cells: &'f Cells,
    /// Whether policies may change over live cells.
    pub(super) is_live: bool,
    /// The instant of the change; `None` by the limiter's clock.
    pub(super) now_ns: Option<u64>,
}

/// How a set of the file before goes on.
enum Stay {
    AsItIs,
    /// By other limiters over the same words.
    By(Box<[Arc<Limiter>]>),
    Changed(Generation),
}

impl Cells {
    /// The cells of rules: those that stay, and new ones.
    ///
    /// # Errors
    /// A table cannot be made, or the policy of a set cannot change to that of its rule; then all is as it was.
    pub(super) fn of(
        rules: &Rules,
        tables: Tables,
        family: &Family,
        clock: &Clock,
        before: Option<Before<'_>>,
    ) -> Result<Following, BuildError> {
        let wanted = wanted(rules);
        let stays = stays(&wanted, before)?;
        let is_other = |stay: &Stay| matches!(stay, Stay::By(_) | Stay::Changed(_));
        let is_change = stays.iter().flatten().any(|(_, stay)| is_other(stay))
            || before.is_some_and(|before| before.is_live && before.is_crowded(&stays));
        let number = family.number().saturating_add(u64::from(is_change));
        let held = before.map_or(&[][..], |before| &before.cells.tables).iter().cloned();
        let mut places = Places::new(family, number, tables.making(), held);
        let mut limiters: Vec<Option<Arc<Limiter>>> = vec![None; rules.policies().len()];
        let mut policies = HashMap::new();
        let mut sets = Vec::with_capacity(wanted.len());
        for (place, (one, stay)) in wanted.into_iter().zip(stays).enumerate() {
            let its = match stay {
                None => {
                    let made = tables.limiters(&one.policies, one.is_shared(), family, clock, &mut places);
                    made.map_err(|error| one.refused(error))?
                }
                Some((set, Stay::AsItIs)) => set.limiters.clone(),
                Some((_, Stay::By(others))) => others,
                Some((set, Stay::Changed(next))) => {
                    policies.insert(place, next);
                    set.limiters.clone()
                }
            };
            for policy in one.numbers.clone() {
                let own = rules.policies().get(policy).map(|own| own.policy());
                let place = one.policies.iter().position(|policy| Some(policy) == own);
                if let (Some(limiter), Some(place)) = (limiters.get_mut(policy), place) {
                    *limiter = its.get(place).cloned();
                }
            }
            sets.push(Set { name: one.name, policies: one.policies, limiters: its });
        }
        let limiters = limiters.into_iter().collect::<Option<_>>().ok_or(BuildError::NoPolicy)?;
        // Nothing can go wrong any more.
        let changes = Changes { policies, tables: places.commit() };
        let mut cells = Self { sets, tables: Vec::new(), number };
        for table in cells.sets.iter().filter_map(Set::table) {
            if !cells.tables.iter().any(|other| Arc::ptr_eq(other, table)) {
                cells.tables.push(Arc::clone(table));
            }
        }
        Ok(Following { cells, limiters, changes })
    }

    /// Cells of rules that stand in tables of which the words are those of these limiters, one for each policy of the file.
    pub(super) fn by(
        rules: &Rules,
        limiters: &[Arc<Limiter>],
        tables: Vec<Arc<MixedTable>>,
        number: u64,
    ) -> Self {
        let sets = wanted(rules).into_iter().map(|Wanted { name, policies, numbers }| Set {
            name,
            policies,
            limiters: limiters.get(numbers).unwrap_or_default().into(),
        });
        Self { sets: sets.collect(), tables, number }
    }

    /// A limiter of each set.
    pub(super) fn limiters(&self) -> impl Iterator<Item = &Limiter> {
        self.sets.iter().filter_map(|set| set.limiters.first()).map(Arc::as_ref)
    }

    /// A limiter of each set, with the policy that it gets, if that is another.
    pub(super) fn changing(
        &self,
        mut policies: HashMap<usize, Generation>,
    ) -> impl Iterator<Item = (&Limiter, Option<Generation>)> {
        self.limiters().enumerate().map(move |(place, limiter)| (limiter, policies.remove(&place)))
    }
}

impl Changes {
    pub(super) fn into_parts(self) -> (HashMap<usize, Generation>, Next) {
        (self.policies, self.tables)
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

/// Of each set that is wanted, how one of the file before goes on as it.
fn stays<'f>(
    wanted: &[Wanted],
    before: Option<Before<'f>>,
) -> Result<Vec<Option<(&'f Set, Stay)>>, BuildError> {
    let Some(before) = before else { return Ok(wanted.iter().map(|_| None).collect()) };
    let by_name: HashMap<&Name, &Set> = before.cells.sets.iter().map(|set| (&set.name, set)).collect();
    let stay = |one: &Wanted| {
        let Some(set) = by_name.get(&one.name).copied() else { return Ok(None) };
        Ok(before.stay(set, one)?.map(|stay| (set, stay)))
    };
    wanted.iter().map(stay).collect()
}

impl Before<'_> {
    /// Whether most numbers of a table are of sets that are gone, or go now.
    fn is_crowded(&self, stays: &[Option<(&Set, Stay)>]) -> bool {
        self.cells.tables.iter().any(|table| {
            let of_it = |(set, _): &&(&Set, Stay)| set.table().is_some_and(|its| Arc::ptr_eq(its, table));
            let staying = stays.iter().flatten().filter(of_it);
            let numbers: usize = staying.map(|(set, _)| set.policies.first().map_or(0, layers)).sum();
            let given = table.given();
            given >= MANY_NUMBERS && given / 2 > numbers
        })
    }

    /// How a set of the file before goes on as `set`; `None` if it cannot.
    fn stay(&self, held: &Set, set: &Wanted) -> Result<Option<Stay>, BuildError> {
        if set.policies == held.policies {
            return Ok(Some(Stay::AsItIs));
        }
        let (Some(held), [policy, ..], true) = (held.limiters.first(), &*set.policies, self.is_live) else {
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
            // Of another kind, or without room in the words: its cells are others.
            Err(_) => Ok(None),
        }
    }
}

fn layers(policy: &Policy) -> usize {
    policy.layers().len()
}
