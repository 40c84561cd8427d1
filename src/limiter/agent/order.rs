//! A change of the policy of all machines, from the caller to the agent's thread and back.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::board::Board;
use crate::error::BuildError;
use ratecell_sync::{Change, Refusal, StoreError};

/// Where one change at a time is asked for.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Held by the caller from the question to the answer.
    caller: Mutex<()>,
    state: Mutex<State>,
    turned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    asked: Option<Change>,
    ended: Option<Result<(), Refusal>>,
    /// There is no agent any more.
    is_over: bool,
}

impl Orders {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done with it panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the agent change the policy, and waits until it has, or gives up.
    pub(super) fn change(&self, change: Change, board: &Board) -> Result<(), Refusal> {
        let _one_at_a_time = self.caller.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.state();
        *state = State { asked: Some(change), ended: None, is_over: state.is_over };
        board.wake();
        loop {
            if let Some(result) = state.ended.take() {
                return result;
            }
            if state.is_over {
                let text = "the agent of this machine has ended: see its warnings";
                return Err(Refusal::Store(StoreError::of_machine(text.to_owned())));
            }
            state = self.turned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn taken(&self) -> Option<Change> {
        self.state().asked.take()
    }

    pub(super) fn ended(&self, result: Result<(), Refusal>) {
        self.state().ended = Some(result);
        self.turned.notify_all();
    }

    /// The agent is no more.
    pub(super) fn close(&self) {
        self.state().is_over = true;
        self.turned.notify_all();
    }
}

/// The error of a call, or of a limiter that was to change the policy.
pub(super) fn refused(refusal: Refusal) -> BuildError {
    let reason = match refusal {
        Refusal::Change(error) => return BuildError::Change(error),
        Refusal::Overtaken { by, .. } => {
            format!("another machine changed the policy of the store meanwhile: \"{by}\" holds for all machines")
        }
        Refusal::Late { is_open: false } => {
            "the store does not answer, so its policy was not changed: expected it within 5 s".to_owned()
        }
        Refusal::Late { is_open: true } => {
            "the store has not answered whether its policy is changed: it may be, now or when the store is back".to_owned()
        }
        Refusal::Store(error) => format!("the policy of the store was not changed: {error}"),
    };
    BuildError::Shared { reason }
}
