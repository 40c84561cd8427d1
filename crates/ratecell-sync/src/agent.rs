//! The agent: what a machine asks the store for, and what it makes of the answers.
//!
//! It is a state machine without input or output: [`heard`](Agent::heard) takes the misses of the machine's callers,
//! [`question`](Agent::question) returns what to send now, [`answered`](Agent::answered) takes the answers, and
//! [`effects`](Agent::effects) returns what to write to the machine's table. [`drive`](drive()) connects it with a
//! machine and a store.
//!
//! Instants of the machine are nanoseconds by the clock of its table; those of the store count from the store's epoch.

use std::collections::{HashMap, VecDeque};

use ratecell_core::algorithm::{
    Algorithm, GRACE_NS, Kernel, Lease, Lend, MAX_LEASE, Plan, Span, Want, WordLayout,
};
use ratecell_core::{Outcome, Policy, with_kernel};

use crate::store::{Answer, Operation, Record, Reply, StoreError, StoreErrorKind, Value, takes};
use crate::{Layered, Words};

mod clock;
mod drive;
mod known;
mod local;
mod sizing;

pub use clock::StoreClock;
pub use drive::{Desk, Status, drive};
pub use sizing::{Pace, Sizing};

use known::{Known, Missed, make_room};
use local::Local;

/// Operations of one batch, at most.
const MOST_OPERATIONS: usize = 256;
/// Another machine's charge came between so often before the key waits.
const MOST_TRIES: u32 = 3;
/// A value outlives its words by so much: for a machine that is behind, or a message that is late.
const MARGIN_MS: u64 = 60_000;
/// At most this part of what the store has is taken beyond what was missed.
const SHARE: u64 = 2;
const NS_PER_MS: u64 = 1_000_000;

/// What a caller misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The key's hash.
    pub h: u64,
    /// Units, all or none.
    pub units: u64,
    /// Fewer than these will do.
    pub fill: bool,
    /// The key is to be forgotten, here and at the store.
    pub forget: bool,
    /// Units of the key's last lease that were not used.
    pub left: u64,
    /// Whether they can still be used.
    pub is_live: bool,
}

/// What to write to the machine's table, after which those who wait for the key ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The key's hash.
    pub h: u64,
    /// For each layer the word of a lease or of a denial, or nothing.
    pub words: Layered<Option<u64>>,
}

/// A batch that is to be sent to the store.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is asked; nothing, where only the store's clock is.
    pub operations: Vec<Operation>,
    visits: Vec<Visit>,
    /// The store's time, or earlier: what the operations were decided by.
    at: u64,
    sent: u64,
}

impl Question {
    /// When it was made, by the machine's clock.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

/// An operation's key, and the units that it asks for.
#[derive(Clone, Copy, Debug)]
struct Visit {
    h: u64,
    /// Of a take, what is wanted; of a swap, what it charges.
    units: u64,
}

/// What the agent has counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Units that the store granted.
    pub leased: u64,
    /// Units that were used.
    pub used: u64,
    /// Units that passed unused.
    pub passed: u64,
    /// Operations that were sent to the store.
    pub operations: u64,
    /// Swaps that came after another machine's.
    pub swaps_lost: u64,
    /// Words that were found below what this machine had charged: the store has forgotten.
    pub healed: u64,
    /// Units that were granted by this machine's part of the policy, while the store was away.
    pub local: u64,
}

/// What a machine's agent knows.
#[derive(Debug)]
pub struct Agent {
    layers: Vec<Layer>,
    record: Record,
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

#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub(crate) kernel: Kernel,
    pub(crate) lease: Lease,
}

/// The layers of a policy whose units can be lent.
///
/// # Errors
/// The policy has a layer whose state is no word.
pub(crate) fn layers(policy: &Policy) -> Result<Vec<Layer>, StoreError> {
    let layers = policy.layers().iter().map(|layer| match layer.plan() {
        Plan::Word(kernel) => {
            let lease = with_kernel!(kernel, algorithm => algorithm.lease());
            lease.map(|lease| Layer { kernel, lease })
        }
        Plan::Log(_) => None,
    });
    layers.collect::<Option<_>>().ok_or_else(|| {
        let text = format!("\"{policy}\" cannot be shared through a store: a sliding_log has no word for it");
        StoreError::new(StoreErrorKind::Mismatch, text)
    })
}

/// What the words of a policy mean, which all machines of a store must agree on.
pub fn layouts(policy: &Policy) -> Result<Vec<WordLayout>, StoreError> {
    let layout = |layer: &Layer| with_kernel!(layer.kernel, algorithm => algorithm.packing());
    Ok(layers(policy)?.iter().map(layout).collect())
}

impl Agent {
    /// An agent of the store with this record, whose policy is `policy`, packed as the record says. With `machines` the
    /// agent decides by its part of the policy, of so many machines, while the store is away. `seed` is any number.
    ///
    /// # Errors
    /// The policy cannot be shared, or not be divided among so many machines.
    pub fn new(
        policy: &Policy,
        record: Record,
        machines: Option<u32>,
        seed: u64,
    ) -> Result<Self, StoreError> {
        let layers = layers(policy)?;
        let local = machines.map(|machines| Local::new(policy, machines)).transpose()?;
        let least =
            |part: fn(&Lease) -> u64| layers.iter().map(|layer| part(&layer.lease)).min().unwrap_or(1);
        let most = least(Lease::capacity).min(MAX_LEASE);
        let one_by_one = layers.iter().any(|layer| layer.lease.is_one_by_one());
        Ok(Self {
            sizing: Sizing::new(least(Lease::burst_ns), most, one_by_one),
            layers,
            record,
            clock: StoreClock::default(),
            keys: HashMap::new(),
            queue: VecDeque::new(),
            effects: Vec::new(),
            counts: Counts::default(),
            local,
            failed: 0,
            try_at: 0,
            round_trip_ns: 0,
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
        known.pace.used(sizing, now, used);
        self.counts.used += used;
        known.left = known.left.min(miss.left);
        let Missed { units, fill, forget, queued } = known.missed;
        known.missed = Missed {
            units: units.max(miss.units.min(MAX_LEASE)),
            fill: fill | miss.fill,
            forget: forget | miss.forget,
            queued: true,
        };
        let (forget, ask_at, refusing) = (known.missed.forget, known.pace.ask_at(), known.refusing);
        if is_away && !forget {
            self.decide_away(miss.h, now);
        } else if ask_at > now && !forget {
            known.missed = Missed::default();
            // A lease that can be used is not denied: only this caller's units are not there.
            if !miss.is_live {
                self.deny(miss.h, refusing, ask_at);
            }
        } else if !queued {
            self.queue.push_back(miss.h);
        }
    }

    /// What to send to the store now, if there is anything.
    pub fn question(&mut self, now: u64) -> Option<Question> {
        if now < self.try_at {
            return None;
        }
        let at = self.clock.at(now);
        let mut question = Question { operations: Vec::new(), visits: Vec::new(), at, sent: now };
        // While the store is away, and where its time is not known well enough, a batch of nothing asks for that.
        if self.clock.is_stale(now) || self.failed > 0 {
            return Some(question);
        }
        while question.operations.len() < MOST_OPERATIONS {
            let Some(h) = self.queue.pop_front() else { break };
            let Some(known) = self.keys.get(&h) else { continue };
            let (operation, units) = self.operation(h, known, at);
            question.operations.push(operation);
            question.visits.push(Visit { h, units });
        }
        self.counts.operations += question.operations.len() as u64;
        (!question.operations.is_empty()).then_some(question)
    }

    /// What to ask of the store for a key, and the units of it.
    fn operation(&self, h: u64, known: &Known, at: u64) -> (Operation, u64) {
        if known.missed.forget {
            return (Operation::Forget { h }, 0);
        }
        if known.in_doubt {
            return (Operation::Read { h }, 0);
        }
        let want = known.pace.want(&self.sizing, known.missed.units);
        let least = if known.missed.fill { 1 } else { known.missed.units.max(1) };
        let want = Want { most: want, least, share: SHARE };
        let generation = self.record.generation as u8;
        let spans = self.layers.iter().enumerate().map(|(layer, Layer { kernel, .. })| {
            let seen = known.value.as_ref().and_then(|value| value.words.get(layer)).copied().unwrap_or(0);
            let span = with_kernel!(kernel, algorithm => algorithm.span(seen, at))?;
            // What this machine has charged is there, or was forgotten and is put back.
            let floor = if span.raises { span.floor.max(known.own(layer)) } else { span.floor };
            Some(Span { floor, ..span })
        });
        let spans: Option<Layered<Span>> = spans.collect();
        if let Some(spans) = spans.filter(|spans| spans.iter().all(takes)) {
            let ceilings: Words = spans.iter().map(|span| span.ceiling.max(span.floor)).collect();
            let expires_ms = self.expires_ms(&ceilings);
            return (Operation::Take { h, generation, spans, want, expires_ms }, want.most);
        }
        match self.stepped(known, at, want) {
            Some((words, units)) => {
                let expires_ms = self.expires_ms(&words);
                let new = Value { generation, words };
                (Operation::Swap { h, old: known.value.clone(), new, expires_ms }, units)
            }
            None => (Operation::Read { h }, 0),
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
    fn expires_ms(&self, words: &Words) -> u64 {
        let fresh_at =
            self.layers.iter().zip(words).map(
                |(Layer { kernel, .. }, word)| with_kernel!(kernel, algorithm => algorithm.fresh_at(*word)),
            );
        let fresh_at = fresh_at.max().unwrap_or(0);
        // Rounded up: before that instant a word still counts.
        self.record.epoch_ns.saturating_add(fresh_at).div_ceil(NS_PER_MS).saturating_add(MARGIN_MS)
    }

    /// Takes the answers to a question, which came at `now`.
    ///
    /// # Errors
    /// The policy at the store is of another generation than this agent's.
    pub fn answered(&mut self, question: Question, reply: Reply, now: u64) -> Result<(), StoreError> {
        let read = reply.now_us.saturating_mul(1_000).saturating_sub(self.record.epoch_ns);
        self.clock.note(read, question.sent, now);
        self.failed = 0;
        self.try_at = 0;
        self.round_trip_ns = now.saturating_sub(question.sent);
        if reply.generation != self.record.generation {
            let text = format!(
                "the store's policy is of generation {}: expected {}. Start the agent again to follow it",
                reply.generation, self.record.generation
            );
            return Err(StoreError::new(StoreErrorKind::Mismatch, text));
        }
        let Question { operations, visits, at, .. } = question;
        for ((visit, operation), answer) in visits.into_iter().zip(operations).zip(reply.answers) {
            self.came(visit, operation, answer, at, now);
        }
        Ok(())
    }

    fn came(&mut self, visit: Visit, operation: Operation, answer: Answer, at: u64, now: u64) {
        let Visit { h, units } = visit;
        match (answer, operation) {
            (Answer::Taken { units: taken, words }, _) => self.grant(h, units, taken, words, at, now),
            (Answer::Swapped, Operation::Swap { new, .. }) => self.grant(h, units, units, new.words, at, now),
            (Answer::Forgotten(_), _) => {
                self.keys.remove(&h);
                self.effects.push(Effect { h, words: Layered::new() });
            }
            (Answer::Failed(error), _) => {
                let is_lost = matches!(error.kind(), StoreErrorKind::Timeout | StoreErrorKind::Disconnected);
                if is_lost {
                    self.queue.push_back(h);
                } else {
                    self.refused(h, units, at, now);
                }
            }
            (Answer::Refused(value) | Answer::Lost(value) | Answer::Value(value), operation) => {
                self.counts.swaps_lost += u64::from(matches!(operation, Operation::Swap { .. }));
                self.saw(h, value);
                self.again(h, units, at, now);
            }
            (Answer::Swapped, _) => {}
        }
    }

    /// Takes note of a value that the store holds.
    fn saw(&mut self, h: u64, value: Option<Value>) {
        let Some(known) = self.keys.get_mut(&h) else { return };
        let is_below = |layer: usize| {
            let found = value.as_ref().and_then(|value| value.words.get(layer)).copied().unwrap_or(0);
            found < known.own(layer)
        };
        // A value that has expired is no loss: it decides as none.
        let lost = (0..self.layers.len()).any(is_below) && (value.is_some() || known.in_doubt);
        self.counts.healed += u64::from(lost);
        known.value = value;
        known.in_doubt = false;
    }

    /// After an answer that charged nothing: asks again, if by what was seen the units are there.
    fn again(&mut self, h: u64, wanted: u64, at: u64, now: u64) {
        let Some(known) = self.keys.get_mut(&h) else { return };
        let least = if known.missed.fill { 1 } else { known.missed.units.max(1) };
        let generation = self.record.generation as u8;
        let is_ours = known.value.as_ref().is_none_or(|value| value.generation == generation);
        let cost = u32::try_from(least).unwrap_or(u32::MAX);
        let refusing = self.layers.iter().enumerate().position(|(number, Layer { kernel, .. })| {
            let word = known.word(number);
            with_kernel!(kernel, algorithm => !algorithm.step(word, at, cost).decision.is_allowed())
        });
        known.refusing = refusing.unwrap_or(0);
        known.tries += 1;
        if !is_ours || refusing.is_some() || known.tries > MOST_TRIES {
            self.refused(h, wanted, at, now);
        } else {
            self.queue.push_front(h);
        }
    }

    /// The store had nothing for the key.
    fn refused(&mut self, h: u64, wanted: u64, at: u64, now: u64) {
        let random = self.next_random();
        let Some(known) = self.keys.get_mut(&h) else { return };
        known.pace.brought(&self.sizing, now, wanted, 0, random);
        known.tries = 0;
        known.missed = Missed::default();
        let (mut until, refusing) = (known.pace.ask_at(), known.refusing);
        // Of one unit the wait is known: nothing but a give-back ends it earlier.
        let mut one_is_refused = false;
        for (number, Layer { kernel, .. }) in self.layers.iter().enumerate() {
            let decision =
                with_kernel!(kernel, algorithm => algorithm.step(known.word(number), at, 1).decision);
            if decision.outcome() == Outcome::Denied {
                one_is_refused = true;
                let passed = self.clock.at(now).saturating_sub(at);
                let wait = decision.retry_after_ns().saturating_sub(passed);
                until = until.max(now.saturating_add(wait));
            }
        }
        if one_is_refused || known.left == 0 {
            self.deny(h, refusing, until);
        } else {
            self.effects.push(Effect { h, words: Layered::new() });
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
        known.until = until;
        known.tries = 0;
        known.missed = Missed::default();
        known.own = words.clone();
        known.value = Some(Value { generation: self.record.generation as u8, words });
        known.pace.brought(&self.sizing, now, wanted, units, random);
        self.effects.push(Effect { h, words: leases });
    }

    fn deny(&mut self, h: u64, layer: usize, until: u64) {
        let words = (0..self.layers.len()).map(|number| (number == layer).then(|| Lease::denied(until)));
        self.effects.push(Effect { h, words: words.collect() });
    }

    /// Decides the key by this machine's part of the policy, if it has one. Otherwise its callers decide.
    fn decide_away(&mut self, h: u64, now: u64) {
        let Some(known) = self.keys.get_mut(&h) else { return };
        let Missed { units, fill, .. } = core::mem::take(&mut known.missed);
        let Some(local) = &mut self.local else { return };
        let want = if fill { 1 } else { units.max(1) };
        let (words, units) = local.decide(h, want, now);
        self.counts.local += units;
        known.left = units;
        self.effects.push(Effect { h, words });
    }

    /// Takes note that a question was not answered, or too late.
    pub fn lost(&mut self, question: Question, now: u64) {
        self.failed = self.failed.saturating_add(1);
        for visit in question.visits {
            self.queue.push_back(visit.h);
        }
        if self.is_away() {
            let pause_ns = 1_000_000_000 << (self.failed - MOST_TRIES).min(3);
            self.try_at = now.saturating_add(pause_ns.min(10_000_000_000));
            let waiting: Vec<u64> = self.queue.drain(..).collect();
            waiting.into_iter().for_each(|h| self.decide_away(h, now));
        }
    }

    /// Takes note that the connection was made anew: what the store holds is to be seen again before it is relied on.
    pub fn doubt(&mut self) {
        for known in self.keys.values_mut() {
            known.in_doubt = !known.own.is_empty();
        }
    }

    /// The record of the store.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
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
        self.round_trip_ns.saturating_mul(6).clamp(50_000_000, 400_000_000)
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
