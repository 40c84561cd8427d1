//! A file of rules with the tables of its policies: what one request is decided by.

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;

use arrayvec::ArrayVec;
use ratecell_core::algorithm::{Algorithm, Kernel, LayoutChoice, Plan, WordLayout};
use ratecell_core::{Decision, Outcome, Policy, Request, with_kernel};
use ratecell_rules::{Answer, Attributes, Evaluation, Rule, RulePolicy, Rules};

use super::decision::Made;
use super::scratch;
use crate::clock::Clock;
use crate::error::BuildError;
use crate::limiter::joint::{self, decide_uncharged};
use crate::limiter::layers::MAX_LAYERS;
use crate::limiter::{Claim, Limiter};
use crate::memory::Memory;
use crate::table::{Stats, WhenFull};

/// How tables are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) max_keys: usize,
    pub(super) when_full: WhenFull,
}

/// The limiters of policies that count in the same cells, one for each of them, over one table for each layer.
type Cells = Arc<[Limiter]>;

/// Rules, and what decides their claims.
pub(crate) struct File {
    rules: Arc<Rules>,
    /// For each policy of the rules its limiter: the cells, and the place in them.
    limiters: Box<[(Cells, usize)]>,
    /// The distinct policies that have tables: those of a rule with a shared limit together, others each alone.
    cells: HashMap<Box<[Policy]>, Cells>,
    /// How many files there were before it.
    pub(crate) generation: u64,
}

/// What a request was decided as.
pub(crate) struct Decided {
    pub(crate) answer: Answer,
    /// Whether the path can be read in several ways, in a file that refuses that.
    pub(crate) is_unclear_path: bool,
}

/// The decisions on the claims that limit a request.
pub(crate) type MadeList = ArrayVec<Made, MAX_LAYERS>;

impl File {
    /// The rules with their tables: those that `before` has for the same policies, and new ones for others.
    pub(super) fn new(
        rules: Rules,
        tables: Tables,
        clock: Clock,
        before: Option<&Self>,
    ) -> Result<Self, BuildError> {
        let mut cells: HashMap<Box<[Policy]>, Cells> = HashMap::new();
        let mut limiters = Vec::with_capacity(rules.policies().len());
        // The policies of one rule stand together.
        for of_rule in rules.policies().chunk_by(|one, other| one.rule() == other.rule()) {
            let policies: Vec<&Policy> = of_rule.iter().map(RulePolicy::policy).collect();
            let rule = of_rule.first().map(|one| rules.rule(one.rule()));
            if let (Some(rule), true) = (rule, policies.iter().any(|policy| counts_in_flight(policy))) {
                return Err(BuildError::Rule { rule: rule.name().to_owned(), reason: PERMITS });
            }
            let set = |policies: &[&Policy]| -> Box<[Policy]> {
                policies.iter().map(|one| (*one).clone()).collect()
            };
            let mut together = policies.clone();
            // In one order, whatever the tiers are called.
            together.sort_by_cached_key(|policy| policy.to_string());
            together.dedup();
            let together = rule.is_some_and(Rule::is_shared).then(|| set(&together));
            for policy in policies {
                let set = together.clone().unwrap_or_else(|| set(&[policy]));
                let place = set.iter().position(|one| one == policy).unwrap_or_default();
                let made = match cells.get(&set) {
                    Some(made) => Arc::clone(made),
                    None => match before.and_then(|before| before.cells.get(&set)) {
                        Some(kept) => Arc::clone(kept),
                        None => tables.cells(&set, clock)?,
                    },
                };
                limiters.push((Arc::clone(&made), place));
                cells.insert(set, made);
            }
        }
        let generation = before.map_or(0, |before| before.generation.saturating_add(1));
        Ok(Self { rules: Arc::new(rules), limiters: limiters.into(), cells, generation })
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// The limiter of the policy of that number.
    pub(crate) fn limiter(&self, policy: usize) -> Option<&Limiter> {
        let (cells, place) = self.limiters.get(policy)?;
        cells.get(*place)
    }

    pub(super) fn stats_at(&self, now_ns: u64) -> Stats {
        // The limiters of one table all count the same.
        let one_of_each = self.cells.values().filter_map(|cells| cells.first());
        one_of_each.fold(Stats::default(), |sum, limiter| sum.with(limiter.stats_at(now_ns)))
    }

    /// Decides a request. The decisions on the claims that limit it go to `made`, and the rule and outcome of each shadow
    /// claim to `shadow`.
    pub(crate) fn decide<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        now_ns: u64,
        made: &mut MadeList,
        shadow: impl FnMut(usize, Outcome),
    ) -> Decided {
        scratch::with(|scratch| {
            let evaluation = self.rules.evaluate(attributes, scratch);
            if evaluation.is_unclear_path() {
                return Decided { answer: Answer::unclear_path(), is_unclear_path: true };
            }
            let answer = match evaluation.too_many_layers() {
                Some(answer) => answer,
                None => self.decide_claims(&evaluation, now_ns, made, shadow),
            };
            Decided { answer, is_unclear_path: false }
        })
    }

    /// Decides claims of at most [`MAX_LAYERS`] layers.
    fn decide_claims(
        &self,
        evaluation: &Evaluation<'_>,
        now_ns: u64,
        made: &mut MadeList,
        mut shadow: impl FnMut(usize, Outcome),
    ) -> Answer {
        let mut claims = ArrayVec::<Claim<'_>, MAX_LAYERS>::new();
        let mut is_blocked = false;
        for one in evaluation.enforced() {
            match self.claim(one, now_ns) {
                Some(claim) => claims.push(claim),
                None => is_blocked = true,
            }
        }
        let mut own = ArrayVec::<Decision, MAX_LAYERS>::new();
        own.extend(core::iter::repeat_n(Decision::default(), claims.len()));
        match (&*claims, &mut *own) {
            (_, own) if is_blocked => {
                let _ = decide_uncharged(claims.iter().copied(), own);
            }
            ([claim], [decision]) => *decision = claim.limiter.decide(claim.request),
            (_, own) => {
                let _ = joint::decide_all(claims.iter().copied(), own);
            }
        }
        let mut own = own.iter().copied();
        let mut decisions = ArrayVec::<Decision, MAX_LAYERS>::new();
        for one in evaluation.enforced() {
            let decision = one.policy.and_then(|policy| {
                let decision = own.next()?;
                made.push(Made { policy, decision });
                Some(decision)
            });
            decisions.push(decision.unwrap_or_default());
        }
        let answer = evaluation.answer(&decisions);
        for one in evaluation.shadows() {
            let outcome = match self.claim(one, now_ns) {
                None => Outcome::Never,
                Some(claim) if answer.is_allowed() => claim.limiter.decide(claim.request).outcome(),
                Some(claim) => decide_uncharged(core::iter::once(claim), &mut [Decision::default()]),
            };
            shadow(one.rule, outcome);
        }
        answer
    }

    /// A claim on its limiter; `None` of a `"blocked"` one, which has no cell.
    fn claim<'c>(&'c self, claim: ratecell_rules::Claim<'c>, now_ns: u64) -> Option<Claim<'c>> {
        let limiter = self.limiter(claim.policy?)?;
        Some(Claim { limiter, request: Request::new(claim.key).cost(claim.cost).at(now_ns) })
    }
}

/// Why a rule cannot count requests in flight.
const PERMITS: &str =
    "a decision by rules gives no permit that could be released: expected a policy without in_flight";

fn counts_in_flight(policy: &Policy) -> bool {
    policy.layers().iter().any(|layer| matches!(layer.plan(), Plan::Word(Kernel::InFlight(_))))
}

impl Tables {
    /// The limiters of policies that count in the same cells; of one policy, its own.
    fn cells(self, policies: &[Policy], clock: Clock) -> Result<Cells, BuildError> {
        let build = |policy| {
            Limiter::builder(policy)
                .max_keys(self.max_keys)
                .when_full(self.when_full)
                .build_by(clock, Memory::sparse)
        };
        let [first, others @ ..] = policies else { return Err(BuildError::NoPolicy) };
        if others.is_empty() {
            return Ok([build(first.clone())?].into());
        }
        let widest = widest(policies);
        let layout =
            |layer: usize| widest.get(layer).copied().flatten().map_or(LayoutChoice::Tight, LayoutChoice::As);
        let mut limiters = vec![build(first.repacked(layout)?)?];
        for policy in others {
            limiters.push(limiters[0].with_policy(policy.clone())?);
        }
        Ok(limiters.into())
    }
}

/// For each layer of policies that share their cells, the layout with room for the greatest count.
fn widest(policies: &[Policy]) -> Vec<Option<WordLayout>> {
    let mut widest: Vec<Option<WordLayout>> = Vec::new();
    for policy in policies {
        widest.resize(widest.len().max(policy.layers().len()), None);
        for (wide, layer) in widest.iter_mut().zip(policy.layers()) {
            let Plan::Word(kernel) = layer.plan() else { continue };
            let layout = with_kernel!(&kernel, algorithm => algorithm.packing());
            if wide.is_none_or(|wide| wide.count_bits < layout.count_bits) {
                *wide = Some(layout);
            }
        }
    }
    widest
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("rules", &self.rules.len())
            .field("tables", &self.cells.len())
            .finish_non_exhaustive()
    }
}
