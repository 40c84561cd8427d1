//! A decision as C sees it: frozen.

use core::mem::MaybeUninit;

use super::ratecell_status;
use super::ratecell_status::{
    RATECELL_ALLOWED, RATECELL_ASKED, RATECELL_CLOCK_RANGE, RATECELL_DENIED, RATECELL_NEVER,
};
use ratecell_core::{Decision, Outcome};

/// A note in a decision: the policy did not deny, but the full table, which had no place for the key.
pub const RATECELL_NO_PLACE: u32 = 1;
/// A note in a decision: the limiter's units are those of many machines. remaining is a lower bound, and reset_after_ns the
/// end of what this machine holds.
pub const RATECELL_LEASED: u32 = 2;
/// A note in a decision: the store of many machines did not answer, so the config's on_failure or on_miss decided. The
/// retry_after_ns of a denial is then UINT64_MAX: it is not known.
pub const RATECELL_UNANSWERED: u32 = 4;
/// A note in a decision: the policy has tz=caller, and the request names no zone. Nothing was charged.
pub const RATECELL_NO_ZONE: u32 = 8;
const _: () = assert!(RATECELL_NO_ZONE == Decision::NO_ZONE);
const _: () = assert!(RATECELL_NO_PLACE == Decision::NO_PLACE);
const _: () = assert!(RATECELL_LEASED == Decision::LEASED && RATECELL_UNANSWERED == Decision::UNANSWERED);

/// The answer to one request: 64 bytes on 64-bit machines, the same in every version.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ratecell_decision {
    /// The most units that can pass at one instant; with several layers, the limit of the field layer's.
    pub limit: u64,
    /// Units that would be allowed at this same instant, after this decision.
    pub remaining: u64,
    /// Until the same cost would be allowed, with no other traffic on the key; 1 ns earlier, by the limiter's
    /// clock, it is still denied. 0 if it was allowed, UINT64_MAX if it never can be. A longer time than
    /// UINT64_MAX - 1 is returned as that.
    pub retry_after_ns: u64,
    /// Until the key is as good as never used.
    pub reset_after_ns: u64,
    /// How long to hold the allowed request before it goes on: 0 except for a leaky_queue. In a refusal with
    /// RATECELL_WITHIN, the delay that the request would be given at the first instant at which the policy admits it.
    pub delay_ns: u64,
    /// RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER, RATECELL_CLOCK_RANGE or RATECELL_ASKED: what the call returned.
    pub outcome: i32,
    /// The layer with the least remaining, counted from 0: the one to name in a refusal.
    pub layer: u32,
    /// With RATECELL_NEXT: the time until remaining + 1 units would be allowed, with no other traffic on the key; with
    /// RATECELL_NO_PLACE, until there may be a place. 0 where there is no such time, and without the flag.
    pub next_ns: u64,
    /// Units that a release gave back; otherwise 0.
    pub given_back: u32,
    /// RATECELL_NO_PLACE, RATECELL_LEASED, RATECELL_UNANSWERED, RATECELL_NO_ZONE, or 0.
    pub notes: u32,
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
            next_ns: decision.next_ns(),
            given_back: decision.given_back(),
            notes: decision.notes(),
        });
    }

    /// The decision again, of a caller who may have changed it; `None` for an outcome that is none.
    pub(super) fn read(&self) -> Option<Decision> {
        let outcomes =
            [Outcome::Allowed, Outcome::Denied, Outcome::Never, Outcome::ClockRange, Outcome::Asked];
        let outcome = outcomes.into_iter().find(|outcome| status(*outcome) as i32 == self.outcome)?;
        let Self {
            limit, remaining, retry_after_ns, reset_after_ns, delay_ns, layer, next_ns, notes, ..
        } = *self;
        let decision =
            Decision::new(outcome, limit, remaining, retry_after_ns, reset_after_ns, delay_ns, layer);
        Some(decision.with_next(next_ns).with_notes(notes))
    }
}

#[inline(always)]
pub(super) fn status(outcome: Outcome) -> ratecell_status {
    match outcome {
        Outcome::Allowed => RATECELL_ALLOWED,
        Outcome::Denied => RATECELL_DENIED,
        Outcome::Never => RATECELL_NEVER,
        Outcome::Asked => RATECELL_ASKED,
        // The last there is: a newer one is answered as this one is, by no admission.
        _ => RATECELL_CLOCK_RANGE,
    }
}
