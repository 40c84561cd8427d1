//! The loop that connects an agent with a machine's table and a store.

use std::time::Duration;

use super::{Agent, Counts, Effect, Miss};
use crate::store::{Channel, StoreError, StoreErrorKind};

/// How long the agent sleeps at most where nothing is to be done.
const NAP: Duration = Duration::from_millis(5);
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
pub fn drive(agent: &mut Agent, channel: &mut impl Channel, desk: &mut impl Desk) -> Result<(), StoreError> {
    let mut reported_at = None;
    loop {
        let now = desk.now_ns();
        if reported_at.is_none_or(|at| now.abs_diff(at) >= REPORT_NS) {
            reported_at = Some(now);
            let is_away = agent.is_away() && !agent.decides_here();
            let status = Status { now_ns: now, is_away, lag_ns: agent.lag_ns(now), counts: agent.counts() };
            if !desk.report(&status) {
                return Ok(());
            }
        }
        desk.misses(&mut |miss| agent.heard(miss, now));
        let question = agent.question(now);
        for effect in agent.effects() {
            desk.write(&effect);
        }
        let Some(question) = question else {
            desk.sleep(NAP);
            continue;
        };
        let timeout_ns = agent.timeout_ns();
        channel.set_timeout(Duration::from_nanos(timeout_ns));
        let reply = channel.batch(&question.operations);
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
        for effect in agent.effects() {
            desk.write(&effect);
        }
    }
}
