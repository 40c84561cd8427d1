//! `CL.THROTTLE`, as the module redis-cell has it.

use ratecell::Decision;

use super::batch::Target;
use super::{Answerer, not_an_integer, number, units};
use crate::limits::Terms;
use crate::resp::Replies;

const NS_PER_S: u64 = 1_000_000_000;

impl Answerer {
    /// `CL.THROTTLE key max_burst count period [quantity]`.
    #[inline]
    pub(super) fn throttle(&mut self, arguments: &[&[u8]]) -> Result<(), String> {
        let [key, max_burst, count, period, rest @ ..] = arguments else { return Ok(()) };
        let terms = Terms {
            max_burst: number(max_burst)
                .ok_or_else(|| not_an_integer("max_burst", max_burst, "an integer from 0 to 4294967294"))?,
            count: at_least_one("count", count)?,
            period_s: at_least_one("period", period)?,
        };
        let quantity = rest.first().map_or(Ok(1), |quantity| units(quantity))?;
        let view = self.views.of(self.server.limits.throttle(), terms);
        let view = view.map_err(|refusal| format!("ERR {refusal}"))?;
        let target = Target::Throttle(std::rc::Rc::clone(view));
        self.add(&target, key, quantity);
        Ok(())
    }

    /// Adds a request to the batch, once what is there for another limiter has been decided.
    #[inline]
    pub(super) fn add(&mut self, target: &Target, key: &[u8], cost: u32) {
        if !self.batch.takes(target) {
            self.flush();
        }
        self.batch.push(target, key, cost);
    }
}

fn at_least_one(what: &str, bytes: &[u8]) -> Result<u32, String> {
    let value = number(bytes).filter(|value| *value > 0);
    value.ok_or_else(|| not_an_integer(what, bytes, "an integer from 1 to 4294967295"))
}

/// Whether the request is limited, the limit, the units that remain, the seconds until it is worth to ask again, or -1, and
/// the seconds until the key is as never seen. A client that waits so long is admitted.
#[inline]
pub(super) fn write(replies: &mut Replies, decision: &Decision) {
    let retry_after = match decision.retry_after_ns() {
        0 | Decision::NEVER => -1,
        ns => seconds(ns),
    };
    replies.array(5);
    replies.integer(i64::from(!decision.is_allowed()));
    replies.integer(signed(decision.limit()));
    replies.integer(signed(decision.remaining()));
    replies.integer(retry_after);
    replies.integer(seconds(decision.reset_after_ns()));
}

#[inline]
fn seconds(ns: u64) -> i64 {
    signed(ns.div_ceil(NS_PER_S))
}

/// The protocol has no greater integer.
#[inline]
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
