//! What is held: a reservation is bytes here, and the package's JavaScript has the object around them.

use napi::Result;
use napi::bindgen_prelude::{BigInt, Buffer};
use napi_derive::napi;
use ratecell::Reservation;

use crate::errors;
use crate::limiter::Limiter;
use crate::memory::Page;
use crate::request::{Terms, u64_of};
use crate::zone::{self, Zone};

fn of_bytes(data: &[u8]) -> Result<Reservation> {
    Reservation::from_bytes(data).map_err(|error| errors::of_value(&error.to_string()))
}

/// Decides and charges the page's request: the bytes of the reservation, if it is allowed.
#[napi]
pub fn reserve(
    limiter: &Limiter,
    page: &mut Page,
    key: &[u8],
    zone: Option<&Zone>,
) -> Result<Option<Buffer>> {
    let zone = zone.map(|zone| &zone.zone);
    if let Some(zone) = zone {
        zone::check(&limiter.core, zone)?;
    }
    let reserved = limiter.core.reserve(Terms::of(page.bytes()).request(key, zone));
    let (decision, reservation) = reserved.map_err(|error| errors::of_value(&error.to_string()))?;
    page.write(&decision);
    Ok(reservation.map(|reservation| reservation.to_bytes().to_vec().into()))
}

/// The units that the reservation of these bytes is of.
#[napi]
pub fn reserved(data: &[u8]) -> Result<u32> {
    of_bytes(data).map(|reservation| reservation.cost())
}

/// Settles the reservation of these bytes: of its units, `actual` were used.
#[napi]
pub fn settle(
    limiter: &Limiter,
    page: &mut Page,
    data: &[u8],
    actual: u32,
    at_ns: Option<BigInt>,
) -> Result<()> {
    let reservation = of_bytes(data)?;
    let settled = match at_ns.map(u64_of) {
        Some(at_ns) => limiter.core.settle_at(reservation, actual, at_ns),
        None => limiter.core.settle(reservation, actual),
    };
    page.write(&settled);
    Ok(())
}

/// Gives back the permit that the reservation of these bytes is.
#[napi]
pub fn release(limiter: &Limiter, page: &mut Page, data: &[u8], at_ns: Option<BigInt>) -> Result<()> {
    let reservation = of_bytes(data)?;
    let released = match at_ns.map(u64_of) {
        Some(at_ns) => limiter.core.release_at(reservation, at_ns),
        None => limiter.core.release(reservation),
    };
    page.write(&released);
    Ok(())
}

/// Renews the permit that the reservation of these bytes is: the bytes from then on.
#[napi]
pub fn renew(limiter: &Limiter, page: &mut Page, data: &[u8], at_ns: Option<BigInt>) -> Result<Buffer> {
    let mut reservation = of_bytes(data)?;
    let renewed = match at_ns.map(u64_of) {
        Some(at_ns) => limiter.core.renew_at(&mut reservation, at_ns),
        None => limiter.core.renew(&mut reservation),
    };
    page.write(&renewed);
    Ok(reservation.to_bytes().to_vec().into())
}
