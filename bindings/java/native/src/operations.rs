//! The operations, by their numbers in Java's `Operation`: a test there compares the names.

use crate::fault::Fault;
use crate::message::{Reader, Writer};
use crate::{clients, fields, held, limiter, making, rules, waiting};

type Run = fn(&mut Reader<'_>, &mut Writer) -> Result<(), Fault>;

const OPERATIONS: &[(&str, Run)] = &[
    ("LIBRARY", library),
    ("LIMITER_MAKE", making::make),
    ("LIMITER_MAKE_BESIDE", making::make_beside),
    ("LIMITER_FREE", limiter::free),
    ("LIMITER_ABOUT", limiter::about),
    ("LIMITER_NOW", limiter::now),
    ("LIMITER_FORGET", limiter::forget),
    ("LIMITER_CHANGE", limiter::change),
    ("LIMITER_STATS", limiter::stats),
    ("DECIDE_MANY", limiter::decide_many),
    ("DECIDE_ALL", limiter::decide_all),
    ("ZONE_MAKE", limiter::zone),
    ("ZONE_FREE", limiter::zone_free),
    ("RESERVE", held::reserve),
    ("RESERVED", held::units),
    ("SETTLE", held::settle),
    ("RELEASE", held::release),
    ("RENEW", held::renew),
    ("WAIT_ARRIVE", waiting::arrive),
    ("WAIT_TURN", waiting::turn),
    ("WAIT_LEAVE", waiting::leave),
    ("WAIT_CHANGED", waiting::changed),
    ("FIELDS", fields::fields),
    ("CHECK_LABEL", fields::check_label),
    ("CHECK_STYLES", fields::check_styles),
    ("CLIENTS_MAKE", clients::make),
    ("CLIENTS_FREE", clients::free),
    ("CLIENTS_SEARCH", clients::search),
    ("RULES_MAKE", rules::make),
    ("RULES_FREE", rules::free),
    ("RULES_ABOUT", rules::about),
    ("RULES_NOW", rules::now),
    ("RULES_DECIDE", rules::decide),
    ("RULES_RESERVE", rules::reserve),
    ("RULES_SETTLE", rules::settle),
    ("RULES_RELEASE", rules::release),
    ("RULES_CHANGE", rules::change),
    ("RULES_STATS", rules::stats),
];

/// The version, and the names of the operations.
#[expect(clippy::unnecessary_wraps, reason = "it is one of the operations")]
fn library(_: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    writer.text(env!("CARGO_PKG_VERSION"));
    writer.count(OPERATIONS.len());
    for (name, _) in OPERATIONS {
        writer.text(name);
    }
    Ok(())
}

/// The reply to a message: a byte of 0 and what the operation returns, or its fault.
pub(crate) fn run(operation: usize, message: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.byte(0);
    let run = OPERATIONS.get(operation).map(|(_, run)| run);
    let done = match run {
        Some(run) => run(&mut Reader::new(message), &mut writer),
        None => Err(Fault::internal(format!("no operation has the number {operation}"))),
    };
    if let Err(fault) = done {
        writer = Writer::default();
        fault.write(&mut writer);
    }
    writer.into_bytes()
}
