//! A connection to a store, over which batches go.

use std::fmt;
use std::time::{Duration, Instant};

use redis::{Cmd, Value as Raw};

use super::error::{StoreError, StoreErrorKind};
use super::links::{Ask, Links, Outcome};
use super::operation::{self, Abilities, Answer, Form, Operation, Reply};
use super::record::{HEAD, Head, Record};
use super::value::{key, record_key};

/// What does operations: a store's [`Connection`], or what stands for one in a simulation.
pub trait Channel {
    /// Does `operations`, in any order, and answers each.
    ///
    /// # Errors
    ///
    /// What was asked may have been done all the same.
    fn batch(&mut self, operations: &[Operation]) -> Result<Reply, StoreError>;

    /// How long a batch may take, from now on.
    fn set_timeout(&mut self, timeout: Duration);
}

/// A connection to a store. Nothing is asked twice by itself, unless a server said that it did nothing.
///
/// Where there was no answer in time, or the connection broke, the next batch makes another connection.
pub struct Connection {
    links: Links,
    timeout: Duration,
    can: Abilities,
    record: Record,
}

impl Connection {
    pub(crate) fn new(links: Links, timeout: Duration, can: Abilities, record: Record) -> Self {
        Self { links, timeout, can, record }
    }

    /// Does `operations` in one round trip, in any order, and answers each; two of one key belong into two batches. To all servers of a cluster they go at the same time, and
    /// the clock is that of the server with the record.
    ///
    /// # Errors
    ///
    /// Where nobody can say whether anything was done: the server with the record gave no answer; or the store is not
    /// that of the beginning: [`StoreErrorKind::Forgotten`] where it has forgotten all (the record is then written again,
    /// and the next batch works), [`StoreErrorKind::Mismatch`] where another stands in its place; or a server of no cluster
    /// has become a [`StoreErrorKind::Replica`], which answers reads alone: the next batch connects anew.
    /// What concerns one operation is its [`Answer::Failed`].
    pub fn batch(&mut self, operations: &[Operation]) -> Result<Reply, StoreError> {
        let deadline = Instant::now() + self.timeout;
        let name = self.links.name().to_owned();
        let record = record_key(&name);
        let mut head = operation::one("GETRANGE", &record);
        head.arg(HEAD.start).arg(HEAD.end - 1);
        let mut asks = vec![
            Ask { key: record.clone(), command: redis::cmd("TIME") },
            Ask { key: record, command: head },
        ];
        let can = self.can;
        let mut sent = Vec::new();
        let mut refused = Vec::new();
        for operation in operations {
            let command = match operation {
                Operation::Scan { .. } if self.links.is_cluster() => {
                    let text = "a server of a cluster knows the keys of its own slots alone: expected a store of one server";
                    Err(StoreError::new(StoreErrorKind::Mismatch, text))
                }
                _ => operation::command(operation, &name, can, Form::Short),
            };
            match command {
                Ok(command) => {
                    let key = operation.h().map_or_else(|| record_key(&name), |h| key(&name, h));
                    asks.push(Ask { key, command });
                    sent.push(operation);
                    refused.push(None);
                }
                Err(error) => refused.push(Some(error)),
            }
        }
        let whole = |index: usize| -> Option<(Cmd, usize)> {
            let operation = sent.get(index.checked_sub(2)?)?;
            let kind = usize::from(matches!(operation, Operation::Take { .. }));
            Some((operation::command(operation, &name, can, Form::Whole).ok()?, kind))
        };
        let outcomes = self.links.exchange(&asks, &whole, deadline)?;
        // Of a cluster the other servers may still take writes.
        let replica = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        let mut replica = replica.filter(|error| error.kind() == StoreErrorKind::Replica);
        if let (false, Some(error)) = (self.links.is_cluster(), replica.next()) {
            return Err(error.clone());
        }
        let mut outcomes = outcomes.into_iter();
        let (time, head) =
            (outcomes.next().unwrap_or_else(unanswered)?, outcomes.next().unwrap_or_else(unanswered)?);
        let (now_us, head) = (clock(time)?, self.head(head)?);
        let answers = operations.iter().zip(refused).map(|(operation, refused)| match refused {
            Some(error) => Answer::Failed(error),
            None => {
                let outcome = outcomes.next().unwrap_or_else(unanswered);
                self.note(operation, &outcome);
                let answer = outcome.and_then(|raw| operation::answer(operation, raw, &name, can));
                let answer = answer.unwrap_or_else(Answer::Failed);
                self.learn(operation, &answer);
                answer
            }
        });
        Ok(Reply { answers: answers.collect(), now_us, generation: head.generation, at: head.at })
    }

    /// How long a batch may take, from now on; above 0.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout.max(Duration::from_millis(1));
    }

    /// What the server can do in one command.
    pub fn abilities(&self) -> Abilities {
        self.can
    }

    /// Does without what the server could do in one command, or something between here and there refuses.
    pub fn set_abilities(&mut self, can: Abilities) {
        self.can = can;
    }

    /// Learns from the server's refusal of a word that a server of its version has.
    fn note(&mut self, operation: &Operation, outcome: &Outcome) {
        if let (Operation::Swap { .. }, Err(error)) = (operation, outcome)
            && error.to_string().contains("syntax error")
        {
            self.can = Abilities { ifeq: false, nx_get: false, ..self.can };
        }
    }

    /// What is put back where the store forgets is the newest record that was seen.
    fn learn(&mut self, operation: &Operation, answer: &Answer) {
        let newest = match (operation, answer) {
            (Operation::SwapRecord { new, .. }, Answer::Swapped) => new,
            (_, Answer::Record(Some(record))) => record,
            _ => return,
        };
        if newest.secret == self.record.secret && newest.generation >= self.record.generation {
            self.record = Record::clone(newest);
        }
    }

    fn head(&mut self, raw: Raw) -> Result<Head, StoreError> {
        let shown = self.links.shown();
        match raw {
            Raw::BulkString(bytes) if bytes.is_empty() => {
                let text = format!("the record of {shown} is gone: the store has forgotten what it held");
                self.write_back()?;
                Err(StoreError::new(StoreErrorKind::Forgotten, text))
            }
            Raw::BulkString(bytes) => {
                let head = Head::parse(&bytes).filter(|head| head.secret == self.record.secret);
                head.ok_or_else(|| {
                    let text = format!("the record of {shown} is another than at the beginning");
                    StoreError::new(StoreErrorKind::Mismatch, text)
                })
            }
            _ => unanswered(),
        }
    }

    /// Puts the record back, unless another machine has done so.
    fn write_back(&mut self) -> Result<(), StoreError> {
        let deadline = Instant::now() + self.timeout;
        let key = record_key(self.links.name());
        let command = set_if_none(&key, &self.record);
        let outcomes = self.links.exchange(&[Ask { key, command }], &|_| None, deadline)?;
        outcomes.into_iter().try_for_each(|outcome| outcome.map(|_| ()))
    }
}

pub(crate) fn set_if_none(key: &[u8], record: &Record) -> Cmd {
    let mut command = operation::one("SET", key);
    command.arg(record.bytes()).arg("NX");
    command
}

/// Microseconds since 1970, of an answer to `TIME`.
pub(crate) fn clock(raw: Raw) -> Result<u64, StoreError> {
    let parts: Option<[u64; 2]> = redis::from_redis_value(raw).ok();
    let microseconds = parts.and_then(|[seconds, rest]| seconds.checked_mul(1_000_000)?.checked_add(rest));
    microseconds.map_or_else(unanswered, Ok)
}

pub(crate) fn unanswered<T>() -> Result<T, StoreError> {
    let text = "the server's answer is of another form than that of Redis";
    Err(StoreError::new(StoreErrorKind::Other, text))
}

impl Channel for Connection {
    fn batch(&mut self, operations: &[Operation]) -> Result<Reply, StoreError> {
        Connection::batch(self, operations)
    }

    fn set_timeout(&mut self, timeout: Duration) {
        Connection::set_timeout(self, timeout);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (store, name) = (self.links.shown(), self.links.name());
        f.debug_struct("Connection").field("store", &store).field("name", &name).finish_non_exhaustive()
    }
}
