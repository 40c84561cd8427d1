//! A file of rules with the tables of its policies: what one request is decided by.

use core::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrayvec::ArrayVec;
use ratecell_core::{Decision, Outcome, Request};
use ratecell_rules::{Answer, Attributes, Evaluation, Rules};

use super::cells::{Before, Cells, Changes, Following};
use super::decision::Made;
use super::reservation::{Directory, Held, HeldList};
use super::scratch;
use super::tables::Tables;
use crate::clock::Clock;
use crate::error::BuildError;
use crate::limiter::joint::{decide_all_by, decide_uncharged_by, reserve_all_by};
use crate::limiter::layers::MAX_LAYERS;
use crate::limiter::mixed::MixedTable;
use crate::limiter::{Claim, Family, Limiter};
use crate::table::Stats;

/// Rules, and what decides their claims.
pub(crate) struct File {
    rules: Arc<Rules>,
    /// Of each policy of the rules.
    limiters: Box<[Arc<Limiter>]>,
    cells: Cells,
    directory: Directory,
    /// No other file of this process has it.
    pub(crate) generation: u64,
}

/// The number of the next file.
static NEXT_GENERATION: AtomicU64 = AtomicU64::new(0);

/// What a request was decided as.
pub(crate) struct Decided {
    pub(crate) answer: Answer,
    /// Whether the path can be read in several ways, in a file that refuses that.
    pub(crate) is_unclear_path: bool,
}

/// The decisions on the claims that limit a request.
pub(crate) type MadeList = ArrayVec<Made, MAX_LAYERS>;

impl File {
    /// The rules with their cells: those that they have in the file before, and new ones; and what is put in force with them.
    ///
    /// # Errors
    /// A table cannot be made, or a policy cannot change.
    pub(super) fn new(
        rules: Rules,
        tables: Tables,
        family: &Family,
        clock: &Clock,
        before: Option<Before<'_>>,
    ) -> Result<(Self, Changes), BuildError> {
        tables.refuse_any(&rules)?;
        let Following { cells, limiters, changes } = Cells::of(&rules, tables, family, clock, before)?;
        Ok((Self::by(rules, cells, limiters), changes))
    }

    /// The rules with the limiters of their policies.
    pub(super) fn by(rules: Rules, cells: Cells, limiters: Box<[Arc<Limiter>]>) -> Self {
        // Relaxed: an addition gives each file another number, and nothing is read by it.
        let generation = NEXT_GENERATION.fetch_add(1, Ordering::Relaxed);
        let directory = Directory::new(&rules);
        Self { rules: Arc::new(rules), limiters, cells, directory, generation }
    }

    pub(crate) fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    pub(super) fn cells(&self) -> &Cells {
        &self.cells
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The limiter of the policy of that number.
    pub(crate) fn limiter(&self, policy: usize) -> Option<&Limiter> {
        self.limiters.get(policy).map(Arc::as_ref)
    }

    pub(super) fn stats_at(&self, now_ns: u64) -> Stats {
        // Each of the limiters of one table would count it.
        let mut counted = Vec::new();
        self.cells.limiters().fold(Stats::default(), |sum, limiter| {
            let is_new = |table: &Arc<MixedTable>| {
                let is_new = !counted.iter().any(|other| Arc::ptr_eq(other, table));
                if is_new {
                    counted.push(Arc::clone(table));
                }
                is_new
            };
            sum.with(limiter.stats_beside(now_ns, is_new))
        })
    }

    /// Decides a request at an instant that was known before the file was loaded. The decisions on the claims that limit it
    /// go to `made`, and the rule and outcome of each shadow claim to `shadow`. `None` if policies are changed meanwhile, or
    /// were before: then nothing is decided, and a charge that was made is taken back, if nothing came after it. With `held`
    /// the request is reserved, and what was charged goes there.
    pub(crate) fn decide<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        now_ns: u64,
        made: &mut MadeList,
        held: Option<&mut HeldList>,
        shadow: impl FnMut(usize, Outcome),
    ) -> Option<Decided> {
        scratch::with(|scratch| {
            let evaluation = self.rules.evaluate(attributes, scratch);
            if evaluation.is_unclear_path() {
                return Some(Decided { answer: Answer::unclear_path(), is_unclear_path: true });
            }
            let answer = match evaluation.too_many_layers() {
                Some(answer) => answer,
                None => self.decide_claims(&evaluation, now_ns, made, held, shadow)?,
            };
            Some(Decided { answer, is_unclear_path: false })
        })
    }

    /// Decides claims of at most [`MAX_LAYERS`] layers.
    fn decide_claims(
        &self,
        evaluation: &Evaluation<'_>,
        now_ns: u64,
        made: &mut MadeList,
        mut held: Option<&mut HeldList>,
        mut shadow: impl FnMut(usize, Outcome),
    ) -> Option<Answer> {
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
        if held.as_deref_mut().is_some_and(|held| !held.takes(claims.len())) {
            return Some(evaluation.answer(&[]));
        }
        let mut reservations = Vec::new();
        let (number, all) = (self.cells.number, claims.iter().copied());
        match (&*claims, &mut *own) {
            (_, own) if is_blocked => {
                let _ = decide_uncharged_by(number, all, own)?;
            }
            ([claim], [decision]) => {
                let reserved;
                (*decision, reserved) = match held {
                    None => (claim.limiter.decide_by(number, now_ns, &claim.request), None),
                    Some(_) => claim.limiter.reserve_by(number, now_ns, &claim.request),
                };
                if decision.is_superseded() {
                    return None;
                }
                reservations.extend(reserved);
            }
            (_, own) => {
                let _ = match held {
                    None => decide_all_by(number, all, own)?,
                    Some(_) => reserve_all_by(number, all, own, &mut reservations)?,
                };
            }
        }
        if let Some(held) = held {
            let policies = evaluation.enforced().filter_map(|claim| claim.policy);
            let names = policies.filter_map(|policy| self.directory.names(policy));
            held.claims
                .extend(names.zip(reservations).map(|(names, reservation)| Held { names, reservation }));
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
                None => Some(Outcome::Never),
                Some(claim) if answer.is_allowed() => {
                    let decision = claim.limiter.decide_by(number, now_ns, &claim.request);
                    Some(decision.outcome()).filter(|_| !decision.is_superseded())
                }
                Some(claim) => {
                    decide_uncharged_by(number, core::iter::once(claim), &mut [Decision::default()])
                }
            };
            // What was charged is answered: a shadow claim that meets a change is left out.
            if let Some(outcome) = outcome {
                shadow(one.rule, outcome);
            }
        }
        Some(answer)
    }

    /// A claim on its limiter; `None` of a `"blocked"` one, which has no cell.
    fn claim<'c>(&'c self, claim: ratecell_rules::Claim<'c>, now_ns: u64) -> Option<Claim<'c>> {
        let limiter = self.limiter(claim.policy?)?;
        Some(Claim { limiter, request: Request::new(claim.key).cost(claim.cost).at(now_ns) })
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File")
            .field("generation", &self.generation)
            .field("rules", &self.rules.len())
            .field("tables", &self.cells.tables.len())
            .finish_non_exhaustive()
    }
}
