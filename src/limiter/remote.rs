//! A limiter whose units are those of many machines: its tables hold leases, and its misses wait for the agent.

use std::time::Duration;

use crate::board::{Board, Counter, State};
use crate::error::BuildError;
use crate::table::Secret;
use ratecell_core::{Decision, Outcome, Policy, Request};

/// Beside the units of a miss: fewer will do, for they are charged whatever there is.
pub(super) const FILL: u64 = 1 << 63;
/// Beside the units of a miss: the key is to be forgotten, at the store too.
pub(super) const FORGET: u64 = 1 << 62;
const _: () = assert!(Board::UNITS & (FILL | FORGET) == 0);

/// An agent that has not said for so long that it lives is taken for dead.
const LIVES_NS: u64 = 3_000_000_000;
/// A miss is posted again after so long: the agent that took it may have died with it.
const AGAIN: Duration = Duration::from_millis(20);

/// What a check does if no lease of this machine answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnMiss {
    /// It waits for the store, at most so long, and is then denied. The default is 50 ms.
    Wait(Duration),
    /// It is denied at once, and the store is asked for those that follow. A key that is seldom asked for is then never
    /// allowed.
    Deny,
}

impl Default for OnMiss {
    fn default() -> Self {
        Self::Wait(Duration::from_millis(50))
    }
}

/// What a check does if no lease of this machine answers it, and the store does not answer either, or no agent is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum OnFailure {
    /// It is denied.
    #[default]
    Closed,
    /// It is allowed, uncharged, and counted in [`Shared::opened`]. As a claim of several it is denied: see
    /// [`decide_all`](super::Limiter::decide_all).
    Open,
    /// The agent decides it by a part of the policy: that of one of so many machines. Without an agent it is denied.
    Local {
        /// The machines that share the limit; at least 1.
        machines: u32,
    },
}

/// Which store's machines a limiter is one of.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Keys are hashed alike on all machines.
    pub(super) secret: Secret,
}

/// What stands between a limiter and the store.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) board: Board,
    pub(super) on_miss: OnMiss,
    pub(super) on_failure: OnFailure,
    #[cfg(feature = "store")]
    pub(super) agent: Option<super::agent::Running>,
}

/// The state of a machine that shares its limit with others: see [`Limiter::shared`](super::Limiter::shared).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shared {
    /// The store's name.
    pub name: String,
    /// Whether an agent answers: from the store or, with [`OnFailure::Local`] and while the store is away, by a part of the
    /// policy. Then `local` grows.
    pub is_connected: bool,
    /// Whether an agent is there, even if it does not answer.
    pub has_agent: bool,
    /// Units that the store has granted to this machine.
    pub leased: u64,
    /// Units of them that were used. A lease is counted when it is replaced.
    pub used: u64,
    /// Units of them that passed unused.
    pub passed: u64,
    /// Units that were given back to the store: always 0, as the units of a lease are used or pass.
    pub given_back: u64,
    /// Requests that no lease could answer. Of one that does not wait and is decided again and again, each look that comes
    /// after the agent has taken the one before is counted.
    pub misses: u64,
    /// Misses that waited for the store.
    pub waits: u64,
    /// Misses that were denied because no answer had come in time: after the wait, or at once with [`OnMiss::Deny`].
    pub timeouts: u64,
    /// Operations that were sent to the store.
    pub operations: u64,
    /// Operations that came after another machine's, and were repeated.
    pub swaps_lost: u64,
    /// How far the machine's idea of the store's clock is behind at most, in nanoseconds.
    pub lag_ns: u64,
    /// Words that were found below what this machine had charged. Above 0, the store has forgotten what it was told.
    pub healed: u64,
    /// Misses that had no room on the machine's board.
    pub board_full: u64,
    /// Units that were allowed uncharged, because the store was away.
    pub opened: u64,
    /// Units that the agent granted by its part of the policy, because the store was away.
    pub local: u64,
    /// What the operator should know about the store, such as a setting by which it forgets. Only where the agent runs in
    /// this process.
    pub warnings: Vec<String>,
}

impl Remote {
    pub(super) fn new(board: Board, on_miss: OnMiss, on_failure: OnFailure) -> Self {
        Self {
            board,
            on_miss,
            on_failure,
            #[cfg(feature = "store")]
            agent: None,
        }
    }

    /// Has the agent change the policy for all machines.
    pub(super) fn change(&self, policy: &Policy) -> Result<(), BuildError> {
        #[cfg(feature = "store")]
        if let Some(agent) = self.agent.as_ref().filter(|agent| agent.is_here()) {
            return agent.change(policy.clone());
        }
        let reason = format!(
            "the agent of this machine is in another process: expected the change to \"{policy}\" there"
        );
        Err(BuildError::Shared { reason })
    }

    /// Whether an agent answers, by the region's clock.
    pub(super) fn is_connected(&self, now: u64) -> bool {
        self.board.state() == State::Here && now.abs_diff(self.board.last_beat()) <= LIVES_NS
    }

    /// Whether an agent lives, by the region's clock.
    fn has_agent(&self, now: u64) -> bool {
        self.board.state() != State::NoAgent && now.abs_diff(self.board.last_beat()) <= LIVES_NS
    }

    /// What a miss comes to that the store does not answer. `asked` is the decision so far.
    fn unanswered(&self, asked: Decision, units: u32, on_failure: OnFailure) -> Decision {
        let notes = asked.notes() | Decision::UNANSWERED;
        let (outcome, retry_ns) = match on_failure {
            OnFailure::Open => {
                self.board.count(Counter::Opened, u64::from(units));
                (Outcome::Allowed, 0)
            }
            _ => (Outcome::Denied, Decision::NEVER),
        };
        let (limit, remaining, layer) = (asked.limit(), asked.remaining(), asked.layer());
        let layer = u32::try_from(layer).unwrap_or(u32::MAX);
        Decision::new(outcome, limit, remaining, retry_ns, asked.reset_after_ns(), 0, layer).with_notes(notes)
    }

    /// The decision where there is no answer, and `on_failure` where there will be none.
    pub(super) fn end(
        &self,
        why: &Unanswered,
        asked: Decision,
        request: &Request<'_>,
        on_failure: OnFailure,
    ) -> Decision {
        match why {
            Unanswered::Away => self.unanswered(asked, request.units(), on_failure),
            Unanswered::Late if request.is_without_waiting() => asked,
            Unanswered::Late => {
                self.board.count(Counter::Timeouts, 1);
                self.unanswered(asked, request.units(), OnFailure::Closed)
            }
        }
    }

    pub(super) fn shared(&self, now: u64) -> Shared {
        Shared {
            name: self.board.name().unwrap_or_default(),
            #[cfg(feature = "store")]
            warnings: self.agent.as_ref().map_or_else(Vec::new, |agent| agent.warnings()),
            ..self.counts(now)
        }
    }

    /// What needs no memory: all but the name and the warnings.
    pub(super) fn counts(&self, now: u64) -> Shared {
        let counters = self.board.counters();
        let of = |counter: Counter| counters.get(counter as usize).copied().unwrap_or(0);
        Shared {
            name: String::new(),
            is_connected: self.is_connected(now),
            has_agent: self.has_agent(now),
            leased: of(Counter::Leased),
            used: of(Counter::Used),
            passed: of(Counter::Passed),
            given_back: of(Counter::GivenBack),
            misses: of(Counter::Misses),
            waits: of(Counter::Waits),
            timeouts: of(Counter::Timeouts),
            operations: of(Counter::Operations),
            swaps_lost: of(Counter::SwapsLost),
            lag_ns: of(Counter::Lag),
            healed: of(Counter::Healed),
            board_full: of(Counter::BoardFull),
            opened: of(Counter::Opened),
            local: of(Counter::Local),
            warnings: Vec::new(),
        }
    }
}

/// One caller's wait for agents' answers.
pub(super) struct Wait {
    started: u64,
    /// How long it may take, in nanoseconds.
    most_ns: u64,
    has_waited: bool,
}

/// Why a wait has not brought an answer.
pub(super) enum Unanswered {
    /// Nobody will answer.
    Away,
    /// The time is up.
    Late,
}

impl Wait {
    /// For the key of hash `h`, as long as `remote` may take; `now` is by the limiter's clock.
    pub(super) fn new(remote: &Remote, h: u64, now: u64, is_try: bool) -> Self {
        let most_ns = match remote.on_miss {
            OnMiss::Wait(most) if !is_try => u64::try_from(most.as_nanos()).unwrap_or(u64::MAX),
            _ => 0,
        };
        // One that does not wait looks again and again: each look that finds its miss on the board is of the same.
        if !is_try || !remote.board.has(h) {
            remote.board.count(Counter::Misses, 1);
        }
        Self { started: now, most_ns, has_waited: false }
    }

    /// The time since it began, in nanoseconds.
    pub(super) fn elapsed_ns(&self, now: u64) -> u64 {
        now.saturating_sub(self.started)
    }

    /// After `elapsed_ns`, and at `now` by the clock of `remote`: tells its agent of a miss, and waits for an answer to one of the keys that the `ticket` of `h` stands for.
    pub(super) fn ask(
        &mut self,
        remote: &Remote,
        h: u64,
        units: u64,
        ticket: u32,
        now: u64,
        elapsed_ns: u64,
    ) -> Result<(), Unanswered> {
        let board = &remote.board;
        if !remote.is_connected(now) || !board.post(h, units) {
            return Err(Unanswered::Away);
        }
        let left_ns = self.most_ns.saturating_sub(elapsed_ns);
        if left_ns == 0 {
            return Err(Unanswered::Late);
        }
        if !self.has_waited {
            self.has_waited = true;
            board.count(Counter::Waits, 1);
        }
        board.wait(h, ticket, Duration::from_nanos(left_ns).min(AGAIN));
        Ok(())
    }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests;
