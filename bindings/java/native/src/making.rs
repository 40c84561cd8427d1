//! Limiters are made.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratecell::{LimiterBuilder, OnFailure, OnMiss, WhenFull};

use crate::fault::Fault;
use crate::handle;
use crate::limiter::{self, Limiter};
use crate::message::{Reader, Writer};

/// The instant so many seconds after 1970.
pub(crate) fn epoch(seconds: i64) -> Result<SystemTime, Fault> {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let epoch = if seconds < 0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    epoch.ok_or_else(|| {
        Fault::argument(format!("epoch is {seconds} s: expected an instant that the system's times hold"))
    })
}

/// Java's `WhenFull`, by its number.
pub(crate) fn when_full(reader: &mut Reader<'_>) -> Result<WhenFull, Fault> {
    match reader.byte()? {
        0 => Ok(WhenFull::Evict),
        1 => Ok(WhenFull::Share),
        2 => Ok(WhenFull::Deny),
        3 => Ok(WhenFull::Allow),
        other => Err(Fault::internal(format!("no WhenFull has the number {other}"))),
    }
}

/// A number of keys.
pub(crate) fn max_keys(reader: &mut Reader<'_>) -> Result<usize, Fault> {
    let keys = reader.u64()?;
    usize::try_from(keys)
        .map_err(|_| Fault::argument(format!("maxKeys is {keys}: expected at most {}", usize::MAX)))
}

fn options(reader: &mut Reader<'_>) -> Result<LimiterBuilder, Fault> {
    let mut builder = match reader.maybe(Reader::text)? {
        Some(policy) => ratecell::Limiter::builder(policy.parse()?),
        None => ratecell::Limiter::following(),
    };
    if let Some(keys) = reader.maybe(max_keys)? {
        builder = builder.max_keys(keys);
    }
    if let Some(full) = reader.maybe(when_full)? {
        builder = builder.when_full(full);
    }
    if let Some(wait_ns) = reader.maybe(Reader::u64)? {
        builder = builder.on_miss(match wait_ns {
            0 => OnMiss::Deny,
            wait_ns => OnMiss::Wait(Duration::from_nanos(wait_ns)),
        });
    }
    if reader.flag()? {
        builder = builder.on_failure(OnFailure::Open);
    }
    if let Some(seconds) = reader.maybe(Reader::i64)? {
        builder = builder.epoch(epoch(seconds)?);
    }
    Ok(builder.names(reader.flag()?))
}

/// Makes a limiter, in memory or in a file: its address.
pub(crate) fn make(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let builder = options(reader)?;
    let core = match reader.maybe(Reader::text)? {
        Some(path) => builder.open(Path::new(path))?,
        None => builder.build()?,
    };
    writer.u64(handle::keep(Limiter::new(core)));
    Ok(())
}

/// Makes another limiter of the same keys with another policy.
pub(crate) fn make_beside(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let beside = limiter::read(reader)?;
    let core = beside.core.with_policy(reader.text()?.parse()?)?;
    writer.u64(handle::keep(Limiter::new(core)));
    Ok(())
}
