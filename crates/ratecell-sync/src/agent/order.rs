//! A change of the policy that this machine asks for: another record in the place of the one that stands.

use ratecell_core::{ChangeError, Policy};

use super::course::Course;
use super::local::Local;
use super::{Agent, no_policy};
use crate::store::{Answer, Operation, Record, StoreError, StoreErrorKind};

/// How long the store may take.
const PATIENCE_NS: u64 = 5_000_000_000;

/// A change of the policy that a machine asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The policy that is to hold for all machines.
    pub policy: Policy,
    /// The operator's number of the configuration that has the policy: it changes nothing unless it is greater than the
    /// record's. `None` for a call, which changes the policy under any number, and leaves the number as it is.
    pub version: Option<u64>,
}

impl From<Policy> for Change {
    fn from(policy: Policy) -> Self {
        Self { policy, version: None }
    }
}

/// Why a policy was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The policy cannot follow the one in force.
    Change(ChangeError),
    /// Another machine's change came before, or the record's number is no less than the configuration's.
    Overtaken {
        /// The policy that holds.
        by: String,
        /// The operator's number of the configuration that it is of.
        version: u64,
    },
    /// The store does not answer in time. Nothing has changed; or, if this says so, it may change yet.
    Late {
        /// Whether the change was on its way.
        is_open: bool,
    },
    /// The store refuses it, or the policy cannot be shared.
    Store(StoreError),
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Order {
    change: Change,
    until: u64,
    /// The store lets its keys be listed, without which none can be carried that nobody asks for.
    can_scan: bool,
    phase: Phase,
    /// A record has been sent: it may come late.
    is_open: bool,
}

#[derive(Clone, Debug)]
enum Phase {
    /// The record is read first, and whether the keys can be listed.
    Asking,
    /// Keys are of a generation whose record the next one takes the place of: they are carried first.
    Sweeping,
    /// The record of that generation, with that policy, is on its way.
    Publishing { generation: u64, policy: String },
    /// It may have come, or another's.
    InDoubt { generation: u64, policy: String },
}

impl Agent {
    /// Changes the policy for all machines. [`ended`](Self::ended) tells what has come of it; until then no other is asked for.
    pub fn change(&mut self, change: Change, now: u64) {
        let until = now.saturating_add(PATIENCE_NS);
        self.order = Some(Order { change, until, can_scan: false, phase: Phase::Asking, is_open: false });
    }

    /// What has come of a change, once. After `Ok` the agent decides by the policy in force.
    pub fn ended(&mut self) -> Option<Result<(), Refusal>> {
        self.ended.take()
    }

    /// Ends a change that takes too long.
    pub(super) fn expires_order(&mut self, now: u64) {
        let late = self.order.as_ref().filter(|order| now >= order.until);
        if let Some(Order { is_open, .. }) = late {
            self.ends(Err(Refusal::Late { is_open: *is_open }));
        }
    }

    fn ends(&mut self, result: Result<(), Refusal>) {
        self.order = None;
        self.ended = Some(result);
    }

    /// What to ask for a change, or of a sweep's end.
    pub(super) fn of_order(&mut self, now: u64) -> Vec<Operation> {
        let is_due = self.is_sweep_due();
        match &mut self.order {
            Some(Order { phase: Phase::Asking, .. }) => {
                vec![Operation::ReadRecord, Operation::Scan { cursor: 0 }]
            }
            Some(order @ Order { phase: Phase::Sweeping, .. }) => {
                order.until = now.saturating_add(PATIENCE_NS);
                if !is_due {
                    order.phase = Phase::Asking;
                }
                self.of_sweep()
            }
            _ => self.of_sweep(),
        }
    }

    /// Whether keys may be of a generation whose record the next one would take the place of.
    fn is_sweep_due(&self) -> bool {
        self.record.swept.saturating_add(2) < self.record.generation
    }

    /// The answer to whether the keys can be listed.
    pub(super) fn listed(&mut self, answer: Answer) {
        match (answer, &mut self.order) {
            (Answer::Keys { .. }, Some(order)) => order.can_scan = true,
            (Answer::Failed(error), Some(_)) => {
                let is_lost = matches!(error.kind(), StoreErrorKind::Timeout | StoreErrorKind::Disconnected);
                if !is_lost {
                    self.ends(Err(Refusal::Store(error)));
                }
            }
            _ => {}
        }
    }

    /// The record has been read for a change, which is sent now if nothing stands against it.
    pub(super) fn publishes(&mut self, now: u64) {
        let Course::Known = self.course else { return };
        let is_due = self.is_sweep_due();
        let Some(order @ Order { phase: Phase::Asking, can_scan: true, .. }) = &mut self.order else {
            return;
        };
        if is_due {
            order.phase = Phase::Sweeping;
            self.begins_sweep();
            return;
        }
        let change = order.change.clone();
        match self.next(&change, now) {
            Ok(Some(new)) => {
                let (generation, policy) = (new.generation, new.policy.clone());
                if let Some(order) = &mut self.order {
                    order.phase = Phase::Publishing { generation, policy };
                    order.is_open = true;
                }
                self.course = Course::Writing { old: Box::new(self.record.clone()), new: Box::new(new) };
            }
            Ok(None) => self.ends(Ok(())),
            Err(refusal) => self.ends(Err(refusal)),
        }
    }

    /// The record with that change; `None` if it has it.
    fn next(&self, change: &Change, now: u64) -> Result<Option<Record>, Refusal> {
        let version = change.version.unwrap_or(self.record.version);
        let last = self.lineage.last().ok_or_else(no_policy).map_err(Refusal::Store)?;
        let now = self.clock.at(now).max(self.record.at);
        let Some(next) = last.followed_by(&change.policy, now).map_err(Refusal::Change)? else {
            // Of the same policy the greater number holds: one between the two must not change it.
            let is_greater = version > self.record.version;
            return Ok(is_greater.then(|| Record { version, ..self.record.clone() }));
        };
        if change.version.is_some_and(|version| version <= self.record.version) {
            return Err(self.overtaken());
        }
        if let Some(local) = &self.local {
            Local::new(next.policy(), local.machines()).map_err(Refusal::Store)?;
        }
        let record = Record { version, ..self.record.followed_by(&next).map_err(Refusal::Store)? };
        // As another machine reads it.
        Record { at: now.max(1), ..record.clone() }.lineage().map_err(Refusal::Store)?;
        Ok(Some(record))
    }

    fn overtaken(&self) -> Refusal {
        Refusal::Overtaken { by: self.record.policy.clone(), version: self.record.version }
    }

    /// A record that was sent may have come, or another's.
    pub(super) fn doubts_order(&mut self) {
        if let Some(order) = &mut self.order
            && let Phase::Publishing { generation, policy } = &order.phase
        {
            order.phase = Phase::InDoubt { generation: *generation, policy: policy.clone() };
        }
    }

    /// The record in force has been read.
    pub(super) fn judges_order(&mut self) {
        let Some(order) = &mut self.order else { return };
        let Phase::InDoubt { generation, policy } = &order.phase else { return };
        let is_older = order.change.version.is_some_and(|version| self.record.version < version);
        if self.record.generation < *generation || is_older {
            order.phase = Phase::Asking;
            return;
        }
        let mut stated = self.record.earlier.iter().map(|stated| (stated.generation, &stated.policy));
        let there = (self.record.generation == *generation).then_some(&self.record.policy);
        let there =
            there.or_else(|| stated.find(|(number, _)| number == generation).map(|(_, policy)| policy));
        if there == Some(policy) {
            self.ends(Ok(()));
            self.begins_sweep();
        } else {
            self.ends(Err(self.overtaken()));
        }
    }
}
