//! The agent: what a machine asks the store for, and what it makes of the answers.
//!
//! It is a state machine without input or output: [`heard`](Agent::heard) takes the misses of the machine's callers,
//! [`question`](Agent::question) returns what to send now, [`answered`](Agent::answered) takes the answers, and
//! [`effects`](Agent::effects) returns what to write to the machine's table. [`drive`](drive()) connects it with a
//! machine and a store.
//!
//! Another machine may change the policy. Each batch looks at the record before its operations, and an answer to a batch
//! that saw another generation than the agent's is not used. The agent then reads the record and decides by it, once
//! its machine's table [does](Agent::followed).
//!
//! Instants of the machine are nanoseconds by the clock of its table; those of the store count from the store's epoch.

use std::collections::{HashMap, VecDeque};

use ratecell_core::Generation;
use ratecell_core::algorithm::{Lease, MAX_LEASE};

use crate::store::{Answer, Operation, Record, Reply, StoreError, StoreErrorKind};

mod clock;
mod course;
mod drive;
mod known;
mod layer;
mod lineage;
mod local;
mod order;
mod sizing;
mod sweep;
mod traffic;
mod visit;

pub use clock::StoreClock;
pub use drive::{Desk, Status, drive};
pub use layer::layouts;
pub use order::{Change, Refusal};
pub use sizing::{Pace, Sizing};
pub use traffic::{Counts, Effect, Miss, Question};

use course::Course;
use known::{Known, Missed, TooMuch, make_room};
use layer::{Layer, layers};
use local::Local;
use order::Order;
use sweep::Sweep;
use traffic::Visit;

/// Units whose answer is older are not used, in nanoseconds: their lease's clock would be as far behind.
const MAX_AGE_NS: u64 = 500_000_000;
/// Operations of one batch, at most.
const MOST_OPERATIONS: usize = 256;
/// Another machine's charge came between so often before the key waits.
const MOST_TRIES: u32 = 3;
/// Before anything is known of them, answers may be as long on their way as they ever may.
const FIRST_TRIP_NS: u64 = LONGEST_TIMEOUT_NS.div_ceil(6);
const SHORTEST_TIMEOUT_NS: u64 = 50_000_000;
const LONGEST_TIMEOUT_NS: u64 = 400_000_000;

/// What a machine's agent knows.
#[derive(Debug)]
pub struct Agent {
    layers: Vec<Layer>,
    record: Record,
    /// The generations that a value may be of; the last is the one that the agent decides by.
    lineage: Vec<Generation>,
    course: Course,
    order: Option<Order>,
    ended: Option<Result<(), Refusal>>,
    /// The machine's table decides by an older generation yet.
    has_followed: bool,
    sweep: Option<Sweep>,
    /// When to look whether somebody carries the keys, by the machine's clock.
    sweep_at: u64,
    sizing: Sizing,
    clock: StoreClock,
    keys: HashMap<u64, Known>,
    queue: VecDeque<u64>,
    effects: Vec<Effect>,
    counts: Counts,
    /// The part of the policy that this machine decides by while the store is away.
    local: Option<Local>,
    /// Batches in a row without an answer.
    failed: u32,
    /// Nothing is sent before this instant.
    try_at: u64,
    round_trip_ns: u64,
    random: u64,
}

impl Agent {
    /// An agent of the store with this record. With `machines` the agent decides by its part of the policy, of so many
    /// machines, while the store is away. `seed` is any number.
    ///
    /// # Errors
    /// The policy cannot be shared, or not be divided among so many machines.
    pub fn new(record: Record, machines: Option<u32>, seed: u64) -> Result<Self, StoreError> {
        let lineage = record.lineage()?;
        let policy = lineage.last().map(Generation::policy).ok_or_else(no_policy)?;
        let layers = layers(policy)?;
        let local = machines.map(|machines| Local::new(policy, machines)).transpose()?;
        Ok(Self {
            sizing: sizing_of(&layers),
            layers,
            // Nobody has said yet when it began.
            course: if record.at == 0 { Course::Reading { unsettled: None } } else { Course::Known },
            order: None,
            ended: None,
            has_followed: false,
            sweep: None,
            sweep_at: u64::MAX,
            record,
            lineage,
            clock: StoreClock::default(),
            keys: HashMap::new(),
            queue: VecDeque::new(),
            effects: Vec::new(),
            counts: Counts::default(),
            local,
            failed: 0,
            try_at: 0,
            round_trip_ns: FIRST_TRIP_NS,
            random: seed,
        })
    }

    /// Takes note of a caller's miss.
    pub fn heard(&mut self, miss: Miss, now: u64) {
        make_room(&mut self.keys, now);
        let is_away = self.is_away();
        let sizing = &self.sizing;
        let known = self.keys.entry(miss.h).or_insert_with(|| Known::new(sizing, now));
        let used = known.left.saturating_sub(miss.left);
        // Those who missed units before have used them since.
        known.pace.asked(sizing, now, used.saturating_sub(known.counted).saturating_add(miss.units));
        known.counted = miss.units;
        self.counts.used += used;
        known.left = known.left.min(miss.left);
        known.usable = miss.usable;
        // It was missed before the last answer came.
        let is_there = miss.usable >= if miss.fill { 1 } else { miss.units.max(1) };
        if is_there && !miss.forget {
            self.effects.push(Effect::again(miss.h));
            return;
        }
        let Missed { units, fill, forget, queued } = known.missed;
        known.missed = Missed {
            units: units.max(miss.units.min(MAX_LEASE)),
            fill: fill | miss.fill,
            forget: forget | miss.forget,
            queued: true,
        };
        let (forget, ask_at, refusing) = (known.missed.forget, known.pace.ask_at(), known.refusing);
        if let Some(local) = self.local.as_mut().filter(|_| miss.forget) {
            local.forget(miss.h);
        }
        if is_away {
            if forget && !queued {
                self.queue.push_back(miss.h);
            }
            // To be forgotten misses nothing.
            if miss.units > 0 {
                self.decide_away(miss.h, now);
            }
        } else if queued {
            // It is asked for already.
        } else if let Some(TooMuch { cost, until, .. }) = known.too_much(&miss, now) {
            // Others may ask for less.
            known.missed = Missed::default();
            // A lease that can be used stays; who needs more than it holds waits in vain.
            if miss.usable == 0 {
                self.deny_above(miss.h, refusing, cost.saturating_sub(1), until);
            }
        } else if ask_at > now && !forget && !miss.fill {
            known.missed = Missed::default();
            // A lease that can be used is not denied: only this caller's units are not there.
            if miss.usable == 0 {
                self.deny(miss.h, refusing, ask_at);
            }
        } else {
            self.queue.push_back(miss.h);
        }
    }

    /// What to send to the store now, if there is anything.
    pub fn question(&mut self, now: u64) -> Option<Question> {
        self.expires_order(now);
        if now < self.try_at {
            return None;
        }
        // The instant of the last change has passed.
        let at = self.clock.at(now).max(self.record.at);
        let generation = self.record.generation;
        let mut question = Question { operations: Vec::new(), visits: Vec::new(), at, sent: now, generation };
        // While the store is away, and where its time is not known well enough, a batch of nothing asks for that.
        if self.clock.is_stale(now) || self.is_away() {
            return Some(question);
        }
        question.operations = self.of_record(now);
        if !question.operations.is_empty() {
            return Some(question);
        }
        while question.operations.len() < MOST_OPERATIONS {
            let Some(h) = self.queue.pop_front() else { break };
            let Some(known) = self.keys.get(&h).filter(|known| known.missed.queued) else { continue };
            let (operation, wanted, charged) = self.operation(h, known, at);
            question.operations.push(operation);
            question.visits.push(Visit { h, wanted, charged, is_sweep: false });
        }
        self.carry_on(&mut question);
        self.counts.operations += question.operations.len() as u64;
        (!question.operations.is_empty()).then_some(question)
    }

    /// Takes the answers to a question, which came at `now`.
    ///
    /// # Errors
    /// The store is under a policy that the agent cannot decide by.
    pub fn answered(&mut self, question: Question, reply: Reply, now: u64) -> Result<(), StoreError> {
        let trip = now.saturating_sub(question.sent);
        let age = trip.saturating_add(self.clock.lag_ns(question.sent));
        let read = reply.now_us.saturating_mul(1_000).saturating_sub(self.record.epoch_ns);
        self.clock.note(read, question.sent, now);
        // A server may tell its time, and what it holds, and do nothing else: so does a replica.
        let is_probe = question.operations.iter().all(|one| {
            matches!(one, Operation::Read { .. } | Operation::ReadRecord | Operation::Scan { .. })
        });
        self.failed = if is_probe { self.failed.min(MOST_TRIES - 1) } else { 0 };
        self.try_at = 0;
        self.round_trip_ns = trip.max(self.round_trip_ns - self.round_trip_ns / 8);
        let is_ours = self.looked(&reply, question.generation);
        let Question { operations, visits, at, .. } = question;
        if visits.is_empty() {
            return self.came_of_record(operations, reply, read, now);
        }
        let mut answers = reply.answers.into_iter();
        for (visit, operation) in visits.into_iter().zip(operations) {
            match answers.next() {
                Some(answer) if visit.is_sweep => self.came_of_sweep(visit.h, operation, answer, now),
                // What was charged is not used, and passes.
                Some(Answer::Taken { .. } | Answer::Swapped) if !is_ours => self.queue.push_back(visit.h),
                Some(Answer::Taken { .. } | Answer::Swapped) if age > MAX_AGE_NS => {
                    self.is_too_old(visit, at, now);
                }
                Some(answer) => self.came(visit, operation, answer, at, now),
                None => self.queue.push_back(visit.h),
            }
        }
        Ok(())
    }

    /// Takes note that a question was not answered, or too late.
    pub fn lost(&mut self, question: Question, now: u64) {
        self.failed = self.failed.saturating_add(1);
        // It may only have been late.
        self.round_trip_ns = (self.timeout_ns() / 3).min(FIRST_TRIP_NS);
        self.lost_of_record(&question.operations);
        for (visit, operation) in question.visits.into_iter().zip(question.operations) {
            if visit.is_sweep {
                self.lost_of_sweep(visit.h, operation);
            } else {
                self.queue.push_back(visit.h);
            }
        }
        if self.is_away() {
            let pause_ns = 1_000_000_000 << (self.failed - MOST_TRIES).min(3);
            self.try_at = now.saturating_add(pause_ns.min(10_000_000_000));
            for h in std::mem::take(&mut self.queue) {
                let Some(missed) = self.keys.get(&h).map(|known| known.missed) else { continue };
                if missed.forget {
                    self.queue.push_back(h);
                }
                if missed.units > 0 || !missed.forget {
                    self.decide_away(h, now);
                }
            }
        }
    }

    /// Takes note that the connection was made anew: what the store holds is to be seen again before it is relied on.
    pub fn doubt(&mut self) {
        for known in self.keys.values_mut() {
            known.in_doubt = !known.own.is_empty();
        }
    }

    /// The record of the store, as the agent knows it.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The generation that the agent decides by.
    #[must_use]
    pub fn generation(&self) -> Option<&Generation> {
        self.lineage.last()
    }

    /// Whether the store does not answer.
    #[must_use]
    pub fn is_away(&self) -> bool {
        self.failed >= MOST_TRIES
    }

    /// Whether the agent decides by its part of the policy now.
    #[must_use]
    pub fn decides_here(&self) -> bool {
        self.is_away() && self.local.is_some()
    }

    /// How long to wait for an answer, in nanoseconds.
    #[must_use]
    pub fn timeout_ns(&self) -> u64 {
        self.round_trip_ns.saturating_mul(6).clamp(SHORTEST_TIMEOUT_NS, LONGEST_TIMEOUT_NS)
    }

    /// How far behind the store's clock its time is at `now` at most, in nanoseconds.
    #[must_use]
    pub fn lag_ns(&self, now: u64) -> u64 {
        self.clock.lag_ns(now)
    }

    /// What is to be written to the table now.
    pub fn effects(&mut self) -> std::vec::Drain<'_, Effect> {
        self.effects.drain(..)
    }

    /// What has been counted since the agent began.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// SplitMix64.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

fn no_policy() -> StoreError {
    StoreError::new(StoreErrorKind::Mismatch, "the store's record has no policy")
}

fn sizing_of(layers: &[Layer]) -> Sizing {
    let least = |part: fn(&Lease) -> u64| layers.iter().map(|layer| part(&layer.lease)).min().unwrap_or(1);
    let most = least(Lease::capacity).min(MAX_LEASE);
    let one_by_one = layers.iter().any(|layer| layer.lease.is_one_by_one());
    Sizing::new(least(Lease::burst_ns), most, one_by_one)
}

#[cfg(test)]
mod tests;
