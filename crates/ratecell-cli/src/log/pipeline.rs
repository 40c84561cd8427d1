//! Reading and deciding at the same time: the lines are read here, and decided in a thread of its own.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::{Result, bail};
use foldhash::fast::RandomState;
use indexmap::IndexSet;
use smallvec::SmallVec;

use super::args::LogArgs;
use super::input::{Input, Inputs};
use super::period::Period;
use super::question::{Logged, Question, no_record, read};

/// Requests that change hands at once.
const BATCH_LEN: usize = 1024;

/// Batches that wait at most: the faster side waits then.
const BATCHES: usize = 8;

/// The keys seen, numbered in the order of their first record.
pub(crate) type Keys = IndexSet<Key, RandomState>;

/// Most keys are addresses, which are short: these stand in the set itself.
type Key = SmallVec<[u8; 16]>;

/// A request and its time.
type Timed = (u64, Logged);

/// What decides the requests of a log, in a thread of its own.
pub(crate) trait Decide: Send + 'static {
    /// The next request of the log.
    fn decide(&mut self, time_ns: u64, request: Logged);

    /// No request follows.
    fn finish(&mut self);

    /// How many requests there were, and when.
    fn extent(&self) -> (u64, Option<Period>);
}

/// A log all of whose requests were decided.
pub(crate) struct Decided<D> {
    pub(crate) keys: Keys,
    pub(crate) decider: D,
    pub(crate) question: Question,
    pub(crate) files: Vec<Input>,
    pub(crate) period: Period,
}

impl<D> Decided<D> {
    /// The same with a part of what has decided, and the other part.
    pub(crate) fn split<E, F>(self, split: impl FnOnce(D) -> (E, F)) -> (Decided<E>, F) {
        let Self { keys, decider, question, files, period } = self;
        let (decider, other) = split(decider);
        (Decided { keys, decider, question, files, period }, other)
    }
}

/// Decides all requests of a log by what `decider` returns for the fewest digits that stamps of its files have. With
/// `has_digests` the bytes of the files are digested.
///
/// # Errors
/// A file cannot be read, or there is nothing to decide.
pub(crate) fn decide<D: Decide>(
    args: &LogArgs,
    has_digests: bool,
    decider: impl FnOnce(u8) -> Result<D>,
) -> Result<Decided<D>> {
    let Inputs { mut files, progress, coarsest_digits } = Inputs::open(args, has_digests)?;
    let mut question = Question::new(args);
    let mut pipeline = Pipeline::start(decider(coarsest_digits)?);
    for input in &mut files {
        read(input, |record, digits| question.ask(record, digits, &mut pipeline))?;
    }
    let (keys, decider) = pipeline.finish();
    progress.finish_and_clear();
    let (records, period) = decider.extent();
    let Some(period) = period else { bail!("{}", no_record(&files, question.counts)) };
    if question.counts.no_cost == records {
        bail!("--cost {}: none of {records} requests has a number in that field", question.cost.text);
    }
    Ok(Decided { keys, decider, question, files, period })
}

/// Numbers keys, and hands requests over to be decided.
pub(super) struct Pipeline<D> {
    keys: Keys,
    batch: Vec<Timed>,
    sender: SyncSender<Vec<Timed>>,
    decider: JoinHandle<D>,
}

impl<D: Decide> Pipeline<D> {
    /// Starts the thread that decides.
    fn start(mut decider: D) -> Self {
        let (sender, receiver) = sync_channel::<Vec<Timed>>(BATCHES);
        let decider = thread::spawn(move || {
            for (time_ns, request) in receiver.into_iter().flatten() {
                decider.decide(time_ns, request);
            }
            decider.finish();
            decider
        });
        Self { keys: Keys::default(), batch: Vec::with_capacity(BATCH_LEN), sender, decider }
    }

    /// The next request of the log.
    pub(super) fn push(&mut self, time_ns: u64, key: &[u8], cost: u32, digits: u8) {
        let key = self.keys.get_index_of(key).unwrap_or_else(|| self.keys.insert_full(key.into()).0);
        self.batch.push((time_ns, Logged { key, cost, digits }));
        if self.batch.len() == BATCH_LEN {
            self.hand_over(BATCH_LEN);
        }
    }

    /// Waits until all is decided.
    fn finish(mut self) -> (Keys, D) {
        self.hand_over(0);
        drop(self.sender);
        let decider = self.decider.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (self.keys, decider)
    }

    fn hand_over(&mut self, next_len: usize) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(next_len));
        // Nobody takes it if the thread has panicked, which joining it tells.
        let _ = self.sender.send(batch);
    }
}
