//! The sliding log: the instants of the last `limit` units. Exact in every window, at 8 bytes a unit;
//! its state is no word, so it has a table of its own.

use super::packing::LayoutChoice;
use super::params::{LIMIT, Params};
use super::{Plan, Resolved, Spec, quota};
use crate::decision::Decision;
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::request::Request;
use alloc::format;

mod ring;

pub(crate) static SLIDING_LOG: Spec = Spec {
    name: "sliding_log",
    quota: quota::WINDOW,
    options: &[],
    resolve: |params: &Params, pack: LayoutChoice, _| {
        let limit = params.limit("limit")?;
        if limit > MAX_LIMIT {
            let message = format!("limit is {limit}: a log keeps every unit, expected at most {MAX_LIMIT}");
            return Err(PolicyError::new(Kind::Range, message).about(LIMIT));
        }
        let window = params.period("window")?;
        params.horizon()?;
        let resolved = Resolved {
            capacity: u64::from(limit),
            max_now_ns: u64::MAX,
            cell_bits: 64 * u64::from(pack.reach(limit)) + 64,
            emission: None,
            count_bits: None,
            quantum_ns: None,
            boundaries: None,
            boundary_digest: None,
        };
        Ok((Plan::Log(SlidingLog { window, limit, heal: params.heal_ns }), resolved))
    },
};

const MAX_LIMIT: u32 = 65_536;

/// A key's allowed units, oldest first, no more than the limit.
pub type Log = ring::Ring;

/// What a charge put into a log.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    /// When, by the log's own clock.
    pub clock: u64,
    /// How many units.
    pub count: u32,
}

/// Decides on a key's [`Log`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingLog {
    window: u64,
    limit: u32,
    heal: Option<u64>,
}

impl SlidingLog {
    /// The window's nanoseconds.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The log's own clock, which never goes back nor before `floor`, and how many entries have left by
    /// it.
    #[inline]
    fn view(&self, log: &Log, floor: u64, now: u64) -> (u64, usize) {
        let clock = self.believed(floor, now).max(now);
        match log.newest() {
            Some(newest) if self.believed(newest, now) == newest => {
                let clock = clock.max(newest);
                (clock, log.count_oldest(|entry| clock.saturating_sub(entry) >= self.window))
            }
            _ => (clock, log.len()),
        }
    }

    /// `instant`, or 0 where only a clock that was set back since can have shown it.
    #[inline]
    pub fn believed(&self, instant: u64, now: u64) -> u64 {
        if self.heal.is_some_and(|heal| instant > now.saturating_add(heal)) { 0 } else { instant }
    }

    #[inline]
    fn until_left(&self, entry: u64, now: u64) -> u64 {
        let left = u128::from(entry) + u128::from(self.window);
        Decision::until(left, now)
    }

    /// Decides `cost` at `now`, no earlier than `floor`, on `log`; an allowed cost goes into it where
    /// `charge` says so, and is denied if there is no memory for it.
    #[inline]
    pub fn step(&self, log: &mut Log, floor: u64, now: u64, cost: u32, charge: bool) -> Decision {
        let (clock, left) = self.view(log, floor, now);
        let mut live = (log.len() - left) as u64;
        let mut newest = if live > 0 { log.newest() } else { None };
        let limit = u64::from(self.limit);
        let wanted = live + u64::from(cost);
        let mut decision = Decision::allowed(limit);
        if cost > self.limit {
            decision.refuse();
        } else if wanted > limit {
            // wanted - limit <= live: that many of the oldest live entries have to leave.
            let last = left + (wanted - limit) as usize - 1;
            decision.deny(log.get(last).map_or(0, |entry| self.until_left(entry, now)));
        } else if cost > 0 && charge {
            if !log.advance(left, clock, cost as usize, self.limit as usize) {
                return decision.without_room(now, now);
            }
            live = wanted;
            newest = Some(clock);
        }
        decision.remaining = limit.saturating_sub(live);
        decision.reset_after_ns = newest.map_or(0, |entry| self.until_left(entry, now));
        decision
    }

    /// Decides `request` by a `step` that is given how much, and whether to charge: the decision, and the units that were
    /// charged. A log delays nothing, so it is within any delay.
    #[inline]
    pub fn decide(request: &Request<'_>, mut step: impl FnMut(u32, bool) -> Decision) -> (Decision, u32) {
        if request.named_zone().is_some() {
            return (step(0, false).without_zone(), 0);
        }
        let cost = if request.is_charge() {
            let room = u32::try_from(step(0, false).remaining).unwrap_or(u32::MAX);
            request.units().min(room)
        } else {
            request.units()
        };
        let decided = step(cost, true);
        if !decided.is_allowed() {
            return (decided, 0);
        }
        // A charge is answered by a peek.
        (if request.is_charge() { step(0, false) } else { decided }, cost)
    }

    /// Takes a charge back out of a log; unless others were charged since, at a later instant: then it stays. Which units
    /// of one instant go makes no difference.
    #[inline]
    pub fn refund(log: &mut Log, Entries { clock, count }: Entries) {
        let oldest = log.len().checked_sub(count as usize);
        if oldest.is_some_and(|oldest| log.get(oldest) == Some(clock)) && log.newest() == Some(clock) {
            log.retreat(count as usize);
        }
    }

    /// Gives back `units` of a charge that went in at `clock`, as far as they are still there, and returns how many. A log
    /// that reads as fresh gives nothing.
    pub fn give_back(&self, log: &mut Log, now: u64, clock: u64, units: u32) -> u32 {
        if log.newest().is_none_or(|newest| self.believed(newest, now) != newest) {
            return 0;
        }
        let from = log.count_oldest(|entry| entry < clock);
        let to = log.count_oldest(|entry| entry <= clock);
        // At most the units.
        let back = (to - from).min(units as usize);
        log.remove(from, back);
        back as u32
    }

    /// Units that the log still holds at `now`.
    #[inline]
    pub fn level(&self, log: &Log, now: u64) -> u64 {
        let (_, left) = self.view(log, 0, now);
        (log.len() - left) as u64
    }

    /// The instant from which the log holds nothing.
    #[inline]
    pub fn fresh_at(&self, log: &Log) -> u64 {
        log.newest().map_or(0, |newest| newest.saturating_add(self.window))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refund_takes_no_later_unit() {
        let algorithm = SlidingLog { window: 100, limit: 3, heal: None };
        let charged = |instants: &[u64]| {
            let mut log = Log::new();
            instants.iter().for_each(|now| assert!(algorithm.step(&mut log, 0, *now, 1, true).is_allowed()));
            log
        };
        for (instants, clock, cost, left) in [
            (&[7][..], 7, 1, 0),
            (&[7, 7], 7, 1, 1),
            (&[5, 7, 7], 7, 2, 1),
            (&[5, 7], 5, 1, 2),
            (&[5, 7], 7, 2, 2),
            (&[], 7, 1, 0),
        ] {
            let mut log = charged(instants);
            SlidingLog::refund(&mut log, Entries { clock, count: cost });
            assert_eq!(log.len(), left, "{instants:?} less {cost} of {clock}");
        }
    }

    #[test]
    fn a_wait_that_ends_is_never_told_as_one_that_does_not() {
        let log = SlidingLog { limit: 1, window: 1 << 60, heal: None };
        for (entry, wait) in [(u64::MAX - 1, Decision::NEVER - 1), (u64::MAX, Decision::NEVER - 1)] {
            assert_eq!(log.until_left(entry, log.window), wait, "{entry}");
        }
        assert_eq!(log.until_left(u64::MAX - 2, log.window), Decision::NEVER - 2);
    }
}
