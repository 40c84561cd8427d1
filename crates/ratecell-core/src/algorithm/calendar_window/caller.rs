//! Windows of the calendar in the zone that each request names: `tz=caller`.
//!
//! The words are those of [`CalendarWindow`], which decides each request by the windows of its zone. A window is opened only
//! if it begins where the one in force has ended, in whatever zone that one was opened. So the windows that are opened for a
//! key never overlap, and a user who moves from zone to zone has no more quotas in the long run than those who stay in the zone
//! of the shortest windows. What is left of a quota can be used until the next one is opened: in any time that k of the
//! shortest windows take, a mover is admitted less than k + 2 limits, where others are admitted k + 1.
//!
//! What is asked without a request, such as when a word is fresh, holds in every zone.

use super::super::counting::{Count, Counter};
use super::super::lease::Lease;
use super::super::packing::{LayoutChoice, WordLayout};
use super::super::params::{Key, Params};
use super::super::{Algorithm, Change, Held, Kernel, Lend, Plan, Reserve, Resolved, Span, Step};
use super::{CalendarWindow, NS_PER_SECOND, layout, ns, out_of_years};
use crate::decision::Decision;
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::request::Request;
use crate::zone::{Frame, Tz, Zone};

/// Checks parameters whose calendar is `frame`, to the horizon.
pub(super) fn resolve(
    params: &Params,
    pack: LayoutChoice,
    limit: u32,
    frame: Frame,
) -> Result<(Plan, Resolved), PolicyError> {
    let horizon = params.horizon()?;
    let longest = frame.calendar.period.longest();
    // In every zone a request has the end of its window, and the first boundary after the end of any other's.
    let frame = Frame { until: frame.until + longest, ..frame };
    let last = frame.zone(Tz::Utc).map(|utc| utc.row().last()).ok_or_else(out_of_years)?;
    let max_now = |bits: u32| if last <= (Count { bits }).top() { horizon } else { 0 };
    let count = Count { bits: pack.count_bits(limit, u32::BITS, params, max_now)? };
    let served = max_now(count.bits);
    params.reaches_horizon(served, "the window's end beside a count of this limit")?;
    let counter = Counter { capacity: limit, count, max_now: served, heal: params.heal_ns };
    let resolved = counter.resolved(Some(count.bits), None);
    Ok((Plan::Word(Kernel::CallerWindow(CallerWindow { counter, frame })), resolved))
}

/// Windows of a calendar in the zone of each request. A request without one, or with one of another calendar, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerWindow {
    counter: Counter,
    frame: Frame,
}

impl CallerWindow {
    /// The windows of a zone.
    pub(crate) fn zone(&self, tz: Tz) -> Result<Zone, PolicyError> {
        if tz == Tz::Caller {
            let message = "the zone is `caller`: expected the name of a zone, such as Europe/Berlin";
            return Err(PolicyError::new(Kind::BadZone, message).about(Key::Tz.name()));
        }
        self.frame.zone(tz).ok_or_else(out_of_years)
    }

    /// Whether the zone is one of this calendar.
    pub(crate) fn takes(&self, zone: &Zone) -> bool {
        *zone.frame() == self.frame
    }

    /// What decides in this zone, if it is one of this calendar.
    fn within<'z>(&self, zone: Option<&'z Zone>) -> Option<CalendarWindow<&'z Zone>> {
        let zone = zone.filter(|zone| self.takes(zone))?;
        Some(CalendarWindow::new(self.counter, zone))
    }

    fn refused(&self) -> Step {
        Step { charged: None, decision: Decision::allowed(u64::from(self.counter.capacity)).without_zone() }
    }

    /// Nanoseconds of a time that no window is longer than.
    fn longest_ns(&self) -> u128 {
        ns(self.frame.calendar.period.longest())
    }
}

impl Algorithm for CallerWindow {
    /// Of a request that names no zone.
    fn step(&self, _: u64, _: u64, _: u32) -> Step {
        self.refused()
    }

    #[inline(never)]
    fn decide_apart(&self, word: u64, now: u64, request: &Request<'_>) -> Step {
        match self.within(request.named_zone()) {
            Some(windows) => windows.decide(word, now, &request.without_zone()),
            None => self.refused(),
        }
    }

    /// In every zone, the window that holds an instant one longest window after the end began at that end or later.
    #[inline]
    fn fresh_at(&self, word: u64) -> u64 {
        let (end, _) = self.counter.count.unpack(word);
        if end == 0 { 0 } else { Decision::until(ns(end) + self.longest_ns(), 0) }
    }

    /// To an end that no window which holds the instant, or an earlier one, is past.
    #[inline]
    fn carried(&self, word: u64, instant: u64) -> u64 {
        let (end, used) = self.counter.count.unpack(word);
        let used = if self.fresh_at(word) <= instant { 0 } else { used };
        let latest = instant / NS_PER_SECOND + self.frame.calendar.period.longest() + 1;
        self.counter.packed_within(end.max(latest), used)
    }

    #[inline]
    fn carried_in(&self, word: u64, instant: u64, zone: Option<&Zone>) -> u64 {
        match self.within(zone) {
            Some(windows) => windows.carried(word, instant),
            None => self.carried(word, instant),
        }
    }

    #[inline]
    fn level(&self, word: u64, now: u64) -> u64 {
        if now < self.fresh_at(word) { self.counter.count.unpack(word).1 } else { 0 }
    }

    /// In every zone: the window before the last boundary below the end began no earlier than two windows before it.
    #[inline]
    fn is_healed(&self, word: u64, now: u64) -> bool {
        let Some(heal) = self.heal() else { return false };
        let (end, _) = self.counter.count.unpack(word);
        ns(end).saturating_sub(2 * self.longest_ns()) > u128::from(now) + u128::from(heal)
    }

    #[inline]
    fn heal(&self) -> Option<u64> {
        self.counter.heal
    }

    /// Its words are no others' but callers': what their windows' ends mean to others, no zone says.
    fn packing(&self) -> WordLayout {
        layout(*b"callers ", self.frame.calendar.period, self.counter)
    }
}

/// Units of a window are given back while it is in force, as those of a window of one zone are.
impl Reserve for CallerWindow {
    fn held(&self, after: u64, _: u64, cost: u32, given: u64) -> Held {
        let (made, used) = self.counter.count.unpack(after);
        Held { made, start: used.saturating_sub(u64::from(cost)), end: used, given }
    }

    fn give_back(&self, word: u64, now: u64, held: &Held, _: u32, units: u32, _: Option<u64>) -> (u64, u64) {
        let (end, used) = self.counter.count.unpack(word);
        if self.is_healed(word, now) || end != held.made {
            return (word, 0);
        }
        let back = u64::from(units).min(used);
        (self.counter.count.pack(end, used - back), back)
    }
}

/// A window is the same window.
impl Change for CallerWindow {
    fn changed(&self, next: &Self, word: u64, _: u64, _: u32) -> u64 {
        let (end, used) = self.counter.count.unpack(word);
        let count = next.counter.count;
        count.pack(end.min(count.top()), used)
    }
}

/// Its units are not lent: a lease has no zone.
impl Lend for CallerWindow {
    fn span(&self, _: u64, _: u64) -> Option<Span> {
        None
    }

    fn instant(&self, _: u64, now: u64) -> u64 {
        now
    }

    fn lasts_ns(&self, _: u64, _: u64, _: u64) -> u64 {
        0
    }

    fn lease(&self) -> Option<Lease> {
        None
    }
}
