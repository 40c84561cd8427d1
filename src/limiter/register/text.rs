//! A register as the text of a list.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use super::{Limit, Limits, Register, Set};
use crate::error::RegionError;
use crate::region::numbers::damaged;
use crate::table::numbers::NAMED;
use ratecell_core::Policy;
use ratecell_core::algorithm::Plan;

impl Register {
    /// As a list of the region has it.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for Set { limits, numbers, reach } in &self.sets {
            let [numbers, reach] = [joined(numbers), joined(reach)];
            for Limit { name, policy } in &limits.0 {
                // A text takes whatever is written to it.
                let _ = writeln!(text, "{numbers} {reach} {name} {policy}");
            }
        }
        text
    }

    /// The register that a list says. Whoever can write the region may have written it. Policies that the one `before` has by
    /// the same name are taken from there: most stay, and to make one again takes up to a millisecond.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn of_text(text: &str, before: Option<&Self>) -> Result<Self, RegionError> {
        let before: HashMap<_, _> =
            before.into_iter().flat_map(Self::limits).map(|(_, name, policy)| (name, policy)).collect();
        let (mut sets, mut used, mut names) = (Vec::<Set>::new(), HashSet::new(), HashSet::new());
        for line in text.lines() {
            let wrong = |expected: &str| damaged(&format!("`{line}`; expected {expected}"));
            let mut words = line.splitn(4, ' ');
            let mut next = || words.next().ok_or_else(|| wrong("numbers, capacities, a name and a policy"));
            let (numbers, reach, name, policy) = (next()?, next()?, next()?, next()?);
            let policy: Policy = match before.get(name) {
                Some(before) if before.to_string() == policy => (*before).clone(),
                _ => policy.parse().map_err(|error| wrong(&format!("a policy: {error}")))?,
            };
            let layers = policy.layers().len();
            let numbers: Vec<usize> = split(numbers).ok_or_else(|| wrong("numbers"))?;
            let reach: Vec<u32> = split(reach).ok_or_else(|| wrong("capacities"))?;
            if numbers.len() != layers || reach.len() != layers || !is_name(name) {
                return Err(wrong("a number and a capacity for each layer, and a name"));
            }
            let holds = policy.layers().iter().zip(&reach).all(|(layer, reach)| {
                matches!(layer.plan(), Plan::Word(_)) && layer.capacity() <= u64::from(*reach)
            });
            if !holds {
                return Err(wrong("layers that are kept in words, and no smaller capacities"));
            }
            let limit = Limit { name: name.into(), policy };
            if let Some(set) = sets.last_mut().filter(|set| set.numbers == numbers) {
                set.add(limit, &reach).ok_or_else(|| wrong("a limit of the set before"))?;
                continue;
            }
            if !numbers.iter().all(|number| NAMED.contains(number) && used.insert(*number)) {
                return Err(wrong("numbers of its own"));
            }
            let set = Set { limits: Limits(vec![limit]), numbers, reach };
            if !names.insert(set.limits.name().to_owned()) {
                return Err(wrong("a name of its own"));
            }
            sets.push(set);
        }
        Ok(Self { sets })
    }
}

impl Set {
    /// Adds a limit that shares the cells, in the order of names.
    fn add(&mut self, limit: Limit, reach: &[u32]) -> Option<()> {
        let held = self.limits.policy()?;
        let layers = limit.policy.layers().iter().zip(held.layers());
        let is_one_of_it = self.limits.are_shared()
            && Limits(vec![limit.clone()]).name() == self.limits.name()
            && self.reach == reach
            && self.limits.0.last().is_some_and(|last| last.name < limit.name)
            && layers.clone().count() == held.layers().len()
            && layers
                .map(|(one, other)| (one.plan(), other.plan()))
                .all(|(one, other)| one.may_follow(&other));
        is_one_of_it.then(|| self.limits.0.push(limit))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'!'..=b'~'))
}

fn joined(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn split<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split(',').map(|number| number.parse().ok()).collect()
}
