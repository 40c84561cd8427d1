//! Reservations: a client gets one as text, and any connection may settle it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ratecell::{Request, Reservation};

use super::decide::{named, write, write_fields};
use super::units;
use crate::limits::Limits;
use crate::resp::Replies;

/// `RATECELL.RESERVE name key cost`.
pub(super) fn reserve(limits: &Limits, replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let [name, key, cost] = arguments else { return Ok(()) };
    let (limiter, cost) = (named(limits, name)?, units(cost)?);
    let reserved = limiter.reserve(Request::new(*key).cost(cost));
    let (decision, reservation) = reserved.map_err(|error| format!("ERR {error}"))?;
    replies.array(7);
    write_fields(replies, &decision);
    match reservation {
        Some(reservation) => write_text(replies, &reservation),
        None => replies.null(),
    }
    Ok(())
}

/// `RATECELL.SETTLE name reservation used`.
pub(super) fn settle(limits: &Limits, replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let [name, reservation, used] = arguments else { return Ok(()) };
    let (limiter, used) = (named(limits, name)?, units(used)?);
    write(replies, &limiter.settle(read(reservation)?, used));
    Ok(())
}

/// `RATECELL.RELEASE name reservation`: also says how many units came back.
pub(super) fn release(limits: &Limits, replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let [name, reservation] = arguments else { return Ok(()) };
    let released = named(limits, name)?.release(read(reservation)?);
    replies.array(7);
    write_fields(replies, &released);
    replies.integer(released.given_back().into());
    Ok(())
}

/// `RATECELL.RENEW name reservation`: the reservation that is to be released then.
pub(super) fn renew(limits: &Limits, replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let [name, reservation] = arguments else { return Ok(()) };
    let mut reservation = read(reservation)?;
    let renewed = named(limits, name)?.renew(&mut reservation);
    replies.array(7);
    write_fields(replies, &renewed);
    write_text(replies, &reservation);
    Ok(())
}

fn write_text(replies: &mut Replies, reservation: &Reservation) {
    replies.bulk(URL_SAFE_NO_PAD.encode(reservation.to_bytes()).as_bytes());
}

fn read(text: &[u8]) -> Result<Reservation, String> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    bytes
        .and_then(|bytes| Reservation::from_bytes(&bytes).ok())
        .ok_or_else(|| "ERR that is no reservation: expected the text that RATECELL.RESERVE gave".to_owned())
}
