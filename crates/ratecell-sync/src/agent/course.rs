//! The record's policy: how the agent comes to decide by the one in force.
//!
//! | the record has | the agent |
//! | --- | --- |
//! | its generation | decides |
//! | a newer one, whose instant is known | carries what it knows of each key, and decides by that one |
//! | a newer one, whose instant nobody knows | asks for the time again, which is after it was made known, and says so |
//! | an older one, or its own without an instant | puts its own back: the store has forgotten |
//!
//! While it does not know the generation in force it asks for no key.

use ratecell_core::Generation;

use super::{Agent, Effect, layers, no_policy, sizing_of};
use crate::store::{Answer, Operation, Record, Reply, StoreError, StoreErrorKind, Value};
use crate::{Layered, Words};

/// How long the agent waits for another to carry the keys, and at most so much longer.
const STALLS_NS: u64 = 10_000_000_000;
const JITTER_NS: u64 = 5_000_000_000;

/// What the agent knows of the generation in force.
#[derive(Clone, Debug)]
pub(super) enum Course {
    /// It is the agent's own.
    Known,
    /// It may be another: the record is to be read. It was seen under that generation before, without an instant.
    Reading { unsettled: Option<u64> },
    /// The record is to be replaced: by one with an instant, or by what the store has forgotten of it.
    Writing { old: Box<Record>, new: Box<Record> },
}

impl Agent {
    /// Takes note of what a batch saw of the record. Whether its answers can be used.
    pub(super) fn looked(&mut self, reply: &Reply, asked_by: u64) -> bool {
        let is_ours = (reply.generation, reply.at) == (self.record.generation, self.record.at);
        if !is_ours && matches!(self.course, Course::Known) {
            self.course = Course::Reading { unsettled: (reply.at == 0).then_some(reply.generation) };
        }
        is_ours && reply.at > 0 && asked_by == self.record.generation
    }

    /// What to ask of the record now, before any key.
    pub(super) fn of_record(&mut self, now: u64) -> Vec<Operation> {
        match &self.course {
            Course::Reading { .. } => vec![Operation::ReadRecord],
            Course::Writing { old, new } => {
                vec![Operation::SwapRecord { old: old.clone(), new: new.clone() }]
            }
            Course::Known if now >= self.sweep_at => {
                self.sweep_at = u64::MAX;
                self.course = Course::Reading { unsettled: None };
                // Nobody else has done it: when the record says so, this agent begins.
                self.begins_sweep();
                vec![Operation::ReadRecord]
            }
            Course::Known => self.of_order(now),
        }
    }

    /// What became of a batch without keys. Its time is `read`, by the store's clock.
    pub(super) fn came_of_record(
        &mut self,
        operations: Vec<Operation>,
        reply: Reply,
        read: u64,
        now: u64,
    ) -> Result<(), StoreError> {
        for (operation, answer) in operations.into_iter().zip(reply.answers) {
            match (operation, answer) {
                (Operation::ReadRecord, Answer::Record(Some(record))) => self.read(*record, read, now)?,
                (Operation::SwapRecord { new, .. }, Answer::Swapped) => self.wrote(*new, now),
                // Somebody came before.
                (Operation::SwapRecord { .. }, _) => self.reads_again(),
                (Operation::Scan { .. }, answer) => {
                    self.listed(answer);
                    self.publishes(now);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What was asked of the record is not known to be done.
    pub(super) fn lost_of_record(&mut self, operations: &[Operation]) {
        if operations.iter().any(|one| matches!(one, Operation::SwapRecord { .. })) {
            self.reads_again();
        }
    }

    fn reads_again(&mut self) {
        self.course = Course::Reading { unsettled: None };
        self.doubts_order();
    }

    fn wrote(&mut self, new: Record, now: u64) {
        if (new.generation, new.at) == (self.record.generation, self.record.at) {
            // Its own: put back, with the sweep that was done, or with a greater version.
            self.record = new;
            self.course = Course::Known;
            self.doubts_order();
            self.judges_order();
            self.minds_sweep(now);
        } else {
            // Published, or with its instant, it is followed as anybody follows it.
            self.reads_again();
        }
    }

    /// The record stood in the store, after the store's clock showed `time`.
    fn read(&mut self, record: Record, time: u64, now: u64) -> Result<(), StoreError> {
        if (record.secret, record.epoch_ns) != (self.record.secret, self.record.epoch_ns) {
            let text = "the record of the store is another than at the beginning";
            return Err(StoreError::new(StoreErrorKind::Mismatch, text));
        }
        let ours = (self.record.generation, self.record.at);
        if record.generation < ours.0 || record.generation == ours.0 && record.at == 0 && ours.1 > 0 {
            self.course = Course::Writing { old: Box::new(record), new: Box::new(self.record.clone()) };
        } else if record.at == 0 {
            let before = match self.course {
                Course::Reading { unsettled } => unsettled,
                _ => None,
            };
            self.course = if before == Some(record.generation) {
                // The time was read after the generation had been seen, so after it was published.
                let at = time.max(record.at_before());
                let new = Record { at, ..record.clone() };
                Course::Writing { old: Box::new(record), new: Box::new(new) }
            } else {
                Course::Reading { unsettled: Some(record.generation) }
            };
        } else {
            if (record.generation, record.at) == ours {
                self.record = record;
            } else {
                self.adopt(record, now)?;
            }
            self.course = Course::Known;
            self.judges_order();
            self.minds_sweep(now);
        }
        Ok(())
    }

    /// Decides by another generation from now on.
    fn adopt(&mut self, record: Record, now: u64) -> Result<(), StoreError> {
        let lineage = record.lineage()?;
        let last = lineage.last().ok_or_else(no_policy)?;
        let layers = layers(last.policy())?;
        let local = self.local.take().map(|local| local.followed_by(last.policy(), now));
        // Without a part the machine denies what it cannot ask for.
        self.local = local.and_then(Result::ok);
        let from = self.record.generation;
        self.sizing = sizing_of(&layers);
        (self.layers, self.record) = (layers, record);
        self.lineage = lineage;
        let mut keys = std::mem::take(&mut self.keys);
        for known in keys.values_mut() {
            known.own = self.carried_from(from, &known.own).unwrap_or_default();
            known.seen = known.value.as_ref().and_then(|value| self.carried(value)).unwrap_or_default();
            self.counts.passed += known.left;
            (known.left, known.usable, known.until, known.tries) = (0, 0, 0, 0);
            known.too_much = None;
            known.pace.resumes(&self.sizing);
        }
        self.keys = keys;
        // Leases and denials that were not written yet are of the generation before.
        for effect in &mut self.effects {
            effect.words = Layered::new();
        }
        let waiting = self.keys.iter().filter(|(_, known)| known.missed.queued);
        self.effects.extend(waiting.map(|(h, _)| Effect::again(*h)));
        self.has_followed = true;
        self.stops_sweep();
        Ok(())
    }

    /// The generation that the agent has followed to, once. The machine's table decides by it before anything else is
    /// written to it, and before anything is asked.
    pub fn followed(&mut self) -> Option<&Generation> {
        std::mem::take(&mut self.has_followed).then(|| self.lineage.last()).flatten()
    }

    /// A value's words in the generation in force; `None` if nobody here knows its own.
    pub(super) fn carried(&self, value: &Value) -> Option<Words> {
        let of = self.lineage.iter().find(|one| one.number() as u8 == value.generation)?;
        self.carried_from(of.number(), &value.words).filter(|words| words.len() == self.layers.len())
    }

    fn carried_from(&self, generation: u64, words: &Words) -> Option<Words> {
        let first = self.lineage.iter().position(|one| one.number() == generation)?;
        let since = self.lineage.get(first..)?;
        let carried = words.iter().enumerate().map(|(layer, word)| {
            since.windows(2).fold(*word, |word, pair| match pair {
                [before, after] => before.changed(after, layer, word),
                _ => word,
            })
        });
        Some(carried.collect())
    }

    /// Looks later whether the keys have been carried, unless this agent does it.
    pub(super) fn minds_sweep(&mut self, now: u64) {
        if self.record.swept >= self.record.generation {
            self.stops_sweep();
            self.sweep_at = u64::MAX;
        } else if self.sweep.is_none() && self.sweep_at == u64::MAX {
            let jitter = self.next_random() % JITTER_NS;
            self.sweep_at = now.saturating_add(STALLS_NS).saturating_add(jitter);
        }
    }
}
