//! Decisions by policies that have names, and by rules.

use core::str;

use ratecell::rules::RulesDecision;
use ratecell::{Decision, Limiter, Outcome};

use super::batch::Target;
use super::throttle::signed;
use super::{Answerer, shown, units};
use crate::limits::Limits;
use crate::resp::Replies;

const NS_PER_MS: u64 = 1_000_000;

impl Answerer {
    /// `RATECELL.CHECK name key [cost]`.
    #[inline]
    pub(super) fn check(&mut self, arguments: &[&[u8]]) -> Result<(), String> {
        let [name, key, rest @ ..] = arguments else { return Ok(()) };
        let number = self.server.limits.number(name).ok_or_else(|| no_policy(name))?;
        let cost = rest.first().map_or(Ok(1), |cost| units(cost))?;
        self.add(&Target::Named(number), key, cost);
        Ok(())
    }

    /// `RATECELL.PEEK name key`: a check of nothing.
    pub(super) fn peek(&mut self, arguments: &[&[u8]]) -> Result<(), String> {
        let [name, key] = arguments else { return Ok(()) };
        let number = self.server.limits.number(name).ok_or_else(|| no_policy(name))?;
        self.add(&Target::Named(number), key, 0);
        Ok(())
    }
}

/// The limiter of that name.
pub(super) fn named<'l>(limits: &'l Limits, name: &[u8]) -> Result<&'l Limiter, String> {
    limits.number(name).map(|number| limits.limiter(number)).ok_or_else(|| no_policy(name))
}

fn no_policy(name: &[u8]) -> String {
    format!("ERR no policy is named '{}': expected a name that the server was started with", shown(name))
}

/// `RATECELL.FORGET name key`.
pub(super) fn forget(limits: &Limits, replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let [name, key] = arguments else { return Ok(()) };
    replies.integer(i64::from(named(limits, name)?.forget(key)));
    Ok(())
}

/// The outcome, the limit, the units that remain, and in milliseconds: until the same request is allowed, until the key is
/// as never seen, and the delay that an allowed request must wait.
#[inline]
pub(super) fn write(replies: &mut Replies, decision: &Decision) {
    replies.array(6);
    write_fields(replies, decision);
}

#[inline]
pub(super) fn write_fields(replies: &mut Replies, decision: &Decision) {
    replies.integer(number(decision.outcome()));
    replies.integer(signed(decision.limit()));
    replies.integer(signed(decision.remaining()));
    replies.integer(milliseconds(decision.retry_after_ns()));
    replies.integer(milliseconds(decision.reset_after_ns()));
    replies.integer(milliseconds(decision.delay_ns()));
}

/// As the C ABI numbers it: 0 is allowed.
#[inline]
fn number(outcome: Outcome) -> i64 {
    i64::from(outcome as i32)
}

/// Rounded up, so that a client that waits so long is admitted; -1 for never.
#[inline]
fn milliseconds(ns: u64) -> i64 {
    if ns == Decision::NEVER { -1 } else { signed(ns.div_ceil(NS_PER_MS)) }
}

/// `RATECELL.DECIDE attribute value [attribute value …]`.
pub(super) fn by_rules(limits: &Limits, replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let rules =
        limits.rules().ok_or("ERR there are no rules: expected a server that was started with --rules")?;
    let (pairs, rest) = arguments.as_chunks();
    if !rest.is_empty() {
        return Err(format!(
            "ERR {} arguments: expected pairs of an attribute and its value",
            arguments.len()
        ));
    }
    let pairs = pairs.iter().map(|[name, value]| {
        let name = str::from_utf8(name);
        name.map(|name| (name, *value)).map_err(|_| "ERR the name of an attribute: expected UTF-8".to_owned())
    });
    let attributes = pairs.collect::<Result<Vec<_>, _>>()?;
    write_answer(replies, &rules.decide(&attributes));
    Ok(())
}

/// The six numbers of a check, and the rule that they are of: the one that refused, or that runs out first. Where no rule
/// limits the request the limit and what remains are -1.
fn write_answer(replies: &mut Replies, decision: &RulesDecision) {
    let shown = decision.shown;
    replies.array(7);
    replies.integer(number(decision.outcome));
    replies.integer(shown.map_or(-1, |shown| signed(shown.limit)));
    replies.integer(shown.map_or(-1, |shown| signed(shown.remaining)));
    replies.integer(milliseconds(decision.retry_after_ns));
    replies.integer(shown.map_or(0, |shown| milliseconds(shown.reset_after_ns)));
    replies.integer(milliseconds(decision.delay_ns));
    match decision.rule_name().or_else(|| decision.shown_name()) {
        Some(name) => replies.bulk(name.as_bytes()),
        None => replies.null(),
    }
}
