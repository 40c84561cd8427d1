//! What is asked of the store, as commands and from answers.

use arrayvec::ArrayVec;
use ratecell_core::algorithm::{Span, Want};
use redis::{Cmd, Value as Raw};

use super::error::{StoreError, StoreErrorKind};
use super::record::Record;
use super::script::{EXACT, Scripts, Text, packed};
use super::value::{MOST_LAYERS, Value, key, record_key};

/// One thing that is asked of the store, for the key with the hash `h` under the record's secret.
///
/// `expires_ms` is when the store may forget the key, in milliseconds since 1970 by its clock: an instant at which
/// every word that the operation may leave decides as none, and some time more.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Adds units to the key's words, as [`Span::take`] says. A key that is not there has words of 0. Spans of which one
    /// is not as [`takes`] says are [`Answer::Failed`].
    Take {
        /// The key.
        h: u64,
        /// The policy's generation, mod 256: a value of another one is refused.
        generation: u8,
        /// One for each layer.
        spans: ArrayVec<Span, MOST_LAYERS>,
        /// How many units.
        want: Want,
        /// When the store may forget it.
        expires_ms: u64,
    },
    /// Puts `new` in the place of `old`, if that is what is there.
    Swap {
        /// The key.
        h: u64,
        /// What must be there; `None`: nothing.
        old: Option<Value>,
        /// What is there then.
        new: Value,
        /// When the store may forget it.
        expires_ms: u64,
    },
    /// Answers the value.
    Read {
        /// The key.
        h: u64,
    },
    /// Deletes the key.
    Forget {
        /// The key.
        h: u64,
    },
    /// Answers the record.
    ReadRecord,
    /// Puts `new` in the place of the record `old`, if that is what is there.
    SwapRecord {
        /// What must be there.
        old: Box<Record>,
        /// What is there then.
        new: Box<Record>,
    },
    /// Answers some of the keys, and where to go on. By turns, from 0 until it is 0 again, all are answered that are there
    /// all the while, some of them twice. Not of a cluster.
    Scan {
        /// Where to go on.
        cursor: u64,
    },
}

impl Operation {
    /// The key that it is about; `None` where it is about the record, or all keys.
    pub fn h(&self) -> Option<u64> {
        match self {
            Self::Take { h, .. } | Self::Swap { h, .. } | Self::Read { h } | Self::Forget { h } => Some(*h),
            Self::ReadRecord | Self::SwapRecord { .. } | Self::Scan { .. } => None,
        }
    }
}

/// What became of an [`Operation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A take added so many units, and left these words.
    Taken {
        /// How many units of each layer; at least 1.
        units: u64,
        /// The words now.
        words: ArrayVec<u64, MOST_LAYERS>,
    },
    /// A take changed nothing; the value as it is.
    Refused(Option<Value>),
    /// A swap is done, of a value or of the record.
    Swapped,
    /// A swap changed nothing; the value as it is.
    Lost(Option<Value>),
    /// The value that was asked for.
    Value(Option<Value>),
    /// Whether there was a key to be forgotten.
    Forgotten(bool),
    /// The record that was asked for, or that made a swap of it come too late; `None` if there is none.
    Record(Option<Box<Record>>),
    /// Keys, by their hashes, and where to go on.
    Keys {
        /// Where to go on; 0 at the end.
        cursor: u64,
        /// Some of the keys.
        keys: Vec<u64>,
    },
    /// The server refused it, or did not answer: after [`StoreErrorKind::Timeout`] and [`StoreErrorKind::Disconnected`]
    /// it may have been done.
    Failed(StoreError),
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The store's clock in microseconds since 1970, read after the batch was sent and before it was answered.
    pub now_us: u64,
    /// The policy's generation in force, read after the clock.
    pub generation: u64,
    /// When it began, in nanoseconds since the epoch.
    pub at: u64,
    /// One for each operation.
    pub answers: Vec<Answer>,
}

/// What a server can do in one command. Where it cannot, a script does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// `SET … IFEQ`: Valkey 8.1, Redis 8.4.
    pub ifeq: bool,
    /// `SET … NX GET`: Redis 7.0.
    pub nx_get: bool,
    /// `SET … PXAT`: Redis 6.2.
    pub pxat: bool,
}

impl Abilities {
    /// Those of a server of this name and version.
    pub(crate) fn of(valkey: bool, version: (u32, u32)) -> Self {
        let ifeq = version >= if valkey { (8, 1) } else { (8, 4) };
        Self { ifeq, nx_get: version >= (7, 0), pxat: version >= (6, 2) }
    }
}

/// Whether [`Operation::Take`] can be by such a span: the store computes in numbers of 52 bits. Other words are charged
/// by [`Operation::Swap`].
pub fn takes(span: &Span) -> bool {
    span.ceiling.saturating_sub(span.floor) < EXACT && (1..EXACT).contains(&span.unit)
}

/// In which form an operation is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As short as the server can take it.
    Short,
    /// By the script's whole text.
    Whole,
}

/// A command that does `operation`, or why none can.
pub(crate) fn command(
    operation: &Operation,
    name: &str,
    can: Abilities,
    form: Form,
) -> Result<Cmd, StoreError> {
    let scripts = Scripts::of(can.pxat);
    Ok(match operation {
        Operation::Take { h, generation, spans, want, expires_ms } => {
            if spans.is_empty() || !spans.iter().all(takes) {
                let text = "a store adds to words where units and what they add up to are below 2^52: expected a swap";
                return Err(StoreError::new(StoreErrorKind::Mismatch, text));
            }
            let mut command = script(&scripts.take, &key(name, *h), form);
            command.arg(packed(*generation, spans, *want)).arg(expires_ms);
            command
        }
        Operation::Swap { h, old, new, expires_ms } => {
            let key = key(name, *h);
            let old = old.as_ref().map(Value::bytes).unwrap_or_default();
            let new = new.bytes();
            match swap_by(old.is_empty(), can) {
                None => {
                    let mut command = script(&scripts.swap, &key, form);
                    command.arg(old.as_slice()).arg(new.as_slice()).arg(expires_ms);
                    command
                }
                Some(word) => {
                    let mut command = redis::cmd("SET");
                    command.arg(key).arg(new.as_slice()).arg(word);
                    if !old.is_empty() {
                        command.arg(old.as_slice());
                    }
                    command.arg("GET").arg("PXAT").arg(expires_ms);
                    command
                }
            }
        }
        Operation::Read { h } => one("GET", &key(name, *h)),
        Operation::Forget { h } => one("DEL", &key(name, *h)),
        Operation::ReadRecord => one("GET", &record_key(name)),
        Operation::SwapRecord { old, new } => {
            let mut command = script(&scripts.swap, &record_key(name), form);
            // It does not expire.
            command.arg(old.bytes()).arg(new.bytes()).arg("");
            command
        }
        Operation::Scan { cursor } => {
            // No sign of a name is one of a pattern.
            let mut command = redis::cmd("SCAN");
            command.arg(*cursor).arg("MATCH").arg(format!("{name}????????")).arg("COUNT").arg(SCANNED);
            command
        }
    })
}

/// How many keys of the server, of whatever name, a scan looks at.
const SCANNED: usize = 1_000;

/// The word of `SET` that swaps, where the server has it.
fn swap_by(absent: bool, can: Abilities) -> Option<&'static str> {
    match absent {
        _ if !can.pxat => None,
        true => can.nx_get.then_some("NX"),
        false => can.ifeq.then_some("IFEQ"),
    }
}

pub(crate) fn one(command: &str, key: &[u8]) -> Cmd {
    let mut command = redis::cmd(command);
    command.arg(key);
    command
}

fn script(text: &Text, key: &[u8], form: Form) -> Cmd {
    let mut command = match form {
        Form::Short => one("EVALSHA", text.hash.as_bytes()),
        Form::Whole => one("EVAL", text.code.as_bytes()),
    };
    command.arg(1).arg(key);
    command
}

/// Reads what the server answered to the command of `operation`; no error of the server's.
pub(crate) fn answer(
    operation: &Operation,
    raw: Raw,
    name: &str,
    can: Abilities,
) -> Result<Answer, StoreError> {
    let answer = match (operation, raw) {
        (Operation::Take { .. }, Raw::Array(parts)) => match <[Raw; 2]>::try_from(parts) {
            Ok([Raw::Int(units), Raw::BulkString(bytes)]) => {
                let units = u64::try_from(units).ok().filter(|units| *units > 0);
                units.map(|units| Ok(Answer::Taken { units, words: Value::parse(&bytes)?.words }))
            }
            _ => None,
        },
        (Operation::Take { .. }, raw) => value(raw).map(|value| value.map(Answer::Refused)),
        (Operation::Swap { old, new: _, .. }, raw) => match swap_by(old.is_none(), can) {
            None if matches!(&raw, Raw::Array(_)) => Some(Ok(Answer::Swapped)),
            by => value(raw).map(|value| {
                let found = value?;
                // `GET` answers what was there before.
                let swapped = by.is_some() && found == *old;
                Ok(if swapped { Answer::Swapped } else { Answer::Lost(found) })
            }),
        },
        (Operation::Read { .. }, raw) => value(raw).map(|value| value.map(Answer::Value)),
        (Operation::Forget { .. }, Raw::Int(keys)) => Some(Ok(Answer::Forgotten(keys > 0))),
        (Operation::Forget { .. }, _) => None,
        (Operation::SwapRecord { .. }, Raw::Array(_)) => Some(Ok(Answer::Swapped)),
        (Operation::ReadRecord | Operation::SwapRecord { .. }, Raw::Nil) => Some(Ok(Answer::Record(None))),
        (Operation::ReadRecord | Operation::SwapRecord { .. }, Raw::BulkString(bytes)) => {
            let record = Record::parse(&bytes, name).map(Box::new);
            Some(record.map(|record| Answer::Record(Some(record))))
        }
        (Operation::ReadRecord | Operation::SwapRecord { .. }, _) => None,
        (Operation::Scan { .. }, raw) => keys(raw, name).map(Ok),
    };
    answer.unwrap_or_else(|| {
        let text = "the server's answer is of another form than that of Redis";
        Err(StoreError::new(StoreErrorKind::Other, text))
    })
}

/// What a scan answered.
fn keys(raw: Raw, name: &str) -> Option<Answer> {
    let (cursor, found): (String, Vec<Vec<u8>>) = redis::from_redis_value(raw).ok()?;
    let h = |key: Vec<u8>| Some(u64::from_be_bytes(key.strip_prefix(name.as_bytes())?.try_into().ok()?));
    Some(Answer::Keys { cursor: cursor.parse().ok()?, keys: found.into_iter().filter_map(h).collect() })
}

/// A value, or none; `None` where the answer is neither.
fn value(raw: Raw) -> Option<Result<Option<Value>, StoreError>> {
    match raw {
        Raw::Nil => Some(Ok(None)),
        Raw::BulkString(bytes) => Some(Value::parse(&bytes).map(Some)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
