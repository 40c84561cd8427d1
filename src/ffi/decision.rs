//! A decision as C sees it: frozen.

use core::mem::MaybeUninit;

use super::ratecell_status;
use super::ratecell_status::{RATECELL_ALLOWED, RATECELL_CLOCK_RANGE, RATECELL_DENIED, RATECELL_NEVER};
use ratecell_core::{Decision, Outcome};

/// The answer to one request: 64 bytes on 64-bit machines, the same in every version.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ratecell_decision {
    /// The most units that can pass at one instant; of several layers, that of the layer below.
    pub limit: u64,
    /// Units that would be allowed at this same instant, after this decision.
    pub remaining: u64,
    /// Until the same cost would be allowed, with no other traffic on the key; 1 ns earlier, by the limiter's
    /// clock, it is still denied. 0 if it was allowed, UINT64_MAX if it never can be: what is longer than
    /// UINT64_MAX - 1 is that long.
    pub retry_after_ns: u64,
    /// Until the key is as good as never used.
    pub reset_after_ns: u64,
    /// How long to hold the allowed request before it goes on: 0 except for a leaky_queue.
    pub delay_ns: u64,
    /// RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE: what the call returned.
    pub outcome: i32,
    /// Which of the policy's layers has the least remaining, from 0: the one to name to who was refused.
    pub layer: u32,
    /// 0.
    pub reserved: [u64; 2],
}

impl ratecell_decision {
    #[inline(always)]
    pub(super) fn write(place: &mut MaybeUninit<Self>, decision: Decision) {
        place.write(Self {
            limit: decision.limit(),
            remaining: decision.remaining(),
            retry_after_ns: decision.retry_after_ns(),
            reset_after_ns: decision.reset_after_ns(),
            delay_ns: decision.delay_ns(),
            outcome: status(decision.outcome()) as i32,
            layer: decision.layer() as u32,
            reserved: [0; 2],
        });
    }

    /// The decision again, of a caller who may have changed it; `None` for an outcome that is none.
    pub(super) fn read(&self) -> Option<Decision> {
        let outcomes = [Outcome::Allowed, Outcome::Denied, Outcome::Never, Outcome::ClockRange];
        let outcome = outcomes.into_iter().find(|outcome| status(*outcome) as i32 == self.outcome)?;
        let Self { limit, remaining, retry_after_ns, reset_after_ns, delay_ns, layer, .. } = *self;
        Some(Decision::new(outcome, limit, remaining, retry_after_ns, reset_after_ns, delay_ns, layer))
    }
}

#[inline(always)]
pub(super) fn status(outcome: Outcome) -> ratecell_status {
    match outcome {
        Outcome::Allowed => RATECELL_ALLOWED,
        Outcome::Denied => RATECELL_DENIED,
        Outcome::Never => RATECELL_NEVER,
        Outcome::ClockRange => RATECELL_CLOCK_RANGE,
    }
}
