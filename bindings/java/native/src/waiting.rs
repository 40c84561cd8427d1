//! Those who wait for a limiter. Each reply begins with the numbers of those whose turn has come by what happened to others:
//! Java wakes them.

use ratecell::waiting::{Line, Parameters, Turn, WaitEnd, WaitOutcome};
use ratecell::{Decision, Outcome};

use crate::decision;
use crate::fault::Fault;
use crate::limiter::{self, Limiter};
use crate::message::{Reader, Writer};

/// Does something to the line, and writes who is woken by it.
fn with<T>(limiter: &Limiter, writer: &mut Writer, act: impl FnOnce(&mut Line) -> T) -> T {
    let mut guard = limiter.line();
    let line = guard.get_or_insert_with(|| Line::new(Parameters::of(&limiter.core.policy())));
    line.follow(&limiter.core);
    let done = act(line);
    let mut woken = Vec::new();
    while let Some(id) = line.woken() {
        woken.push(id);
    }
    writer.count(woken.len());
    for id in woken {
        writer.u64(id);
    }
    done
}

/// Adds a waiter: its number.
pub(crate) fn arrive(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let (key, cost, now_ns) = (reader.bytes()?, reader.u32()?, reader.u64()?);
    let deadline = reader.maybe(Reader::u64)?;
    let policy = limiter.core.policy();
    if policy.asks_for_zone() {
        return Err(Fault::argument(format!(
            "`{policy}` asks for a zone, and who waits names none: expected another policy"
        )));
    }
    let id = with(limiter, writer, |line| line.arrive(now_ns, key, cost, deadline));
    writer.u64(id);
    Ok(())
}

/// The turn of a waiter: its end, or the instant until which it sleeps.
pub(crate) fn turn(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let (key, id, now_ns) = (reader.bytes()?, reader.u64()?, reader.u64()?);
    let turn = with(limiter, writer, |line| line.turn(&limiter.core, now_ns, id));
    match turn {
        Turn::Sleep { until } => {
            writer.flag(false);
            writer.maybe(until, Writer::u64);
        }
        Turn::End(end) => {
            writer.flag(true);
            writer.text(end.outcome.name());
            decision::write(writer, &told(&limiter.core, key, now_ns, &end));
        }
    }
    Ok(())
}

/// A waiter gives up.
pub(crate) fn leave(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let (id, now_ns) = (reader.u64()?, reader.u64()?);
    with(limiter, writer, |line| line.leave(&limiter.core, now_ns, id));
    Ok(())
}

/// Units of a key came back, or, without a key, the policy has changed.
pub(crate) fn changed(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let key = reader.maybe(Reader::bytes)?;
    with(limiter, writer, |line| {
        if let Some(key) = key {
            line.changed(limiter.core.now_ns(), key);
        }
    });
    Ok(())
}

/// The decision for the caller of a waiter that has ended: the limiter's own, if it was asked, otherwise what a peek
/// sees, with the wait that is known.
fn told(limiter: &ratecell::Limiter, key: &[u8], now_ns: u64, end: &WaitEnd) -> Decision {
    if let Some(decision) = end.decision {
        return decision;
    }
    let peek = limiter.check_at(key, 0, now_ns);
    match end.outcome {
        WaitOutcome::Go => peek,
        WaitOutcome::Never => peek.never(),
        _ => {
            let retry_ns = end.at.and_then(|at| at.checked_sub(now_ns)).filter(|ns| *ns > 0);
            let (limit, remaining, reset) = (peek.limit(), peek.remaining(), peek.reset_after_ns());
            let layer = u32::try_from(peek.layer()).unwrap_or(u32::MAX);
            let retry_ns = retry_ns.unwrap_or(Decision::NEVER);
            Decision::new(Outcome::Denied, limit, remaining, retry_ns, reset, 0, layer)
        }
    }
}
