//! Reading and deciding at the same time: the lines are read here, and decided in a thread of its own.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use smallvec::SmallVec;

use super::tally::{Logged, Tally};

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

/// Numbers keys, and hands requests over to be decided.
pub(crate) struct Pipeline {
    keys: Keys,
    batch: Vec<Timed>,
    sender: SyncSender<Vec<Timed>>,
    decider: JoinHandle<Tally>,
}

impl Pipeline {
    /// Starts the thread that decides.
    pub(crate) fn start(mut tally: Tally) -> Self {
        let (sender, receiver) = sync_channel::<Vec<Timed>>(BATCHES);
        let decider = thread::spawn(move || {
            for (time_ns, request) in receiver.into_iter().flatten() {
                tally.decide(time_ns, request);
            }
            tally.finish();
            tally
        });
        Self { keys: Keys::default(), batch: Vec::with_capacity(BATCH_LEN), sender, decider }
    }

    /// The next request of the log.
    pub(crate) fn decide(&mut self, time_ns: u64, key: &[u8], cost: u32, digits: u8) {
        let key = self.keys.get_index_of(key).unwrap_or_else(|| self.keys.insert_full(key.into()).0);
        self.batch.push((time_ns, Logged { key, cost, digits }));
        if self.batch.len() == BATCH_LEN {
            self.hand_over(BATCH_LEN);
        }
    }

    /// Waits until all is decided.
    pub(crate) fn finish(mut self) -> (Keys, Tally) {
        self.hand_over(0);
        drop(self.sender);
        let tally = self.decider.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (self.keys, tally)
    }

    fn hand_over(&mut self, next_len: usize) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(next_len));
        // Nobody takes it if the thread has panicked, which joining it tells.
        let _ = self.sender.send(batch);
    }
}
