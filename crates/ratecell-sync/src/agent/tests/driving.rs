//! The loop, with a desk and a store that the test makes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::*;
use crate::store::Channel;

/// What the desk and the store know of each other.
#[derive(Clone, Default)]
struct Stage {
    /// The store is asked whether it is back.
    is_probed: Arc<AtomicBool>,
    /// That question is over.
    is_over: Arc<AtomicBool>,
}

/// A store that does not answer, until a caller was answered without it.
struct Store {
    stage: Stage,
    failures: u32,
    answered: Receiver<Effect>,
    found: Option<Effect>,
}

impl Channel for Store {
    fn batch(&mut self, operations: &[Operation]) -> Result<Reply, StoreError> {
        let failed = || StoreError::new(StoreErrorKind::Timeout, "no answer");
        assert!(operations.is_empty(), "{operations:?}");
        self.failures += 1;
        if self.failures <= MOST_TRIES {
            return Err(failed());
        }
        self.stage.is_probed.store(true, Ordering::SeqCst);
        self.found = self.answered.recv_timeout(Duration::from_secs(10)).ok();
        self.stage.is_over.store(true, Ordering::SeqCst);
        Err(failed())
    }

    fn set_timeout(&mut self, _: Duration) {}
}

/// A machine one of whose callers misses a unit while the store is asked.
struct Machine {
    stage: Stage,
    now: u64,
    has_missed: bool,
    written: Sender<Effect>,
}

impl Desk for Machine {
    fn now_ns(&self) -> u64 {
        self.now
    }

    fn misses(&mut self, each: &mut dyn FnMut(Miss)) {
        if self.stage.is_probed.load(Ordering::SeqCst) && !self.has_missed {
            self.has_missed = true;
            each(miss(1));
        }
    }

    fn write(&mut self, effect: &Effect) {
        // The store may have given up.
        let _ = self.written.send(effect.clone());
    }

    fn sleep(&mut self, at_most: Duration) {
        self.now += at_most.as_nanos() as u64;
        std::thread::yield_now();
    }

    fn report(&mut self, _: &Status) -> bool {
        !self.stage.is_over.load(Ordering::SeqCst)
    }

    fn trouble(&mut self, _: Option<&StoreError>) {}

    fn follow(&mut self, _: &Generation) -> Result<(), StoreError> {
        Ok(())
    }

    fn order(&mut self) -> Option<Change> {
        None
    }

    fn ended(&mut self, _: Result<(), Refusal>) {}
}

#[test]
fn a_machine_decides_by_its_part_while_it_asks_whether_the_store_is_back() {
    let policy: Policy = "10/s burst=10".parse().expect("a policy");
    let mut agent = Agent::new(record(&policy), Some(2), 1).expect("an agent");
    let stage = Stage::default();
    let (written, answered) = channel();
    let mut store = Store { stage: stage.clone(), failures: 0, answered, found: None };
    let mut machine = Machine { stage, now: SECOND, has_missed: false, written };
    drive(&mut agent, &mut store, &mut machine).expect("an end");
    let effect = store.found.expect("the caller waits for the store");
    assert_eq!(lease_of(&[effect]).0, 1);
}
