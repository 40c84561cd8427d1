//! The sweep: every value is carried to the generation in force.
//!
//! It ends within the time by which a value outlives its words: under a slower rate they live longer than the value's
//! expiry says. And a value is read as long as the record has its generation, the last of four.

use std::collections::VecDeque;

use super::{Agent, Question, Visit};
use crate::store::{Answer, Operation, Record, StoreErrorKind, Value};

/// Keys of one batch, and those that are known before more are asked for.
const MOST_KEYS: usize = 128;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    /// Where to go on with the keys; `None`: all have been answered.
    cursor: Option<u64>,
    /// The keys that are left, with their values where those were seen.
    keys: VecDeque<(u64, Option<Value>)>,
    /// Keys that are asked for just now.
    asked: usize,
    is_scanning: bool,
}

impl Agent {
    pub(super) fn begins_sweep(&mut self) {
        if self.record.swept < self.record.generation && self.sweep.is_none() {
            self.sweep = Some(Sweep { cursor: Some(0), keys: VecDeque::new(), asked: 0, is_scanning: false });
        }
        self.sweep_at = u64::MAX;
    }

    pub(super) fn stops_sweep(&mut self) {
        self.sweep = None;
    }

    /// What to ask of the record when all is carried.
    pub(super) fn of_sweep(&self) -> Vec<Operation> {
        let is_over = |sweep: &&Sweep| sweep.cursor.is_none() && sweep.keys.is_empty() && sweep.asked == 0;
        if self.sweep.as_ref().filter(is_over).is_none() {
            return Vec::new();
        }
        let new = Record { swept: self.record.generation, ..self.record.clone() };
        vec![Operation::SwapRecord { old: Box::new(self.record.clone()), new: Box::new(new) }]
    }

    /// Adds to a batch what the sweep asks for: none of its keys twice.
    pub(super) fn carry_on(&mut self, question: &mut Question) {
        let Some(mut sweep) = self.sweep.take() else { return };
        let visit = |h| Visit { h, wanted: 0, charged: 0, is_sweep: true };
        if let Some(cursor) = sweep.cursor.filter(|_| !sweep.is_scanning && sweep.keys.len() < MOST_KEYS) {
            sweep.is_scanning = true;
            question.operations.push(Operation::Scan { cursor });
            question.visits.push(visit(0));
        }
        for _ in 0..sweep.keys.len().min(MOST_KEYS) {
            let Some((h, value)) = sweep.keys.pop_front() else { break };
            if question.operations.iter().any(|one| one.h() == Some(h)) {
                sweep.keys.push_back((h, value));
                continue;
            }
            let swap = value.and_then(|old| {
                let words = self.carried(&old)?;
                Some((old, words))
            });
            question.operations.push(match swap {
                Some((old, words)) => {
                    let expires_ms = self.expires_ms(&words);
                    let new = Value { generation: self.record.generation as u8, words };
                    Operation::Swap { h, old: Some(old), new, expires_ms }
                }
                None => Operation::Read { h },
            });
            question.visits.push(visit(h));
            sweep.asked += 1;
        }
        self.sweep = Some(sweep);
    }

    pub(super) fn came_of_sweep(&mut self, h: u64, operation: Operation, answer: Answer, now: u64) {
        if let Answer::Failed(error) = &answer {
            let is_lost = matches!(error.kind(), StoreErrorKind::Timeout | StoreErrorKind::Disconnected);
            if matches!(operation, Operation::Scan { .. }) && !is_lost {
                // Without the right to list the keys it is another's to do. Later the server may be another one.
                self.stops_sweep();
                self.minds_sweep(now);
                return;
            }
            self.lost_of_sweep(h, operation);
            return;
        }
        // An older value that nobody here knows is of no generation that the record has, and expires.
        let is_left =
            |value: &Value| value.generation != self.record.generation as u8 && self.carried(value).is_some();
        let again = match &answer {
            Answer::Value(Some(value)) | Answer::Lost(Some(value)) => Some(value.clone()).filter(is_left),
            _ => None,
        };
        let Some(sweep) = &mut self.sweep else { return };
        if let Operation::Scan { .. } = operation {
            sweep.is_scanning = false;
            if let Answer::Keys { cursor, keys } = answer {
                sweep.cursor = (cursor != 0).then_some(cursor);
                sweep.keys.extend(keys.into_iter().map(|h| (h, None)));
            }
            return;
        }
        sweep.asked = sweep.asked.saturating_sub(1);
        sweep.keys.extend(again.map(|value| (h, Some(value))));
    }

    pub(super) fn lost_of_sweep(&mut self, h: u64, operation: Operation) {
        let Some(sweep) = &mut self.sweep else { return };
        match operation {
            Operation::Scan { .. } => sweep.is_scanning = false,
            Operation::Swap { old, .. } => {
                sweep.asked = sweep.asked.saturating_sub(1);
                sweep.keys.push_back((h, old));
            }
            _ => {
                sweep.asked = sweep.asked.saturating_sub(1);
                sweep.keys.push_back((h, None));
            }
        }
    }
}
