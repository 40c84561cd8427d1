//! The decisions, said a second time: tiny, slow and plain.
//!
//! A rule says only when a request is admitted and when a key is as good as unused, in the words of
//! the vectors' README, with integers that cannot overflow. All else that a decision tells is found by
//! search: what remains is the most that would be admitted, a retry is due when it first would be.

mod buckets;
mod gcra;
mod rules;
mod windows;

use ratecell::{Decision, Outcome};

use crate::policies::Accepted;
use rules::{Int, Rule, State};

/// A decision, as far as it is defined for every policy.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    outcome: Outcome,
    remaining: u64,
    retry_after_ns: u64,
    reset_after_ns: u64,
    delay_ns: u64,
}

impl From<Decision> for Answer {
    fn from(decision: Decision) -> Self {
        Self {
            outcome: decision.outcome(),
            remaining: decision.remaining(),
            retry_after_ns: decision.retry_after_ns(),
            reset_after_ns: decision.reset_after_ns(),
            delay_ns: decision.delay_ns(),
        }
    }
}

struct Layer {
    rule: Box<dyn Rule>,
    heal: Option<Int>,
}

pub(crate) struct Model {
    layers: Vec<Layer>,
}

/// One key: a state for each layer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Vec<State>);

impl Model {
    pub(crate) fn new(accepted: &Accepted) -> Self {
        let layers = accepted.layers.iter();
        let layers =
            layers.map(|layer| Layer { rule: rules::rule(layer), heal: layer.heal_ns.map(Int::from) });
        Self { layers: layers.collect() }
    }

    pub(crate) fn unused_key(&self) -> Key {
        Key(self.layers.iter().map(|layer| layer.rule.unused()).collect())
    }

    pub(crate) fn check(&self, key: &mut Key, now: u64, cost: u32) -> Answer {
        let (now, cost) = (Int::from(now), Int::from(cost));
        if self.layers.iter().any(|layer| now > layer.rule.max_now()) {
            return answer(Outcome::ClockRange, 0, None, 0, 0);
        }
        let seen = self.healed(&key.0, now);
        let capacity = self.layers.iter().map(|layer| layer.rule.capacity()).min().unwrap_or(0);
        let admitted = self.admit(&seen, now, cost);
        let outcome = match &admitted {
            _ if cost > capacity => Outcome::Never,
            None => Outcome::Denied,
            Some(_) => Outcome::Allowed,
        };
        let retry = match outcome {
            Outcome::Never => None,
            _ => Some(first(|wait| self.admit(&seen, now + wait, cost).is_some())),
        };
        let (after, delay) = match admitted {
            Some(after) if cost > 0 => {
                key.0.clone_from(&after);
                let delay = self.delay(&after, now);
                (after, delay)
            }
            _ => (seen, 0),
        };
        let too_many = first(|units| units > capacity || self.admit(&after, now, units).is_none());
        let remaining = (too_many - 1).max(0);
        let reset = first(|wait| self.is_fresh(&after, now + wait));
        answer(outcome, remaining, retry, reset, delay)
    }

    /// The key after `cost` at `now`, if that is admitted and nothing heals.
    pub(crate) fn admitted(&self, key: &Key, now: u64, cost: u32) -> Option<Key> {
        self.admit(&key.0, now.into(), cost.into()).map(Key)
    }

    /// The states as they are read at `now`.
    fn healed(&self, states: &[State], now: Int) -> Vec<State> {
        let read = |(layer, state): (&Layer, &State)| match layer.heal {
            Some(heal) if layer.rule.written(state) > now + heal => layer.rule.unused(),
            _ => state.clone(),
        };
        self.layers.iter().zip(states).map(read).collect()
    }

    fn admit(&self, states: &[State], now: Int, cost: Int) -> Option<Vec<State>> {
        self.layers.iter().zip(states).map(|(layer, state)| layer.rule.admit(state, now, cost)).collect()
    }

    fn is_fresh(&self, states: &[State], now: Int) -> bool {
        self.layers.iter().zip(states).all(|(layer, state)| layer.rule.is_fresh(state, now))
    }

    fn delay(&self, states: &[State], now: Int) -> Int {
        let delays = self.layers.iter().zip(states).map(|(layer, state)| layer.rule.delay(state, now));
        delays.max().unwrap_or(0)
    }
}

fn answer(outcome: Outcome, remaining: Int, retry: Option<Int>, reset: Int, delay: Int) -> Answer {
    // The longest wait that a decision tells: less than that of a bucket that takes centuries to fill.
    let word =
        |value: Int| u64::try_from(value).map_or(Decision::NEVER - 1, |value| value.min(Decision::NEVER - 1));
    Answer {
        outcome,
        remaining: word(remaining),
        retry_after_ns: retry.map_or(Decision::NEVER, word),
        reset_after_ns: word(reset),
        delay_ns: word(delay),
    }
}

/// The first number from 0 on for which `holds`; it must hold from there on.
fn first(holds: impl Fn(Int) -> bool) -> Int {
    if holds(0) {
        return 0;
    }
    let mut fails = 0;
    let mut found = 1;
    while !holds(found) {
        (fails, found) = (found, found * 2);
    }
    while found - fails > 1 {
        let middle = (fails + found) / 2;
        if holds(middle) { found = middle } else { fails = middle }
    }
    found
}
