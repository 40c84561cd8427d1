//! The commands: what each answers, and which of them are decided together.

use std::sync::Arc;

use crate::limits::{Limits, Views};
use crate::resp::{Arguments, Bounds, Replies, parse};

mod batch;
mod client;
mod decide;
mod hold;
mod list;
mod observe;
mod password;
mod session;
mod throttle;

use batch::Batch;
use list::{Kind, find};
pub(crate) use observe::Server;
#[cfg(any(feature = "server", test))]
pub(crate) use password::Password;
pub(crate) use session::Session;

/// Replies are sent once there are so many bytes of them, before more requests are looked at.
const MAX_REPLIES: usize = 16 * 1024;

/// How far a connection's bytes were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes of requests that are done.
    pub(crate) used: usize,
    /// Whether more requests lie there, whose turn comes after these replies are sent and others had theirs.
    pub(crate) is_more: bool,
    /// Whether the connection is to be closed once the replies are sent.
    pub(crate) is_end: bool,
}

/// What one event loop answers requests with.
#[derive(Debug)]
pub(crate) struct Answerer {
    server: Arc<Server>,
    views: Views,
    batch: Batch,
    replies: Replies,
    /// Whether other connections are to have their turn now: what was answered last took long.
    is_turn_over: bool,
}

impl Answerer {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        let (views, batch, replies) = (Views::new(), Batch::default(), Replies::default());
        Self { server, views, batch, replies, is_turn_over: false }
    }

    pub(crate) fn replies(&self) -> &[u8] {
        self.replies.bytes()
    }

    /// Answers the whole requests with which `input` begins. Decisions of one limiter in a row are one batch.
    pub(crate) fn answer(&mut self, session: &mut Session, input: &[u8]) -> Progress {
        self.replies.clear();
        // Empty, unless another connection's task has panicked, which would be a bug.
        self.batch.clear();
        self.replies.protocol = session.protocol;
        self.is_turn_over = false;
        let (mut used, mut commands) = (0, 0);
        let mut arguments = Arguments::new();
        let mut progress = Progress { used, is_more: false, is_end: false };
        loop {
            if self.is_turn_over || self.replies.bytes().len() + self.batch.reply_bytes() >= MAX_REPLIES {
                progress.is_more = used < input.len();
                break;
            }
            let bounds = if session.is_known { Bounds::KNOWN } else { Bounds::STRANGER };
            match parse(&input[used..], &bounds, &mut arguments) {
                Ok(None) => break,
                Ok(Some(bytes)) => used += bytes,
                Err(error) => {
                    self.flush();
                    self.replies.error(&format!("ERR {error}"));
                    progress.is_end = true;
                    break;
                }
            }
            if let Some((name, arguments)) = arguments.split_first() {
                commands += 1;
                self.command(session, name, arguments);
                if session.is_ended {
                    progress.is_end = true;
                    break;
                }
            }
        }
        self.flush();
        self.server.statistics.answered(commands);
        Progress { used, ..progress }
    }

    /// Writes the replies to the decisions that are still to be made.
    fn flush(&mut self) {
        self.batch.decide(&self.server.limits, &mut self.replies);
    }

    fn command(&mut self, session: &mut Session, name: &[u8], arguments: &[&[u8]]) {
        let Some(command) = find(name) else {
            self.flush();
            if is_http(name, arguments) {
                session.is_ended = true;
            } else if session.is_known {
                self.replies.error(&unknown(name, arguments));
            } else {
                self.replies.error(password::NEEDED);
            }
            return;
        };
        let refused = if !session.is_known && !command.is_for_strangers() {
            Some(password::NEEDED.to_owned())
        } else if command.takes(arguments.len()) {
            None
        } else {
            Some(list::wrong_number(command.name))
        };
        let answered = match (refused, command.kind) {
            (Some(refused), _) => Err(refused),
            (None, Kind::Throttle) => self.throttle(arguments),
            (None, Kind::Check) => self.check(arguments),
            (None, Kind::Peek) => self.peek(arguments),
            (None, kind) => {
                self.flush();
                self.at_once(session, kind, arguments)
            }
        };
        if let Err(error) = answered {
            self.flush();
            self.replies.error(&error);
        }
    }

    /// Answers what is no part of a batch.
    fn at_once(&mut self, session: &mut Session, kind: Kind, arguments: &[&[u8]]) -> Result<(), String> {
        let (server, replies) = (&*self.server, &mut self.replies);
        match kind {
            Kind::Throttle | Kind::Check | Kind::Peek => Ok(()),
            Kind::Decide => decide::by_rules(&server.limits, replies, arguments),
            Kind::Forget => decide::forget(&server.limits, replies, arguments),
            Kind::Reserve => hold::reserve(&server.limits, replies, arguments),
            Kind::Settle => hold::settle(&server.limits, replies, arguments),
            Kind::Release => hold::release(&server.limits, replies, arguments),
            Kind::Renew => hold::renew(&server.limits, replies, arguments),
            Kind::Limits => {
                // It looks at thousands of places of the table.
                self.is_turn_over = true;
                observe::limits(&server.limits, replies, arguments)
            }
            Kind::Info => {
                replies.bulk(server.info().as_bytes());
                Ok(())
            }
            Kind::Commands => list::commands(replies, arguments),
            kind => client::answer(server, session, replies, kind, arguments),
        }
    }
}

/// Whether a browser was made to send its request to this port: then it is not answered.
fn is_http(name: &[u8], arguments: &[&[u8]]) -> bool {
    let is_version = |word: &&[u8]| word.starts_with(b"HTTP/");
    arguments.last().is_some_and(is_version)
        || [&b"post"[..], b"host:"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// In Redis' words.
fn unknown(name: &[u8], arguments: &[&[u8]]) -> String {
    let mut text = format!("ERR unknown command '{}', with args beginning with: ", shown(name));
    for argument in arguments {
        if text.len() > 128 {
            break;
        }
        text.push_str(&format!("'{}' ", shown(argument)));
    }
    text
}

/// The beginning of what a client has sent.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(128)]).into_owned()
}

/// What an integer is to be, and what it is.
fn not_an_integer(what: &str, bytes: &[u8], expected: &str) -> String {
    format!("ERR {what} is '{}': expected {expected}", shown(bytes))
}

/// A number of units.
fn units(bytes: &[u8]) -> Result<u32, String> {
    number(bytes)
        .ok_or_else(|| not_an_integer("the number of units", bytes, "an integer from 0 to 4294967295"))
}

/// Digits alone, up to the greatest number.
#[inline]
fn number(bytes: &[u8]) -> Option<u32> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0_u32, |value, byte| match byte {
        b'0'..=b'9' => value.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    })
}

/// See [`crate::answers`].
pub(crate) fn answers<'p>(limits: &Arc<Limits>, parts: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let mut answerer = Answerer::new(Arc::new(Server::new(Arc::clone(limits), None, 1)));
    let mut session = Session::new(1, true);
    let (mut replies, mut rest) = (Vec::new(), Vec::new());
    for part in parts {
        rest.extend_from_slice(part);
        loop {
            let progress = answerer.answer(&mut session, &rest);
            replies.extend_from_slice(answerer.replies());
            rest.drain(..progress.used);
            if progress.is_end {
                return replies;
            }
            if !progress.is_more {
                break;
            }
        }
    }
    replies
}

#[cfg(test)]
mod tests;
