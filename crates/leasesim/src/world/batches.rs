//! The agents' batches: on their way, at the store, and what comes of their answers.

use std::collections::HashMap;

use anyhow::Result;
use ratecell_core::algorithm::{Kernel, Lease, Lend};
use ratecell_core::with_kernel;
use ratecell_sync::{Answer, Operation, Question, Reply, Words};

use super::{EPOCH_NS, Event, NAP, WAKING, World};
use crate::config::{Fault, MS, SECOND};
use crate::machine::Flight;

impl World {
    /// One turn of the loop that `drive` is.
    pub(super) fn turn(&mut self, m: usize) {
        let machine = &mut self.machines[m];
        let is_asking = machine.flight.is_some();
        if is_asking && !machine.agent.decides_here() {
            return;
        }
        let local = machine.local(self.now);
        for miss in machine.misses(local) {
            machine.agent.heard(miss, local);
        }
        if is_asking {
            self.write(m, &HashMap::new());
            return;
        }
        let question = machine.agent.question(local);
        self.write(m, &HashMap::new());
        let Some(question) = question else {
            // As soon as its clock is to be read again, or the store to be tried.
            let machine = &self.machines[m];
            let in_a_second =
                if machine.agent.is_away() || machine.clock.is_stale(local) { NAP } else { SECOND };
            self.wake(m, self.now + in_a_second);
            return;
        };
        self.tally.operations += question.operations.len() as u64;
        self.send(m, question);
    }

    fn send(&mut self, m: usize, question: Question) {
        self.next += 1;
        let id = self.next;
        let machine = &mut self.machines[m];
        let local = machine.local(self.now);
        let at = machine.clock.at(local);
        let mut operations = question.operations.clone();
        assert!(
            operations.iter().all(|one| {
                let others = operations.iter().filter(|other| other.h() == one.h());
                one.h().is_none() || others.count() == 1
            }),
            "a key is asked for twice in a batch"
        );
        if !self.config.heals {
            unhealed(&mut operations, &machine.kernels, at);
        }
        let (earlier_ms, shown) = (self.config.expires_earlier_ms, self.shown());
        for operation in &mut operations {
            match operation {
                Operation::Take { expires_ms, .. } => *expires_ms -= earlier_ms,
                Operation::Swap { old, new, expires_ms, .. } => {
                    *expires_ms -= earlier_ms;
                    if let (Some(Fault::OldByte), Some(old)) = (self.config.fault, old) {
                        new.generation = old.generation;
                    }
                }
                Operation::SwapRecord { new, .. }
                    if new.at == 0 && self.config.fault == Some(Fault::EarlyInstant) =>
                {
                    // By a changer that is slow.
                    let before = new.earlier.last().map_or(1, |stated| stated.at);
                    new.at = before.max(shown - 300 * MS);
                }
                _ => {}
            }
        }
        let machine = &mut self.machines[m];
        let timeout = machine.agent.timeout_ns();
        let is_cut_off = machine.cut_off_until > self.now;
        machine.flight = Some(Flight { id, question, at });
        self.schedule(self.now + timeout, Event::TimesOut(m, id));
        if is_cut_off || self.random.chance(self.config.loss) {
            return;
        }
        let comes_at = self.now + self.way();
        if self.random.chance(self.config.twice) {
            let again_at = comes_at + self.way();
            self.schedule(again_at, Event::AtStore(m, id, operations.clone(), false));
        }
        self.schedule(comes_at, Event::AtStore(m, id, operations, true));
    }

    /// How long a message is on its way.
    fn way(&mut self) -> u64 {
        let way = self.random.lognormal(self.config.rtt as f64 / 2.0, 0.3);
        if self.random.chance(self.config.late) { way + self.random.below(2 * SECOND) } else { way }
    }

    pub(super) fn at_store(&mut self, m: usize, id: u64, operations: &[Operation], is_heard: bool) {
        let shown = EPOCH_NS + self.shown();
        // Before the operations.
        let (mut generation, mut began) = (self.store.record.generation, self.store.record.at);
        let known = self.machines[m].agent.record();
        let fault = self.config.fault;
        let is_same = generation == known.generation && began > 0;
        if fault == Some(Fault::NoLook) || fault == Some(Fault::LateCarry) && is_same {
            (generation, began) = (known.generation, known.at);
        }
        let apply = |operation| {
            let mut answer = self.store.apply(operation, shown / MS, self.now);
            if let (Some(Fault::LateCarry), Answer::Record(Some(record))) = (fault, &mut answer)
                && record.at > 1
            {
                record.at = shown - EPOCH_NS;
            }
            answer
        };
        let answers = operations.iter().map(apply).collect();
        let ahead = if self.config.fault == Some(Fault::ClockAhead) { 300_000 } else { 0 };
        let now_us = shown / 1_000 + ahead;
        let is_cut_off = self.machines[m].cut_off_until > self.now;
        if is_heard && !is_cut_off && !self.random.chance(self.config.loss) {
            let comes_at = self.now + self.way();
            self.schedule(comes_at, Event::Answered(m, id, Reply { now_us, generation, at: began, answers }));
        }
    }

    pub(super) fn answered(&mut self, m: usize, id: u64, reply: Reply) -> Result<()> {
        let machine = &mut self.machines[m];
        let Some(flight) = machine.flight.take_if(|flight| flight.id == id) else { return Ok(()) };
        let local = machine.local(self.now);
        let sent = flight.question.sent();
        if local - sent > machine.agent.timeout_ns() {
            self.failed(m, flight, false);
            return Ok(());
        }
        machine.clock.note(reply.now_us * 1_000 - EPOCH_NS, sent, local);
        let kernels = &machine.kernels;
        let granted =
            flight.question.operations.iter().zip(&reply.answers).filter_map(|(operation, answer)| {
                let words = match (operation, answer) {
                    (_, Answer::Taken { words, .. }) => words,
                    (Operation::Swap { new, .. }, Answer::Swapped) => &new.words,
                    _ => return None,
                };
                let instants = kernels.iter().zip(words);
                let instant = instants
                    .map(|(kernel, word)| with_kernel!(kernel, a => a.instant(*word, flight.at)))
                    .max();
                Some((operation.h()?, (instant.unwrap_or(flight.at), words.clone())))
            });
        let granted: HashMap<_, _> = granted.collect();
        machine.agent.answered(flight.question, reply, local)?;
        let _ = machine.agent.ended();
        if machine.agent.followed().is_some() {
            machine.follow();
        }
        self.write(m, &granted);
        self.turn(m);
        Ok(())
    }

    pub(super) fn failed(&mut self, m: usize, flight: Flight, is_error: bool) {
        let machine = &mut self.machines[m];
        let local = machine.local(self.now);
        if is_error {
            machine.agent.doubt();
        }
        machine.agent.lost(flight.question, local);
        self.write(m, &HashMap::new());
        let nap = if is_error { NAP } else { 0 };
        self.wake(m, self.now + nap.max(WAKING));
    }

    /// Writes what the agent says, and lets those decide again who wait for it. `granted` are the store's instants and
    /// words of what it granted.
    fn write(&mut self, m: usize, granted: &HashMap<u64, (u64, Words)>) {
        let effects: Vec<_> = self.machines[m].agent.effects().collect();
        for effect in effects {
            let local = self.machines[m].local(self.now);
            let units = effect.words.iter().flatten().map(|word| Lease::left(*word)).max().unwrap_or(0);
            let of_store = granted.get(&effect.h).filter(|_| units > 0);
            if let Some((_, words)) = of_store {
                self.note_slots(m, effect.h, words, units);
            }
            self.machines[m].write(&effect, of_store.map(|(instant, _)| *instant), local);
            for caller in self.machines[m].waiting.remove(&effect.h).unwrap_or_default() {
                self.decides(m, caller);
            }
        }
    }

    fn note_slots(&mut self, m: usize, h: u64, words: &[u64], units: u64) {
        if !self.config.changes.is_empty() {
            return;
        }
        let history = self.histories.entry(h).or_default();
        for (layer, (resolved, word)) in self.policy.resolved().zip(words).enumerate() {
            if let Some(emission) = resolved.emission {
                let slots = (1..=units).map(|n| word - n * emission.num);
                history.slots.entry((m, layer)).or_default().extend(slots);
            }
        }
    }
}

/// Takes as they would be, did the machine not know what it charged before.
fn unhealed(operations: &mut [Operation], kernels: &[Kernel], at: u64) {
    for operation in operations {
        let Operation::Take { spans, .. } = operation else { continue };
        for (span, kernel) in spans.iter_mut().zip(kernels) {
            if let Some(plain) =
                with_kernel!(kernel, algorithm => algorithm.span(0, at)).filter(|_| span.raises)
            {
                span.floor = plain.floor;
            }
        }
    }
}
