//! A limiter and its line, and what is asked of a limiter.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ratecell::waiting::Line;
use ratecell::{Claim, Decision, Request, Stats, Zone};

use crate::fault::Fault;
use crate::message::{Reader, Writer};
use crate::{decision, handle, request};

/// The most layers that are decided at once.
const MAX_LAYERS: usize = 64;

/// A limiter as Java holds it.
pub(crate) struct Limiter {
    pub(crate) core: ratecell::Limiter,
    /// Those who wait, from the first on.
    pub(crate) line: Mutex<Option<Line>>,
}

impl Limiter {
    pub(crate) fn new(core: ratecell::Limiter) -> Self {
        Self { core, line: Mutex::new(None) }
    }

    pub(crate) fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The limiter that a message names first.
pub(crate) fn read<'a>(reader: &mut Reader<'_>) -> Result<&'a Limiter, Fault> {
    reader.u64().map(handle::at)
}

pub(crate) fn free(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    handle::free::<Limiter>(reader.u64()?);
    Ok(())
}

/// The policy's text, its capacity and last instant, and whether its units are those of many machines.
pub(crate) fn about(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let Limiter { core, .. } = read(reader)?;
    let policy = core.policy();
    writer.text(&policy.to_string());
    writer.u64(policy.capacity());
    writer.u64(policy.max_now_ns());
    writer.u64(policy.layers().len() as u64);
    writer.flag(core.shared().is_some());
    writer.flag(policy.asks_for_zone());
    writer.text(core.warning().unwrap_or_default());
    write_instant(writer, core.epoch());
    Ok(())
}

/// Seconds since 1970, and nanoseconds from there on.
pub(crate) fn write_instant(writer: &mut Writer, instant: SystemTime) {
    let (seconds, nanoseconds) = match instant.duration_since(UNIX_EPOCH) {
        Ok(since) => (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos()),
        Err(error) => {
            let before = error.duration();
            let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
            match before.subsec_nanos() {
                0 => (seconds, 0),
                nanoseconds => (seconds.saturating_sub(1), 1_000_000_000 - nanoseconds),
            }
        }
    };
    writer.i64(seconds);
    writer.u32(nanoseconds);
}

pub(crate) fn now(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    writer.u64(read(reader)?.core.now_ns());
    Ok(())
}

pub(crate) fn forget(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = read(reader)?;
    writer.flag(limiter.core.forget(reader.bytes()?));
    Ok(())
}

pub(crate) fn change(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    let limiter = read(reader)?;
    let policy = reader.text()?.parse()?;
    match reader.maybe(Reader::u64)? {
        Some(at_ns) => limiter.core.change_at(policy, at_ns)?,
        None => limiter.core.change(policy)?,
    }
    Ok(())
}

/// Decides requests at one instant where they name none, in their order.
pub(crate) fn decide_many(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let Limiter { core, .. } = read(reader)?;
    let requests = reader.several(|reader| request::read(reader, core))?;
    let mut decisions = vec![Decision::default(); requests.len()];
    core.decide_batch(&requests, &mut decisions);
    for each in &decisions {
        decision::write(writer, each);
    }
    Ok(())
}

/// Decides requests to several limiters, all or none.
pub(crate) fn decide_all(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let claims = reader.several(|reader| {
        let Limiter { core: limiter, .. } = read(reader)?;
        let request: Request<'_> = request::read(reader, limiter)?;
        Ok(Claim { limiter, request })
    })?;
    let layers: usize = claims.iter().map(|claim| claim.limiter.policy().layers().len()).sum();
    if layers > MAX_LAYERS {
        return Err(Fault::argument(format!(
            "the claims have {layers} layers: expected at most {MAX_LAYERS}"
        )));
    }
    let mut decisions = vec![Decision::default(); claims.len()];
    let outcome = ratecell::Limiter::decide_all(&claims, &mut decisions);
    writer.u32(decision::code(outcome));
    for each in &decisions {
        decision::write(writer, each);
    }
    Ok(())
}

pub(crate) fn stats(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let Limiter { core, .. } = read(reader)?;
    let at_ns = reader.maybe(Reader::u64)?.unwrap_or_else(|| core.now_ns());
    let stats = if reader.flag()? { core.stats_exact_at(at_ns) } else { core.stats_at(at_ns) };
    write_stats(writer, &stats);
    Ok(())
}

pub(crate) fn write_stats(writer: &mut Writer, stats: &Stats) {
    for count in [stats.slots, stats.live, stats.live_error, stats.bytes] {
        writer.u64(count as u64);
    }
    for count in
        [stats.evicted, stats.forgiven, stats.shared, stats.denied_full, stats.allowed_full, stats.exhausted]
    {
        writer.u64(count);
    }
}

/// Makes the zone of a name: its address, and its name as the database spells it.
pub(crate) fn zone(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let zone = read(reader)?.core.zone(reader.text()?)?;
    let name = zone.name();
    writer.u64(handle::keep(zone));
    writer.text(&name);
    Ok(())
}

pub(crate) fn zone_free(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    handle::free::<Zone>(reader.u64()?);
    Ok(())
}
