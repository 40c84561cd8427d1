//! Cells in memory, by key: what decides the claims of a file's requests.

use std::collections::HashMap;

use anyhow::Result;
use ratecell_core::algorithm::{Algorithm, LayoutChoice, Log, Plan, WordLayout};
use ratecell_core::{Decision, Outcome, Policy, with_kernel};
use ratecell_rules::{Answer, Claim, Evaluation, Rules, Scratch};

use super::DecidesRules;

/// The state of one layer of a cell.
enum State {
    Word(u64),
    Log(Log),
}

pub(super) struct Cells {
    rules: Rules,
    scratch: Scratch,
    cells: States,
}

struct States {
    /// The layers of each policy of the file.
    plans: Vec<Vec<Plan>>,
    cells: HashMap<Vec<u8>, Vec<State>>,
}

impl Cells {
    pub(super) fn new(rules: Rules) -> Result<Self> {
        let cells = States::new(&rules)?;
        Ok(Self { rules, scratch: Scratch::default(), cells })
    }
}

impl DecidesRules for Cells {
    fn decide(&mut self, attributes: &[(String, String)], now_ns: u64) -> Option<Answer> {
        let evaluation = self.rules.evaluate(attributes, &mut self.scratch);
        (!evaluation.is_unclear_path()).then(|| self.cells.decide(&evaluation, now_ns))
    }
}

impl States {
    fn new(rules: &Rules) -> Result<Self> {
        let policies = rules.policies();
        let plans = policies.iter().map(|one| {
            let is_shared = rules.rule(one.rule()).is_shared();
            let sharing = policies.iter().filter(|other| is_shared && other.rule() == one.rule());
            let wide = widest(sharing.map(|other| other.policy()));
            let choice = |layer: usize| {
                wide.get(layer).copied().flatten().map_or(LayoutChoice::TIGHT, LayoutChoice::As)
            };
            Ok(one.policy().repacked(choice)?.layers().iter().map(|layer| layer.plan()).collect())
        });
        Ok(Self { plans: plans.collect::<Result<_>>()?, cells: HashMap::new() })
    }

    fn decide(&mut self, evaluation: &Evaluation<'_>, now_ns: u64) -> Answer {
        if let Some(answer) = evaluation.too_many_layers() {
            return answer;
        }
        let asked: Vec<_> = evaluation.enforced().map(|claim| self.claim(&claim, now_ns, false)).collect();
        let mut answer = evaluation.answer(&asked);
        if answer.is_allowed() {
            let charged: Vec<_> =
                evaluation.enforced().map(|claim| self.claim(&claim, now_ns, true)).collect();
            answer = evaluation.answer(&charged);
        }
        let admitted = answer.is_allowed();
        let shadow =
            evaluation.shadows().map(|claim| (claim.rule, self.claim(&claim, now_ns, admitted).outcome()));
        answer.shadow = shadow.collect();
        answer
    }

    fn claim(&mut self, claim: &Claim<'_>, now_ns: u64, charge: bool) -> Decision {
        let Some(plans) = claim.policy.and_then(|number| self.plans.get(number)) else {
            return Decision::default();
        };
        let fresh = || plans.iter().map(State::fresh).collect();
        let states = self.cells.entry(claim.key.to_owned()).or_insert_with(fresh);
        let mut step = |cost, charge| {
            let layers = plans.iter().zip(states.iter_mut());
            Decision::combined(layers.map(|(plan, state)| state.step(plan, now_ns, cost, charge)))
                .expect("a policy has a layer")
        };
        let peeked = step(claim.cost, false);
        match peeked.outcome() {
            Outcome::Allowed => step(claim.cost, charge),
            Outcome::ClockRange => peeked,
            _ => step(0, false).refused_by(&peeked),
        }
    }
}

/// Of each layer of policies that share a cell, the packing with room for the greatest count.
fn widest<'p>(policies: impl Iterator<Item = &'p Policy>) -> Vec<Option<WordLayout>> {
    let mut widest = Vec::new();
    for policy in policies {
        for (number, layer) in policy.layers().iter().enumerate() {
            widest.resize(widest.len().max(number + 1), None);
            let Plan::Word(kernel) = layer.plan() else { continue };
            let packing = with_kernel!(kernel, algorithm => algorithm.packing());
            let wide: &mut Option<WordLayout> = &mut widest[number];
            if wide.is_none_or(|wide| wide.count_bits < packing.count_bits) {
                *wide = Some(packing);
            }
        }
    }
    widest
}

impl State {
    fn fresh(plan: &Plan) -> Self {
        match plan {
            Plan::Word(_) => Self::Word(0),
            Plan::Log(_) => Self::Log(Log::new()),
        }
    }

    fn step(&mut self, plan: &Plan, now_ns: u64, cost: u32, charge: bool) -> Decision {
        match (plan, self) {
            (Plan::Word(kernel), Self::Word(word)) => {
                let step = with_kernel!(kernel, algorithm => algorithm.step(*word, now_ns, cost));
                if let (true, Some(charged)) = (charge, step.charged) {
                    *word = charged;
                }
                step.decision
            }
            (Plan::Log(algorithm), Self::Log(log)) => algorithm.step(log, 0, now_ns, cost, charge),
            // A key is of one policy, or of policies that share its cell.
            _ => Decision::default(),
        }
    }
}
