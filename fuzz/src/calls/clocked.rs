//! The calls that read the clock: on a limiter of their own, so that what they decide leaves the other one
//! as it can be repeated.

use core::ptr;

use arbitrary::Arbitrary;
use ratecell::Policy;
use ratecell::ffi::{
    RATECELL_HASHED, ratecell_decision, ratecell_limiter_check, ratecell_limiter_decide,
    ratecell_limiter_epoch, ratecell_limiter_now, ratecell_limiter_stats, ratecell_stats,
};

use super::faults::Fault;
use super::{By, Key};
use crate::laws;
use crate::limiter::CLimiter;
use crate::memory::{Memory, request};
use crate::policies::Number;

#[derive(Arbitrary, Debug)]
pub(super) enum Clocked {
    Check { key: Key, by: By, cost: Number, told: bool },
    Now { fault: Fault },
    Epoch { fault: Fault },
    Stats,
}

impl Clocked {
    pub(super) fn run(self, limiter: &CLimiter, policy: &Policy) {
        match self {
            Self::Check { key, by, cost, told } => check(limiter, policy, key, by, cost.cost(), told),
            Self::Now { fault } => {
                if let Some(now) = time(limiter, fault, Time::Now) {
                    assert!(
                        time(limiter, Fault::None, Time::Now) >= Some(now),
                        "{now}: expected a clock that goes on"
                    );
                }
            }
            Self::Epoch { fault } => {
                if let Some(epoch) = time(limiter, fault, Time::Epoch) {
                    // 1970-01-05 was a Monday.
                    let days = epoch / DAY_NS - 4;
                    assert_eq!((epoch % DAY_NS, days % 7), (0, 0), "{epoch}: expected the 00:00 of a Monday");
                }
            }
            Self::Stats => {
                let place = Memory::room::<ratecell_stats>(0);
                // SAFETY: a limiter, and room for its stats.
                let status = unsafe {
                    ratecell_limiter_stats(limiter.get(), 0, 0, place.pointer(), place.bytes().len())
                };
                assert_eq!(status, 0, "ratecell_limiter_stats");
                let stats: ratecell_stats = place.value(0);
                assert!(stats.live <= stats.slots, "{stats:?}: expected no more keys than places");
            }
        }
    }
}

const DAY_NS: u64 = 86_400_000_000_000;

#[derive(Clone, Copy, Debug)]
enum Time {
    Now,
    Epoch,
}

/// A time that a limiter tells, or nothing if the call was at fault.
fn time(limiter: &CLimiter, fault: Fault, time: Time) -> Option<u64> {
    let fault = fault.among(matches!(fault, Fault::OutputNull | Fault::OutputMisaligned(_)));
    let place = Memory::room::<u64>(fault.shift());
    let (limiter, output) = (fault.limiter(limiter.get()), fault.output(place.pointer()));
    // SAFETY: a limiter, and room for a time, or what must be refused.
    let status = unsafe {
        match time {
            Time::Now => ratecell_limiter_now(limiter, output),
            Time::Epoch => ratecell_limiter_epoch(limiter, output),
        }
    };
    assert_eq!(status, fault.status().unwrap_or(0), "{time:?} with {fault:?}");
    if fault.status().is_some() {
        place.assert_untouched("a limiter's time");
        return None;
    }
    Some(place.value(0))
}

fn check(limiter: &CLimiter, policy: &Policy, key: Key, by: By, cost: u32, told: bool) {
    let bytes = Memory::of(&key.bytes());
    let place = Memory::room::<ratecell_decision>(0);
    let output = if told { place.pointer() } else { ptr::null_mut() };
    let (input, len) = (bytes.pointer(), bytes.bytes().len());
    let cost = if matches!(by, By::Peek) { 0 } else { cost };
    // SAFETY: a limiter, a key of so many bytes, room for a decision or NULL.
    let status = unsafe {
        match by {
            By::Bytes => ratecell_limiter_check(limiter.get(), input, len, cost, output),
            By::Hash => {
                let mut request = request(ptr::null(), 0, cost, 0);
                request.hash = key.0.into();
                request.flags = RATECELL_HASHED;
                ratecell_limiter_decide(limiter.get(), &request, output)
            }
            By::Peek => ratecell_limiter_check(limiter.get(), input, len, 0, output),
        }
    };
    let now = time(limiter, Fault::None, Time::Now).unwrap_or_default();
    if told {
        let decision: ratecell_decision = place.value(0);
        assert_eq!(status, decision.outcome, "{by:?} of {key:?}: expected the outcome to be returned");
        laws::assert_lawful(policy, cost, now, &decision);
    } else {
        assert!((0..=3).contains(&status), "{by:?} of {key:?}: status {status}");
        place.assert_untouched("a check without a decision");
    }
}
