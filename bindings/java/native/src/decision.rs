//! A decision in 64 bytes, as Java's `Decision` reads it: the outcome and the layer, each a u32; limit, remaining and four
//! times in nanoseconds, each a u64; notes and the units that came back, each a u32.

use ratecell::{Decision, Outcome};

use crate::fault::Fault;
use crate::message::{Reader, Writer};

/// Bytes of a decision.
pub(crate) const LENGTH: usize = 64;

/// What Java knows an outcome by.
pub(crate) fn code(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Denied => 0,
        Outcome::Allowed => 1,
        Outcome::Never => 2,
        Outcome::ClockRange => 3,
        Outcome::Asked => 4,
        _ => u32::MAX,
    }
}

#[inline]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The decision as words in little endian.
#[inline]
pub(crate) fn words(decision: &Decision) -> [u64; LENGTH / 8] {
    // There are at most eight layers.
    let layer = u32::try_from(decision.layer()).unwrap_or(u32::MAX);
    [
        pair(code(decision.outcome()), layer),
        decision.limit(),
        decision.remaining(),
        decision.retry_after_ns(),
        decision.reset_after_ns(),
        decision.delay_ns(),
        decision.next_ns(),
        pair(decision.notes(), decision.given_back()),
    ]
    .map(u64::to_le)
}

pub(crate) fn write(writer: &mut Writer, decision: &Decision) {
    for word in words(decision) {
        writer.raw(&word.to_ne_bytes());
    }
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Decision, Fault> {
    let outcome = match reader.u32()? {
        0 => Outcome::Denied,
        1 => Outcome::Allowed,
        2 => Outcome::Never,
        3 => Outcome::ClockRange,
        4 => Outcome::Asked,
        other => return Err(Fault::internal(format!("no outcome has the number {other}"))),
    };
    let layer = reader.u32()?;
    let (limit, remaining) = (reader.u64()?, reader.u64()?);
    let (retry, reset, delay, next) = (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
    let (notes, given_back) = (reader.u32()?, reader.u32()?);
    let decision = Decision::new(outcome, limit, remaining, retry, reset, delay, layer);
    Ok(decision.with_next(next).with_notes(notes).with_given_back(given_back))
}
