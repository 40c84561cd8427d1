//! Those who wait for a limiter: its line. JavaScript sleeps, and wakes those whose numbers it is given.

use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use ratecell::waiting::{Line, Parameters, Turn, WaitEnd, WaitOutcome};
use ratecell::{Decision, Outcome};

use crate::errors;
use crate::limiter::Limiter;
use crate::memory::Page;
use crate::request::u64_of;

/// What a turn says.
#[napi(object)]
pub struct Turned {
    /// The end, as the published traces call it: then the decision is in the page.
    pub end: Option<String>,
    /// The instant until which the waiter sleeps; without it, until it is woken.
    pub until: Option<BigInt>,
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53 waiters")]
fn number(id: u64) -> f64 {
    id as f64
}

#[expect(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "it is a number that `arrive` gave"
)]
fn id(number: f64) -> u64 {
    number as u64
}

/// Has somebody wait for `cost` units of `key`, until `deadline_ns` at the longest; its number.
#[napi]
pub fn arrive(
    limiter: &Limiter,
    key: &[u8],
    cost: u32,
    now_ns: BigInt,
    deadline_ns: Option<BigInt>,
) -> Result<f64> {
    let core = &limiter.core;
    let policy = core.policy();
    if policy.asks_for_zone() {
        return Err(errors::of_value(&format!(
            "`{policy}` asks for a zone, and who waits names none: expected another policy"
        )));
    }
    let mut line = limiter.line.borrow_mut();
    let line = line.get_or_insert_with(|| Line::new(Parameters::of(&policy)));
    line.follow(core);
    Ok(number(line.arrive(u64_of(now_ns), key, cost, deadline_ns.map(u64_of))))
}

/// The turn of a waiter: it asks, if that is due.
#[napi]
pub fn turn(limiter: &Limiter, page: &mut Page, waiter: f64, key: &[u8], now_ns: BigInt) -> Turned {
    let (core, now_ns) = (&limiter.core, u64_of(now_ns));
    let mut line = limiter.line.borrow_mut();
    let line = line.get_or_insert_with(|| Line::new(Parameters::of(&core.policy())));
    line.follow(core);
    match line.turn(core, now_ns, id(waiter)) {
        Turn::Sleep { until } => Turned { end: None, until: until.map(BigInt::from) },
        Turn::End(end) => {
            page.write(&decision(core, key, now_ns, &end));
            Turned { end: Some(end.outcome.name().to_owned()), until: None }
        }
    }
}

/// A waiter gives up, wherever it is.
#[napi]
pub fn leave(limiter: &Limiter, waiter: f64, now_ns: BigInt) {
    if let Some(line) = &mut *limiter.line.borrow_mut() {
        line.follow(&limiter.core);
        line.leave(&limiter.core, u64_of(now_ns), id(waiter));
    }
}

/// Units of `key` came back, or, without a key, the policy was changed.
#[napi]
pub fn changed(limiter: &Limiter, key: Option<&[u8]>) {
    if let Some(line) = limiter.line.borrow_mut().as_mut().filter(|line| !line.is_empty()) {
        line.follow(&limiter.core);
        if let Some(key) = key {
            line.changed(limiter.core.now_ns(), key);
        }
    }
}

/// The numbers of those whose turn has come by what happened to others, each once.
#[napi]
pub fn woken(limiter: &Limiter) -> Vec<f64> {
    let mut line = limiter.line.borrow_mut();
    let mut woken = Vec::new();
    while let Some(id) = line.as_mut().and_then(Line::woken) {
        woken.push(number(id));
    }
    woken
}

/// How many wait, and how often the limiter was asked by them.
#[napi]
pub fn waits(limiter: &Limiter) -> Vec<f64> {
    limiter
        .line
        .borrow()
        .as_ref()
        .map_or_else(|| vec![0.0, 0.0], |line| vec![number(line.len() as u64), number(line.asks())])
}

/// The decision for the caller of a waiter that has ended: the limiter's own, if it was asked, otherwise what a peek
/// sees, with the wait that is known.
fn decision(limiter: &ratecell::Limiter, key: &[u8], now_ns: u64, end: &WaitEnd) -> Decision {
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
