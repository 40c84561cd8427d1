//! One visit of a key to the store: what is asked, and what the answer becomes.

use ratecell_core::algorithm::{Algorithm, GRACE_NS, Lease, Lend, Span, Want};
use ratecell_core::{Outcome, with_kernel};

use super::known::{Known, Missed, TooMuch};
use super::{Agent, Effect, Layer, MOST_TRIES, Visit};
use crate::store::{Answer, Operation, StoreErrorKind, Value, takes};
use crate::{Layered, Words};

/// A value outlives its words by so much: for a machine that is behind, or a message that is late.
const MARGIN_MS: u64 = 60_000;
/// At most this part of what the store has is taken beyond what was missed.
const SHARE: u64 = 2;
/// A key of which so few units are wanted is asked for again at once while the store has any: a pause would deny what is
/// there, and spare little.
const FEW: u64 = 8;
const NS_PER_MS: u64 = 1_000_000;

impl Agent {
    /// What to ask of the store for a key, the units that are wanted, and those that a swap charges.
    pub(super) fn operation(&self, h: u64, known: &Known, at: u64) -> (Operation, u64, u64) {
        if known.missed.forget {
            return (Operation::Forget { h }, 0, 0);
        }
        if known.in_doubt {
            return (Operation::Read { h }, 0, 0);
        }
        let Missed { units, fill, .. } = known.missed;
        let want = if fill {
            Want { most: units.max(1), least: 1, share: 1 }
        } else {
            Want { most: known.pace.want(&self.sizing, units), least: units.max(1), share: SHARE }
        };
        let generation = self.record.generation as u8;
        // A value of an older generation is carried, which is no addition.
        let is_ours = known.value.as_ref().is_none_or(|value| value.generation == generation);
        let spans = self.layers.iter().enumerate().map(|(layer, Layer { kernel, .. })| {
            let seen = known.seen(layer);
            let span = with_kernel!(kernel, algorithm => algorithm.span(seen, at))?;
            // What this machine has charged is there, or was forgotten and is put back: by a swap, where a word cannot be
            // raised.
            let own = known.own(layer);
            let floor = if span.raises { span.floor.max(own) } else { span.floor };
            (span.raises || seen >= own).then_some(Span { floor, ..span })
        });
        let spans: Option<Layered<Span>> = spans.collect();
        if let Some(spans) = spans.filter(|spans| is_ours && spans.iter().all(takes)) {
            let ceilings: Words = spans.iter().map(|span| span.ceiling.max(span.floor)).collect();
            let expires_ms = self.expires_ms(&ceilings);
            return (Operation::Take { h, generation, spans, want, expires_ms }, want.most, 0);
        }
        match self.stepped(known, at, want).filter(|_| !known.is_strange()) {
            Some((words, units)) => {
                let expires_ms = self.expires_ms(&words);
                let new = Value { generation, words };
                (Operation::Swap { h, old: known.value.clone(), new, expires_ms }, want.most, units)
            }
            None => (Operation::Read { h }, want.most, 0),
        }
    }

    /// The words after a step of as many units as are wanted and there, by what is known of the key.
    fn stepped(&self, known: &Known, at: u64, want: Want) -> Option<(Words, u64)> {
        let mut there = u64::MAX;
        for (number, Layer { kernel, .. }) in self.layers.iter().enumerate() {
            let peeked =
                with_kernel!(kernel, algorithm => algorithm.step(known.word(number), at, 0).decision);
            there = there.min(peeked.remaining());
        }
        if there < want.least {
            return None;
        }
        let units = want.most.min(want.least.max(there / want.share)).max(1);
        let cost = u32::try_from(units).ok()?;
        let words = self.layers.iter().enumerate().map(|(number, Layer { kernel, .. })| {
            with_kernel!(kernel, algorithm => algorithm.step(known.word(number), at, cost).charged)
        });
        Some((words.collect::<Option<_>>()?, units))
    }

    /// When the store may forget words that are no later than these: at an instant at which all are fresh, and a margin.
    pub(super) fn expires_ms(&self, words: &Words) -> u64 {
        let fresh_at =
            self.layers.iter().zip(words).map(
                |(Layer { kernel, .. }, word)| with_kernel!(kernel, algorithm => algorithm.fresh_at(*word)),
            );
        let fresh_at = fresh_at.max().unwrap_or(0);
        // Rounded up: before that instant a word still counts.
        self.record.epoch_ns.saturating_add(fresh_at).div_ceil(NS_PER_MS).saturating_add(MARGIN_MS)
    }

    pub(super) fn came(&mut self, visit: Visit, operation: Operation, answer: Answer, at: u64, now: u64) {
        let Visit { h, wanted, charged, .. } = visit;
        match (answer, operation) {
            (Answer::Taken { units, words }, _) => self.grant(h, wanted, units, words, at, now),
            (Answer::Swapped, Operation::Swap { new, .. }) => {
                self.grant(h, wanted, charged, new.words, at, now);
            }
            (Answer::Forgotten(_), _) => {
                self.keys.remove(&h);
                // Units that were on their way when it was forgotten are in the table since.
                self.effects.push(Effect::erasure(h));
            }
            (Answer::Failed(error), _) => {
                let is_lost = matches!(error.kind(), StoreErrorKind::Timeout | StoreErrorKind::Disconnected);
                // The next server that answers for the key may be another, and have forgotten.
                if let Some(known) = self.keys.get_mut(&h) {
                    known.in_doubt = !known.own.is_empty();
                }
                if is_lost {
                    self.queue.push_back(h);
                } else {
                    self.refused(h, wanted, at, now);
                }
            }
            (Answer::Refused(value) | Answer::Lost(value) | Answer::Value(value), operation) => {
                self.counts.swaps_lost += u64::from(matches!(operation, Operation::Swap { .. }));
                self.saw(h, value, at);
                self.again(h, wanted, at, now);
            }
            // No store answers so.
            (Answer::Swapped | Answer::Record(_) | Answer::Keys { .. }, _) => {
                self.refused(h, wanted, at, now);
            }
        }
    }

    /// Takes note of a value that the store holds.
    fn saw(&mut self, h: u64, value: Option<Value>, at: u64) {
        let seen = value.as_ref().map_or_else(|| Some(Words::new()), |value| self.carried(value));
        let is_strange = seen.is_none();
        let Some(known) = self.keys.get_mut(&h) else { return };
        known.seen = seen.unwrap_or_default();
        // A word that decides as none is no loss: its value may have expired.
        let is_lost = |(layer, Layer { kernel, .. }): (usize, &Layer)| {
            let found = if is_strange { u64::MAX } else { known.seen(layer) };
            let own = known.own(layer);
            found < own && with_kernel!(kernel, algorithm => !algorithm.is_fresh(own, at))
        };
        let lost = self.layers.iter().enumerate().any(is_lost);
        self.counts.healed += u64::from(lost);
        known.value = value;
        known.in_doubt = false;
    }

    /// After an answer that charged nothing: asks again, if by what was seen the units are there.
    fn again(&mut self, h: u64, wanted: u64, at: u64, now: u64) {
        let Some(known) = self.keys.get_mut(&h) else { return };
        let least = if known.missed.fill { 1 } else { known.missed.units.max(1) };
        if known.is_strange() {
            // A newer one is heard of by the next look.
            known.tries += 1;
            if known.tries > MOST_TRIES {
                self.waits(h, wanted, None, now);
            } else {
                self.queue.push_back(h);
            }
            return;
        }
        let cost = u32::try_from(least).unwrap_or(u32::MAX);
        let refusing = self.layers.iter().enumerate().position(|(number, Layer { kernel, .. })| {
            let word = known.word(number);
            with_kernel!(kernel, algorithm => !algorithm.step(word, at, cost).decision.is_allowed())
        });
        known.refusing = refusing.unwrap_or(0);
        known.tries += 1;
        if refusing.is_some() || known.tries > MOST_TRIES {
            self.refused(h, wanted, at, now);
        } else {
            self.queue.push_front(h);
        }
    }

    /// The store had nothing for the key, or too little.
    fn refused(&mut self, h: u64, wanted: u64, at: u64, now: u64) {
        let Some(known) = self.keys.get_mut(&h) else { return };
        known.tries = 0;
        let passed = self.clock.at(now).saturating_sub(at);
        // How long it takes until there are so many units, if they are not there: nobody makes that shorter.
        let wait_for = |known: &Known, cost: u64| {
            let cost = u32::try_from(cost).unwrap_or(u32::MAX);
            let waits = self.layers.iter().enumerate().filter_map(|(number, Layer { kernel, .. })| {
                let word = known.word(number);
                let decision = with_kernel!(kernel, algorithm => algorithm.step(word, at, cost).decision);
                let is_denied = decision.outcome() == Outcome::Denied;
                is_denied.then(|| decision.retry_after_ns().saturating_sub(passed))
            });
            waits.max()
        };
        let (cost, refusing) = (known.missed.units, known.refusing);
        let wait_ns = wait_for(known, 1);
        if wait_ns.is_none() && cost > 1 && !known.missed.fill {
            // There are units, but not so many: that says nothing of fewer.
            let ask_at = now.saturating_add(self.sizing.span_ns());
            let until = now.saturating_add(wait_for(known, cost).unwrap_or(0)).max(ask_at);
            known.too_much = Some(TooMuch { cost, ask_at, until });
            if known.usable == 0 || known.until <= now {
                self.deny_above(h, refusing, cost - 1, until);
            } else {
                self.effects.push(Effect::again(h));
            }
            self.is_answered(h);
            return;
        }
        self.waits(h, wanted, wait_ns, now);
    }

    /// The store brought nothing: the key waits for its period, and for so long.
    fn waits(&mut self, h: u64, wanted: u64, wait_ns: Option<u64>, now: u64) {
        let random = self.next_random();
        let Some(known) = self.keys.get_mut(&h) else { return };
        known.tries = 0;
        let refusing = known.refusing;
        known.pace.brought(&self.sizing, now, wanted, 0, random);
        let until = known.pace.ask_at().max(now.saturating_add(wait_ns.unwrap_or(0)));
        // A lease that can be used is not denied: only more than its units are not there.
        if known.usable == 0 || known.until <= now {
            self.deny(h, refusing, until);
        } else {
            self.effects.push(Effect::again(h));
        }
        self.is_answered(h);
    }

    /// What was charged is older than a lease may be.
    pub(super) fn is_too_old(&mut self, visit: Visit, at: u64, now: u64) {
        let Some(known) = self.keys.get_mut(&visit.h) else { return };
        known.tries += 1;
        if known.tries > MOST_TRIES {
            self.refused(visit.h, visit.wanted, at, now);
        } else {
            self.queue.push_back(visit.h);
        }
    }

    /// The callers ask again; what they missed is no longer asked for, except to be forgotten.
    fn is_answered(&mut self, h: u64) {
        let Some(known) = self.keys.get_mut(&h) else { return };
        let forget = known.missed.forget;
        known.missed = Missed { forget, queued: forget, ..Missed::default() };
        if forget {
            self.queue.push_back(h);
        }
    }

    /// Units were charged at the instant `at`, and left these words.
    fn grant(&mut self, h: u64, wanted: u64, units: u64, words: Words, at: u64, now: u64) {
        let random = self.next_random();
        self.counts.leased += units;
        let Some(known) = self.keys.get_mut(&h) else { return };
        let instants = self.layers.iter().zip(&words).map(
            |(Layer { kernel, .. }, word)| with_kernel!(kernel, algorithm => algorithm.instant(*word, at)),
        );
        let at = instants.max().unwrap_or(at);
        // The lease's clock stands at that instant now, and for the grace.
        let begins = now.saturating_add(GRACE_NS);
        let mut until = now;
        let leases = self.layers.iter().zip(&words).map(|(Layer { kernel, .. }, word)| {
            let lasts_ns = with_kernel!(kernel, algorithm => algorithm.lasts_ns(*word, units, at));
            let deadline = begins.saturating_add(lasts_ns);
            until = until.max(deadline);
            Some(Lease::granted(deadline, units))
        });
        let leases = leases.collect();
        self.counts.passed += known.left;
        known.left = units;
        known.usable = units;
        known.until = until;
        known.tries = 0;
        known.own = (0..words.len()).map(|layer| known.own(layer).max(words[layer])).collect();
        let rest = self.layers.iter().zip(&words).map(|(Layer { kernel, .. }, word)| {
            with_kernel!(kernel, algorithm => algorithm.step(*word, at, 0).decision.remaining())
        });
        let is_enough = wanted <= FEW && rest.min().unwrap_or(0) > 0;
        let wanted = if is_enough { units } else { wanted };
        known.seen = words.clone();
        known.value = Some(Value { generation: self.record.generation as u8, words });
        known.pace.brought(&self.sizing, now, wanted, units, random);
        self.effects.push(Effect::of_words(h, leases));
        self.is_answered(h);
    }

    pub(super) fn deny(&mut self, h: u64, layer: usize, until: u64) {
        if let Some(known) = self.keys.get_mut(&h) {
            known.counted = 0;
            known.pace.denied(until);
        }
        self.deny_above(h, layer, 0, until);
    }

    /// Denies more than so many units: there is no lease that could be used.
    pub(super) fn deny_above(&mut self, h: u64, layer: usize, units: u64, until: u64) {
        if let Some(known) = self.keys.get_mut(&h) {
            self.counts.passed += known.left;
            known.left = 0;
            known.usable = 0;
        }
        let word = Lease::denied_above(units, until);
        let words = (0..self.layers.len()).map(|number| (number == layer).then_some(word));
        self.effects.push(Effect::of_words(h, words.collect()));
    }
}
