//! The register of a region whose table has several policies: its limits by name, with the numbers of their layers.
//!
//! | of a line | what |
//! | --- | --- |
//! | first | the numbers of the layers, with commas |
//! | second | of each layer the greatest capacity of any policy until now, with commas |
//! | third | the name: of the rule, and of the tier |
//! | rest | the policy |
//!
//! Limits that count in the same words are a *set*: their lines stand together, and have the same numbers. A change takes no
//! name away, for a process may still decide by it. Numbers come free where a limit gets another kind of words.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use crate::error::{BuildError, RegionError, RegionField};
use crate::limiter::differing::Differing;
use crate::region::numbers::damaged;
use crate::table::era::Lineage;
use crate::table::numbers::NAMED;
use ratecell_core::algorithm::LayoutChoice;
use ratecell_core::{ChangeError, Generation, Layer, Policy};

#[cfg(test)]
mod tests;
mod text;

/// A policy, and what it is called in all processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// Printable ASCII without a space.
    name: Box<str>,
    policy: Policy,
}

/// Limits that count in the same words: one, or all of a set that shares its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits(Vec<Limit>);

/// Limits with the numbers of their layers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set {
    limits: Limits,
    numbers: Vec<usize>,
    /// Of each layer the greatest capacity of any policy until now.
    reach: Vec<u32>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Register {
    sets: Vec<Set>,
}

/// What stands in the name of limits that share their cells.
const SHARED: &str = ";shared";

impl Limit {
    /// That of a rule, and of the value that chooses it if there is one. `is_shared` says whether all values of the rule count
    /// in the same words.
    pub(crate) fn new(rule: &str, is_shared: bool, value: Option<&str>, policy: Policy) -> Self {
        Self { name: name(rule, is_shared, value).into(), policy }
    }
}

/// The name of a limit.
pub(crate) fn name(rule: &str, is_shared: bool, value: Option<&str>) -> String {
    let mut name = String::from(rule);
    if is_shared {
        name.push_str(SHARED);
    }
    if let Some(value) = value {
        name.push_str(";limit=");
        for byte in value.bytes() {
            if matches!(byte, b'!'..=b'~') && !matches!(byte, b'%' | b';') {
                name.push(char::from(byte));
            } else {
                // A text takes whatever is written to it.
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    name
}

impl Limits {
    /// In the order of their names, so that it is one in all processes.
    pub(crate) fn new(mut limits: Vec<Limit>) -> Self {
        limits.sort_by(|one, other| one.name.cmp(&other.name));
        limits.dedup_by(|one, other| one.name == other.name);
        Self(limits)
    }

    /// What the set is called.
    fn name(&self) -> &str {
        let first = self.0.first().map_or("", |limit| &*limit.name);
        first.find(SHARED).and_then(|at| first.get(..at + SHARED.len())).unwrap_or(first)
    }

    fn rule(&self) -> &str {
        self.name().split(';').next().unwrap_or_default()
    }

    fn are_shared(&self) -> bool {
        self.name().ends_with(SHARED)
    }

    /// The policy that the words are judged and carried by: those of a set differ in what no word shows.
    fn policy(&self) -> Option<&Policy> {
        self.0.first().map(|limit| &limit.policy)
    }

    fn layers(&self) -> usize {
        self.policy().map_or(0, |policy| policy.layers().len())
    }

    /// Of each layer the greatest capacity.
    fn reach(&self) -> Vec<u32> {
        // Capacities are 32-bit parameters.
        let capacity = |limit: &Limit, layer: usize| limit.policy.layers().get(layer).map(Layer::capacity);
        let greatest = |layer| self.0.iter().filter_map(|limit| capacity(limit, layer)).max().unwrap_or(0);
        (0..self.layers()).map(|layer| greatest(layer) as u32).collect()
    }

    fn get(&self, name: &str) -> Option<&Limit> {
        self.0.iter().find(|limit| &*limit.name == name)
    }

    /// The error of its rule.
    fn refused(&self, error: BuildError) -> BuildError {
        match error {
            BuildError::Policy(_) | BuildError::Change(_) => {
                BuildError::InRule { rule: self.rule().to_owned(), error: Box::new(error) }
            }
            other => other,
        }
    }
}

impl Set {
    fn new(limits: Limits, numbers: Vec<usize>) -> Self {
        let reach = limits.reach();
        Self { limits, numbers, reach }
    }

    /// The generation of that number and instant, in words as wide as can be.
    fn generation(&self, number: u64, at_ns: u64, epoch_s: i64) -> Result<Generation, BuildError> {
        let policy = self.limits.policy().ok_or(BuildError::NoPolicy)?;
        let policy = policy.at_epoch(epoch_s)?.repacked(|_| LayoutChoice::WIDE)?;
        Ok(Generation::recorded(&policy, number, self.reach.clone(), at_ns)?)
    }

    /// Whether words of the two are of the same policy.
    fn decides_as(&self, other: &Self) -> bool {
        self.limits.policy() == other.limits.policy() && self.reach == other.reach
    }

    /// The set with what is asked for, by the generations of its policy, at `now`.
    fn with(
        &self,
        asked: &Limits,
        lineage: &Lineage,
        differing: Differing,
        now: u64,
    ) -> Result<Followed, BuildError> {
        let held = lineage.last().ok_or(BuildError::NoPolicy)?;
        let is_other =
            |limit: &Limit| self.limits.get(&limit.name).is_none_or(|its| its.policy != limit.policy);
        let mut others = asked.0.iter().filter(|limit| is_other(limit)).peekable();
        if others.peek().is_none() {
            return Ok(Followed::AsItIs);
        }
        if self.limits.are_shared() {
            return self.with_shared(others, held.policy(), differing);
        }
        let Some(asked_for) = others.next() else { return Ok(Followed::AsItIs) };
        let next = held.followed_by(&asked_for.policy, now);
        match (differing, next) {
            (_, Ok(None)) | (Differing::Followed, _) => Ok(Followed::AsItIs),
            (Differing::Refused, _) => Err(self.differs(asked_for)),
            (Differing::Changed, Ok(Some(next))) => {
                let (limits, reach) = (asked.clone(), next.reach().to_vec());
                Ok(Followed::By(Self { limits, numbers: self.numbers.clone(), reach }))
            }
            (Differing::Changed, Err(error @ ChangeError::ClockRange { .. })) => {
                Err(asked.refused(error.into()))
            }
            // Of another kind, or without room in the words: its words are others.
            (Differing::Changed, Err(_)) => Ok(Followed::Anew),
        }
    }

    /// [`with`](Self::with), of limits that share their cells: no change converts their words, for only limits differ.
    fn with_shared<'l>(
        &self,
        others: impl Iterator<Item = &'l Limit>,
        held: &Policy,
        differing: Differing,
    ) -> Result<Followed, BuildError> {
        let mut limits = self.limits.0.clone();
        for other in others {
            let policy = &other.policy;
            let plans = policy.layers().iter().zip(held.layers());
            let follows = policy.layers().len() == held.layers().len()
                && plans
                    .map(|(asked, held)| (asked.plan(), held.plan()))
                    .all(|(asked, held)| asked.may_follow(&held))
                && policy.beside(held, held) == *policy;
            match (self.limits.get(&other.name), differing) {
                (Some(_), Differing::Refused) => return Err(self.differs(other)),
                (Some(_), Differing::Followed) => {}
                (_, Differing::Changed) if !follows => return Ok(Followed::Anew),
                (None, Differing::Refused | Differing::Followed) if !follows => {
                    return Err(self.differs(other));
                }
                _ => {
                    limits.retain(|limit| limit.name != other.name);
                    limits.push(other.clone());
                }
            }
        }
        let limits = Limits::new(limits);
        let reach = self.reach.iter().zip(limits.reach()).map(|(held, new)| (*held).max(new)).collect();
        let next = Self { limits, numbers: self.numbers.clone(), reach };
        Ok(if next == *self { Followed::AsItIs } else { Followed::By(next) })
    }

    /// The error of a limit that is another.
    fn differs(&self, asked: &Limit) -> BuildError {
        let held = self.limits.get(&asked.name).or(self.limits.0.first());
        let held = held.map_or_else(String::new, |held| format!("`{}` of rule {}", held.policy, held.name));
        let asked =
            format!("`{}`, or a limiter that follows the region's policies or changes them", asked.policy);
        RegionError::Differs { field: RegionField::Policy, held, asked }.into()
    }
}

/// How a set goes on.
enum Followed {
    AsItIs,
    By(Set),
    /// In other words.
    Anew,
}

impl Register {
    /// That of a new region.
    ///
    /// # Errors
    /// There are too many layers; or a policy does not fit a word, from that epoch on.
    pub(crate) fn first(asked: &[Limits], epoch_s: i64) -> Result<Self, BuildError> {
        Self::default().followed_by(&[], asked, Differing::Refused, 0, epoch_s).map(Option::unwrap_or_default)
    }

    /// The register of the next generation, with what is asked for; `None` if that is there already. `lineages` are those of
    /// the sets, of which the last generations are in force.
    ///
    /// # Errors
    /// A limit is another than the one of the same name, cannot follow it at `now`, or does not fit a word; or there are too
    /// many layers.
    pub(crate) fn followed_by(
        &self,
        lineages: &[Lineage],
        asked: &[Limits],
        differing: Differing,
        now: u64,
        epoch_s: i64,
    ) -> Result<Option<Self>, BuildError> {
        let places = self.places();
        let mut sets: Vec<Option<Set>> = self.sets.iter().cloned().map(Some).collect();
        let (mut is_other, mut new) = (false, Vec::new());
        for limits in asked {
            let held = places.get(limits.name()).copied();
            let held = held.and_then(|place| Some((place, self.sets.get(place)?, lineages.get(place)?)));
            let Some((place, set, lineage)) = held else {
                new.push(limits);
                continue;
            };
            let next = match set.with(limits, lineage, differing, now)? {
                Followed::AsItIs => continue,
                Followed::By(next) => Some(next),
                Followed::Anew => {
                    new.push(limits);
                    None
                }
            };
            is_other = true;
            if let Some(set) = sets.get_mut(place) {
                *set = next;
            }
        }
        if new.is_empty() && !is_other {
            return Ok(None);
        }
        let used: HashSet<usize> = self.sets.iter().flat_map(|set| set.numbers.iter().copied()).collect();
        let mut vacant = NAMED.filter(|number| !used.contains(number));
        for limits in new {
            let numbers: Vec<_> = vacant.by_ref().take(limits.layers()).collect();
            if numbers.len() < limits.layers() {
                let (most, used) = (NAMED.len(), used.len());
                let reason = format!(
                    "no room for the layers of rule {}: {used} layers are there; expected at most {most} together with \
                     those of new rules",
                    limits.rule()
                );
                return Err(damaged(&reason).into());
            }
            sets.push(Some(Set::new(limits.clone(), numbers)));
        }
        let next = Self { sets: sets.into_iter().flatten().collect() };
        for set in &next.sets {
            set.generation(0, 0, epoch_s).map_err(|error| set.limits.refused(error))?;
        }
        Ok(Some(next))
    }

    /// The set, name and policy of each limit.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (usize, &str, &Policy)> {
        let sets = self.sets.iter().enumerate();
        sets.flat_map(|(place, set)| {
            set.limits.0.iter().map(move |limit| (place, &*limit.name, &limit.policy))
        })
    }

    /// The numbers of the set at that place.
    pub(crate) fn numbers_of(&self, place: usize) -> Option<&[usize]> {
        self.sets.get(place).map(|set| &*set.numbers)
    }

    /// The numbers of each set.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &[usize]> {
        self.sets.iter().map(|set| &*set.numbers)
    }

    fn places(&self) -> HashMap<&str, usize> {
        self.sets.iter().enumerate().map(|(place, set)| (set.limits.name(), place)).collect()
    }
}

/// The register of a generation.
#[derive(Clone, Debug)]
pub(crate) struct Dated {
    pub(crate) number: u64,
    /// From when on it is in force.
    pub(crate) at_ns: u64,
    pub(crate) register: Arc<Register>,
}

/// The generations of each set of the last register, as far as it has had its numbers in all until then. `known` is one of the
/// registers, or an earlier one, with what this function has made of it: those generations are the same.
///
/// # Errors
/// A policy does not fit its words, from that epoch on.
pub(crate) fn lineages(
    registers: &[Dated],
    epoch_s: i64,
    known: Option<(&Register, &[Lineage])>,
) -> Result<Vec<Lineage>, BuildError> {
    let known: HashMap<&str, (&Set, &Lineage)> = known
        .into_iter()
        .flat_map(|(register, lineages)| register.sets.iter().zip(lineages))
        .map(|(set, lineage)| (set.limits.name(), (set, lineage)))
        .collect();
    let Some((last, earlier)) = registers.split_last() else { return Ok(Vec::new()) };
    let earlier: Vec<_> = earlier.iter().rev().map(|dated| (dated, dated.register.places())).collect();
    let lineage = |set: &Set| {
        let held = earlier.iter().map_while(|(dated, places)| {
            let place = places.get(set.limits.name())?;
            let held = dated.register.sets.get(*place)?;
            (held.numbers == set.numbers).then_some((*dated, held))
        });
        let mut held: Vec<_> = core::iter::once((last, set)).chain(held).collect();
        held.reverse();
        let mut lineage: Vec<Generation> = Vec::with_capacity(held.len());
        let mut before: Option<&Set> = None;
        let known = known.get(set.limits.name()).filter(|(known, _)| known.numbers == set.numbers);
        for (dated, set) in held {
            let made = known.and_then(|(_, made)| made.iter().find(|made| made.number() == dated.number));
            if let Some(made) = made {
                lineage.push(made.clone());
                before = Some(set);
                continue;
            }
            let generation = match (lineage.last(), before) {
                (Some(last), Some(before)) if before.decides_as(set) => {
                    last.repeated().numbered(dated.number)
                }
                _ => set.generation(dated.number, dated.at_ns, epoch_s)?,
            };
            lineage.push(generation);
            before = Some(set);
        }
        Ok(lineage.into())
    };
    last.register.sets.iter().map(lineage).collect()
}
