//! The page: memory that JavaScript and this crate share, by which requests come and decisions go.
//!
//! A decision is a record. JavaScript's numbers are exact to 2^53, so a record has each figure twice: as a number, and
//! as the u64 that it is. `layout` gives the places to JavaScript.

use napi::bindgen_prelude::BigUint64Array;
use napi_derive::napi;
use ratecell::Decision;

/// Bytes of a record.
pub(crate) const RECORD: usize = 128;
/// Bytes of the page.
pub(crate) const PAGE: usize = 1024;

/// Numbers of a record, in eights of bytes.
const HEAD: usize = 0;
const FIGURES: usize = 1;
const LAYER: usize = 7;
const GIVEN_BACK: usize = 8;
const NOTES: usize = 9;
const EXACT: usize = 10;

/// Added to the outcome where a figure is above 2^53, so that its number is not exact.
const BIG: u8 = 16;

/// Places of the request in the page, in bytes.
pub(crate) const AT: usize = 128;
pub(crate) const WITHIN: usize = 136;
pub(crate) const FLAGS: usize = 144;
pub(crate) const COST: usize = 148;
pub(crate) const LENGTH: usize = 152;
pub(crate) const KEY: usize = 160;

/// Where the parts of a record and of the page are, for JavaScript.
#[napi(object)]
pub struct Layout {
    pub page: u32,
    pub record: u32,
    pub figures: u32,
    pub layer: u32,
    pub given_back: u32,
    pub notes: u32,
    pub exact: u32,
    pub big: u32,
    pub at: u32,
    pub within: u32,
    pub flags: u32,
    pub cost: u32,
    pub length: u32,
    pub key: u32,
    pub no_place: u32,
    pub leased: u32,
    pub unanswered: u32,
    pub no_zone: u32,
    pub flag_at: u32,
    pub flag_within: u32,
    pub flag_charge: u32,
    pub flag_next: u32,
    pub flag_here: u32,
    pub version: String,
}

/// The layout of this library.
#[napi]
pub fn layout() -> Layout {
    use crate::request as flag;
    Layout {
        page: PAGE as u32,
        record: RECORD as u32,
        figures: FIGURES as u32,
        layer: LAYER as u32,
        given_back: GIVEN_BACK as u32,
        notes: NOTES as u32,
        exact: EXACT as u32,
        big: u32::from(BIG),
        at: AT as u32,
        within: WITHIN as u32,
        flags: FLAGS as u32,
        cost: COST as u32,
        length: LENGTH as u32,
        key: KEY as u32,
        no_place: Decision::NO_PLACE,
        leased: Decision::LEASED,
        unanswered: Decision::UNANSWERED,
        no_zone: Decision::NO_ZONE,
        flag_at: flag::AT_TIME,
        flag_within: flag::WITHIN_DELAY,
        flag_charge: flag::CHARGE,
        flag_next: flag::NEXT,
        flag_here: flag::HERE,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Writes a decision to `record`. A wait that is none is infinite.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "the exact figures stand beside the numbers")]
pub(crate) fn write(record: &mut [u8; RECORD], decision: &Decision) {
    let never = decision.retry_after_ns() == Decision::NEVER;
    let figures = [
        decision.limit(),
        decision.remaining(),
        decision.retry_after_ns(),
        decision.reset_after_ns(),
        decision.delay_ns(),
        decision.next_ns(),
    ];
    let mut all = 0;
    for (number, figure) in figures.into_iter().enumerate() {
        let waits = !(never && number == 2);
        if waits {
            all |= figure;
        }
        put(record, FIGURES + number, (if waits { figure as f64 } else { f64::INFINITY }).to_ne_bytes());
        put(record, EXACT + number, figure.to_ne_bytes());
    }
    let big = if all >> 53 == 0 { 0 } else { BIG };
    put(record, HEAD, f64::from(decision.outcome() as u8 + big).to_ne_bytes());
    put(record, LAYER, (decision.layer() as f64).to_ne_bytes());
    put(record, GIVEN_BACK, f64::from(decision.given_back()).to_ne_bytes());
    put(record, NOTES, f64::from(decision.notes()).to_ne_bytes());
}

#[inline]
fn put(record: &mut [u8; RECORD], number: usize, bytes: [u8; 8]) {
    record[number * 8..number * 8 + 8].copy_from_slice(&bytes);
}

/// Writes a decision to the start of the page.
#[inline]
pub(crate) fn write_to(page: &mut [u8; PAGE], decision: &Decision) {
    if let Some(record) = page.first_chunk_mut::<RECORD>() {
        write(record, decision);
    }
}

/// The records of decisions, one behind the other.
pub(crate) fn records(decisions: &[Decision]) -> BigUint64Array {
    let mut words = Vec::with_capacity(decisions.len() * RECORD / 8);
    for decision in decisions {
        let mut record = [0; RECORD];
        write(&mut record, decision);
        words.extend(record.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)));
    }
    words.into()
}

/// The decision of ten numbers, as JavaScript gives one back: outcome, limit, remaining, retry, reset, delay, layer,
/// next, given back, notes.
pub(crate) fn decision(numbers: &[u64]) -> Option<Decision> {
    use ratecell::Outcome;
    let &[outcome, limit, remaining, retry, reset, delay, layer, next, given_back, notes] = numbers else {
        return None;
    };
    let outcomes = [Outcome::Allowed, Outcome::Denied, Outcome::Never, Outcome::ClockRange, Outcome::Asked];
    let outcome = outcomes.into_iter().find(|known| *known as u64 == outcome)?;
    let layer = u32::try_from(layer).ok()?;
    let decision = Decision::new(outcome, limit, remaining, retry, reset, delay, layer);
    let given_back = u32::try_from(given_back).ok()?;
    Some(decision.with_next(next).with_given_back(given_back).with_notes(u32::try_from(notes).ok()?))
}
