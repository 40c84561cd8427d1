//! The loop that connects an agent with a machine's table and a store.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use ratecell_core::Generation;

use super::{Agent, Change, Counts, Effect, Miss, Question, Refusal};
use crate::store::{Channel, Reply, StoreError, StoreErrorKind};

/// How long the agent sleeps at most where nothing is to be done.
const NAP: Duration = Duration::from_millis(5);
/// The same, while a store is asked that was away.
const PROBE_NAP: Duration = Duration::from_millis(1);
/// How often the counts are reported, in nanoseconds.
const REPORT_NS: u64 = 10_000_000;

/// What holds a machine's leases, and where its callers tell of their misses.
pub trait Desk {
    /// The clock of the leases' deadlines, in nanoseconds since any instant.
    fn now_ns(&self) -> u64;

    /// Takes the misses that callers have told of.
    fn misses(&mut self, each: &mut dyn FnMut(Miss));

    /// Writes leases and denials, and wakes those who wait for the key.
    fn write(&mut self, effect: &Effect);

    /// Sleeps until a caller misses something, for `at_most` so long.
    fn sleep(&mut self, at_most: Duration);

    /// What the callers are to know of the agent. False: the agent is to end.
    fn report(&mut self, status: &Status) -> bool;

    /// An error that does not end the agent, or its end.
    fn trouble(&mut self, error: Option<&StoreError>);

    /// The policy in force is another: what the table holds is of the one before, and no use of it begins after this.
    ///
    /// # Errors
    /// The table cannot decide by it, which ends the agent.
    fn follow(&mut self, generation: &Generation) -> Result<(), StoreError>;

    /// A change that is to be made, if there is one.
    fn order(&mut self) -> Option<Change>;

    /// What has come of it.
    fn ended(&mut self, result: Result<(), Refusal>);
}

/// The state of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The clock at which this is so.
    pub now_ns: u64,
    /// Whether the store does not answer, and callers decide by their `on_failure`.
    pub is_away: bool,
    /// By how much the agent's time is behind the store's at most, in nanoseconds.
    pub lag_ns: u64,
    /// What was counted since the agent began.
    pub counts: Counts,
}

/// Runs the agent until its desk ends it, or the store is no longer the one that it was made for.
///
/// # Errors
/// What cannot be mended by trying again: another policy's generation, a record that differs.
pub fn drive(
    agent: &mut Agent,
    channel: &mut (impl Channel + Send),
    desk: &mut impl Desk,
) -> Result<(), StoreError> {
    let mut reported_at = None;
    loop {
        let Some(now) = turn(agent, desk, &mut reported_at) else { return Ok(()) };
        let question = agent.question(now);
        write(agent, desk);
        let Some(question) = question else {
            desk.sleep(NAP);
            continue;
        };
        let timeout_ns = agent.timeout_ns();
        channel.set_timeout(Duration::from_nanos(timeout_ns));
        let reply = if agent.decides_here() {
            ask_beside(agent, channel, desk, &question, &mut reported_at)
        } else {
            channel.batch(&question.operations)
        };
        let now = desk.now_ns();
        match reply {
            Ok(reply) if now.saturating_sub(question.sent()) <= timeout_ns => {
                desk.trouble(None);
                agent.answered(question, reply, now)?;
            }
            Ok(_) => agent.lost(question, now),
            Err(error) => {
                desk.trouble(Some(&error));
                if error.kind() == StoreErrorKind::Mismatch {
                    return Err(error);
                }
                agent.doubt();
                agent.lost(question, now);
                if !agent.is_away() {
                    desk.sleep(NAP);
                }
            }
        }
        // Before a grant by it is written, or asked for.
        if let Some(generation) = agent.followed() {
            desk.follow(generation)?;
        }
        write(agent, desk);
    }
}

/// Reports to the desk, where that is due, and hears its misses. The instant at which it did so; `None` where the agent is
/// to end.
fn turn(agent: &mut Agent, desk: &mut impl Desk, reported_at: &mut Option<u64>) -> Option<u64> {
    let now = desk.now_ns();
    if reported_at.is_none_or(|at| now.abs_diff(at) >= REPORT_NS) {
        *reported_at = Some(now);
        let is_away = agent.is_away() && !agent.decides_here();
        let status = Status { now_ns: now, is_away, lag_ns: agent.lag_ns(now), counts: agent.counts() };
        if !desk.report(&status) {
            return None;
        }
    }
    if let Some(result) = agent.ended() {
        desk.ended(result);
    }
    if let Some(change) = desk.order() {
        agent.change(change, now);
    }
    desk.misses(&mut |miss| agent.heard(miss, now));
    Some(now)
}

fn write(agent: &mut Agent, desk: &mut impl Desk) {
    for effect in agent.effects() {
        desk.write(&effect);
    }
}

/// Asks a store that was away, and decides here all the while: no caller waits for it.
fn ask_beside(
    agent: &mut Agent,
    channel: &mut (impl Channel + Send),
    desk: &mut impl Desk,
    question: &Question,
    reported_at: &mut Option<u64>,
) -> Result<Reply, StoreError> {
    thread::scope(|scope| {
        let batch = || channel.batch(&question.operations);
        let asking = thread::Builder::new().name("ratecell-probe".to_owned()).spawn_scoped(scope, batch);
        let asking = asking.map_err(|error| {
            let text = format!("a thread that asks the store cannot be started: {error}");
            StoreError::new(StoreErrorKind::Other, text)
        })?;
        while !asking.is_finished() {
            // An end is seen again when the store has answered, or its time is over.
            turn(agent, desk, reported_at);
            write(agent, desk);
            desk.sleep(PROBE_NAP);
        }
        asking.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
