//! What is held: a reservation is bytes in Java.

use ratecell::Reservation;

use crate::fault::Fault;
use crate::message::{Reader, Writer};
use crate::{decision, limiter, request};

fn data(reader: &mut Reader<'_>) -> Result<Reservation, Fault> {
    Reservation::from_bytes(reader.bytes()?).map_err(|error| Fault::argument(error.to_string()))
}

/// Decides and charges: the decision, and the reservation if it is allowed.
pub(crate) fn reserve(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let request = request::read(reader, &limiter.core)?;
    let reserved = limiter.core.reserve(request).map_err(|error| Fault::argument(error.to_string()));
    let (told, reservation) = reserved?;
    decision::write(writer, &told);
    writer.maybe(reservation, |writer, reservation| writer.bytes(&reservation.to_bytes()));
    Ok(())
}

/// The units that a reservation is of.
pub(crate) fn units(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    writer.u32(data(reader)?.cost());
    Ok(())
}

pub(crate) fn settle(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let (reservation, actual) = (data(reader)?, reader.u32()?);
    let settled = match reader.maybe(Reader::u64)? {
        Some(at_ns) => limiter.core.settle_at(reservation, actual, at_ns),
        None => limiter.core.settle(reservation, actual),
    };
    decision::write(writer, &settled);
    Ok(())
}

pub(crate) fn release(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let reservation = data(reader)?;
    let released = match reader.maybe(Reader::u64)? {
        Some(at_ns) => limiter.core.release_at(reservation, at_ns),
        None => limiter.core.release(reservation),
    };
    decision::write(writer, &released);
    Ok(())
}

/// Renews a permit: the decision, and the reservation from then on.
pub(crate) fn renew(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let limiter = limiter::read(reader)?;
    let mut reservation = data(reader)?;
    let renewed = match reader.maybe(Reader::u64)? {
        Some(at_ns) => limiter.core.renew_at(&mut reservation, at_ns),
        None => limiter.core.renew(&mut reservation),
    };
    decision::write(writer, &renewed);
    writer.bytes(&reservation.to_bytes());
    Ok(())
}
