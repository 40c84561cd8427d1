//! A store that is simulated: it adds within bounds, swaps, answers and forgets, as ratecell-sync asks of a server.

use std::collections::HashMap;

use ratecell_core::algorithm::Span;
use ratecell_sync::{Answer, Operation, Record, Value, takes};

use crate::config::{Fault, SECOND};

/// A value, and when it expires, in milliseconds.
type Held = (Value, u64);

#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) record: Record,
    /// Each record that stood here with a generation's instant, by its number.
    pub(crate) settled: Vec<Record>,
    fault: Option<Fault>,
    values: HashMap<u64, Held>,
    /// What stood where something was written, and when.
    writes: Vec<(u64, u64, Option<Held>)>,
    keeps_writes: bool,
}

impl Store {
    pub(crate) fn new(record: Record, keeps_writes: bool, fault: Option<Fault>) -> Self {
        let settled = vec![record.clone()];
        Self { record, settled, fault, values: HashMap::new(), writes: Vec::new(), keeps_writes }
    }

    /// What is asked of the record, or of all keys.
    fn apply_to_all(&mut self, operation: &Operation, now_ms: u64) -> Answer {
        match operation {
            Operation::SwapRecord { old, new } => {
                if **old != self.record {
                    return Answer::Record(Some(Box::new(self.record.clone())));
                }
                if new.at > 0 && new.generation > self.settled.last().map_or(0, |last| last.generation) {
                    self.settled.push(Record::clone(new));
                }
                self.record = Record::clone(new);
                Answer::Swapped
            }
            Operation::Scan { .. } if self.fault == Some(Fault::NoSweep) => {
                Answer::Keys { cursor: 0, keys: Vec::new() }
            }
            Operation::Scan { cursor } => {
                let there = self.values.iter().filter(|(_, (_, expires))| *expires > now_ms);
                let mut keys: Vec<u64> = there.map(|(h, _)| *h).filter(|h| h >= cursor).collect();
                keys.sort_unstable();
                let next = keys.get(2).copied().unwrap_or(0);
                keys.truncate(2);
                Answer::Keys { cursor: next, keys }
            }
            _ => Answer::Record(Some(Box::new(self.record.clone()))),
        }
    }

    /// Does `operation` when the store's clock shows `now_ms`; `at` is the true time.
    pub(crate) fn apply(&mut self, operation: &Operation, now_ms: u64, at: u64) -> Answer {
        let Some(h) = operation.h() else { return self.apply_to_all(operation, now_ms) };
        let held =
            self.values.get(&h).filter(|(_, expires)| *expires > now_ms).map(|(value, _)| value.clone());
        match operation {
            Operation::Take { generation, spans, want, expires_ms, .. } => {
                assert!(
                    !spans.is_empty() && spans.iter().all(takes),
                    "a take that a server would not do: {spans:?}"
                );
                let mut words = match &held {
                    Some(value)
                        if value.generation != *generation && self.fault != Some(Fault::NoByte)
                            || value.words.len() != spans.len() =>
                    {
                        return Answer::Refused(held);
                    }
                    Some(value) => value.words.clone(),
                    None => spans.iter().map(|_| 0).collect(),
                };
                let Some(units) = Span::take(spans, &mut words, *want) else {
                    return Answer::Refused(held);
                };
                self.write(
                    h,
                    Some((Value { generation: *generation, words: words.clone() }, *expires_ms)),
                    at,
                );
                Answer::Taken { units, words }
            }
            Operation::Swap { old, new, expires_ms, .. } => {
                if held != *old {
                    return Answer::Lost(held);
                }
                self.write(h, Some((new.clone(), *expires_ms)), at);
                Answer::Swapped
            }
            Operation::ReadRecord | Operation::SwapRecord { .. } | Operation::Scan { .. } => {
                Answer::Record(Some(Box::new(self.record.clone())))
            }
            Operation::Read { .. } => Answer::Value(held),
            Operation::Forget { .. } => {
                self.write(h, None, at);
                Answer::Forgotten(held.is_some())
            }
        }
    }

    fn write(&mut self, h: u64, new: Option<Held>, at: u64) {
        let before = match new {
            Some(held) => self.values.insert(h, held),
            None => self.values.remove(&h),
        };
        if self.keeps_writes {
            self.writes.push((at, h, before));
        }
    }

    /// Undoes what was written in the second before `at`.
    pub(crate) fn forget_last_second(&mut self, at: u64) {
        while let Some((_, h, before)) = self.writes.pop_if(|(written, ..)| *written + SECOND > at) {
            match before {
                Some(held) => self.values.insert(h, held),
                None => self.values.remove(&h),
            };
        }
    }

    pub(crate) fn forget_all(&mut self) {
        self.values.clear();
        self.writes.clear();
    }
}
