//! How the tables of rules are made.

use std::sync::Arc;

use ratecell_core::algorithm::{Algorithm, Kernel, LayoutChoice, Plan, WordLayout};
use ratecell_core::{Policy, with_kernel};
use ratecell_rules::{RulePolicy, Rules};

use crate::clock::Clock;
use crate::error::BuildError;
use crate::limiter::mixed::{Making, Places};
use crate::limiter::{Family, Limiter};
use crate::memory::Memory;
use crate::table::WhenFull;

/// How tables are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) max_keys: usize,
    pub(super) when_full: WhenFull,
    /// Whether processes that are forked off later share them.
    pub(super) forked: bool,
    /// Whether they are in a file that other processes have open.
    pub(super) in_file: bool,
    /// Whether every request is reserved.
    pub(super) reserving: bool,
}

/// Why a rule cannot count requests in flight.
const PERMITS: &str = "a decision gives no permit of in_flight that could be released: expected a limiter that is made to \
     reserve each request, or a policy without in_flight";

/// Why a rule cannot have a log where processes share the tables.
const LOGS: &str = "a sliding_log keeps its entries in one process, and the tables are shared by several: \
     expected a policy without sliding_log, such as sliding_window";

impl Tables {
    /// Why a policy cannot be a rule's, if it cannot.
    fn refuse(self, policy: &Policy) -> Option<&'static str> {
        policy.layers().iter().find_map(|layer| match layer.plan() {
            Plan::Word(Kernel::InFlight(_)) if !self.reserving => Some(PERMITS),
            Plan::Log(_) if self.forked || self.in_file => Some(LOGS),
            _ => None,
        })
    }

    /// An error where a policy of these rules cannot be one.
    pub(super) fn refuse_any(self, rules: &Rules) -> Result<(), BuildError> {
        let reason = |one: &RulePolicy| Some((one.rule(), self.refuse(one.policy())?));
        match rules.policies().iter().find_map(reason) {
            Some((rule, reason)) => {
                Err(BuildError::Rule { rule: rules.rule(rule).name().to_owned(), reason })
            }
            None => Ok(()),
        }
    }

    /// What a table of several rules is made as.
    pub(super) fn making(self) -> Making {
        Making {
            max_keys: self.max_keys,
            when_full: self.when_full,
            memory: if self.forked { Memory::shared } else { Memory::sparse },
            counts_given: self.reserving,
            is_sealed: self.forked,
        }
    }

    /// New limiters of policies that count in the same cells, one for each. Shared cells have room for greater limits.
    pub(super) fn limiters(
        self,
        policies: &[Policy],
        is_shared: bool,
        family: &Family,
        clock: &Clock,
        places: &mut Places<'_>,
    ) -> Result<Box<[Arc<Limiter>]>, BuildError> {
        let [first, others @ ..] = policies else { return Err(BuildError::NoPolicy) };
        let first = if is_shared {
            let widest = widest(policies)?;
            first.repacked(|layer| {
                widest.get(layer).copied().flatten().map_or(LayoutChoice::TIGHT, LayoutChoice::As)
            })?
        } else {
            first.clone()
        };
        let builder = Limiter::builder(first).max_keys(self.max_keys).when_full(self.when_full);
        let mut limiters = vec![Arc::new(family.build(builder, clock, places)?)];
        for policy in others {
            limiters.push(Arc::new(limiters[0].at_first_with(policy.clone())?));
        }
        Ok(limiters.into())
    }
}

/// For each layer of policies that share their cells, the layout with room for the greatest count.
fn widest(policies: &[Policy]) -> Result<Vec<Option<WordLayout>>, BuildError> {
    let mut widest: Vec<Option<WordLayout>> = Vec::new();
    for policy in policies {
        let policy = policy.repacked(|_| LayoutChoice::WIDE)?;
        widest.resize(widest.len().max(policy.layers().len()), None);
        for (wide, layer) in widest.iter_mut().zip(policy.layers()) {
            let Plan::Word(kernel) = layer.plan() else { continue };
            let layout = with_kernel!(&kernel, algorithm => algorithm.packing());
            if wide.is_none_or(|wide| wide.count_bits < layout.count_bits) {
                *wide = Some(layout);
            }
        }
    }
    Ok(widest)
}
