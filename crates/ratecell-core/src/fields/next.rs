//! The time to one more unit, from a decision alone.

use crate::algorithm::{Kernel, Plan};
use crate::decision::{Decision, Outcome};
use crate::policy::Policy;

/// The time until one more unit than `remaining` would be admitted, in nanoseconds, with no other traffic. It
/// is derived from the decision of a policy of one layer. `None` where there is no such time, and where the
/// word would be needed: for several layers, a `sliding_window`, a `sliding_log` and an `in_flight`.
///
/// Exact but for a rate whose unit takes no whole number of nanoseconds, where it is up to 1 ns too long.
#[must_use]
pub fn next_ns(policy: &Policy, decision: &Decision) -> Option<u64> {
    let [layer] = policy.layers() else { return None };
    let used = decision.limit().checked_sub(decision.remaining()).filter(|used| *used > 0)?;
    // A leased decision's times are those of the lease.
    if decision.outcome() == Outcome::ClockRange || decision.is_leased() || decision.is_without_zone() {
        return None;
    }
    let Plan::Word(kernel) = layer.plan() else { return None };
    let after_next = match kernel {
        Kernel::FixedWindow(_)
        | Kernel::FixedWindowFirst(_)
        | Kernel::CalendarWindow(_)
        | Kernel::CallerWindow(_) => 0,
        Kernel::BucketInterval(_) | Kernel::BucketIntervalFirst(_) => {
            let (refill, interval_ns) = layer.rate();
            (used.div_ceil(refill) - 1).saturating_mul(interval_ns)
        }
        Kernel::Gcra(_) => {
            let emission = policy.resolved().next()?.emission?;
            let ns = u128::from(used - 1) * u128::from(emission.num) / u128::from(emission.den);
            u64::try_from(ns).unwrap_or(u64::MAX)
        }
        Kernel::SlidingWindow(_) | Kernel::InFlight(_) | Kernel::Lease(_) => return None,
    };
    Some(decision.reset_after_ns().saturating_sub(after_next).max(1))
}
