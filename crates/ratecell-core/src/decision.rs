//! The answer of a limiter: everything that a caller needs, as plain data in one value.

use core::time::Duration;

mod combine;

pub use combine::Combined;

/// How a request was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "an outcome that is ignored limits nothing"]
#[non_exhaustive]
#[repr(i32)]
pub enum Outcome {
    /// The request may go, and its cost was charged. A peek, of cost 0, charges nothing.
    Allowed = 0,
    /// The request may not go now. Nothing was charged.
    Denied = 1,
    /// The request can never go: its cost exceeds the capacity, or its own units alone are delayed for longer than it
    /// allows. Nothing was charged.
    Never = 2,
    /// `now` is past the range of the policy's word. Nothing was charged.
    ClockRange = 3,
    /// Not known yet: a limiter that shares its units with other machines has asked the store, and did not wait. Nothing was
    /// charged.
    Asked = 4,
}

impl Outcome {
    /// The graver of two outcomes. Their numbers grow with gravity, but for [`Asked`](Self::Asked): what is not known yet
    /// is graver than allowed, and less grave than any refusal.
    #[inline]
    pub fn gravest(self, other: Self) -> Self {
        let gravity = |outcome: Self| match outcome {
            Self::Allowed => 0,
            Self::Asked => 1,
            refused => refused as i32 + 1,
        };
        if gravity(other) > gravity(self) { other } else { self }
    }
}

/// The answer to one request: plain data, 64 bytes.
///
/// A denial is an answer, not an error. Times count from the `now` of the request, in whole nanoseconds, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision that is ignored limits nothing"]
pub struct Decision {
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) retry_after_ns: u64,
    pub(crate) reset_after_ns: u64,
    pub(crate) delay_ns: u64,
    pub(crate) outcome: Outcome,
    pub(crate) layer: u32,
    /// 0 for none.
    pub(crate) next_ns: u64,
    pub(crate) given_back: u32,
    pub(crate) notes: u32,
}

impl Decision {
    /// The value of `retry_after_ns` that means never.
    pub const NEVER: u64 = u64::MAX;

    /// A bit of [`notes`](Self::notes): the request was denied because the full table had no place for the key, not by
    /// the policy.
    pub const NO_PLACE: u32 = 1;

    /// A bit of [`notes`](Self::notes): the limiter shares its units with other machines, and `remaining` and the times
    /// are what this machine knows. So `remaining` is a lower bound, and `reset_after` the end of this machine's lease.
    pub const LEASED: u32 = 2;

    /// A bit of [`notes`](Self::notes): the store that machines share did not answer, and the limiter's `on_failure` or
    /// the end of its `on_miss` decided.
    pub const UNANSWERED: u32 = 4;

    /// A bit of [`notes`](Self::notes): the request was refused, with [`Outcome::Never`], because it names no zone though
    /// the policy has `tz=caller`; or because the zone is not one of this limiter's calendar.
    pub const NO_ZONE: u32 = 8;

    /// A bit of [`notes`](Self::notes) that no caller sees: see [`superseded`](Self::superseded).
    pub(crate) const SUPERSEDED: u32 = 1 << 31;

    /// No decision: the policy was changed meanwhile, nothing was charged, and the request is to be decided by the next one.
    #[doc(hidden)]
    #[inline]
    pub const fn superseded() -> Self {
        Self { notes: Self::SUPERSEDED, outcome: Outcome::Denied, ..Self::allowed(0) }
    }

    /// Whether it is [none](Self::superseded).
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub const fn is_superseded(&self) -> bool {
        self.notes & Self::SUPERSEDED != 0
    }

    /// Allowed, with nothing remaining and no waits: the start from which an algorithm fills in a decision.
    #[inline]
    pub const fn allowed(limit: u64) -> Self {
        Self {
            limit,
            remaining: 0,
            retry_after_ns: 0,
            reset_after_ns: 0,
            delay_ns: 0,
            outcome: Outcome::Allowed,
            layer: 0,
            next_ns: 0,
            given_back: 0,
            notes: 0,
        }
    }

    /// The longest wait that a decision can hold. A longer wait is cut to this, so that none reads as
    /// [`NEVER`](Self::NEVER).
    const LONGEST: u64 = Self::NEVER - 1;

    /// The wait at `now` until `instant`.
    #[inline]
    pub(crate) fn until(instant: u128, now: u64) -> u64 {
        let wait = instant.saturating_sub(u128::from(now));
        u64::try_from(wait).unwrap_or(Self::LONGEST).min(Self::LONGEST)
    }

    /// Makes it an allowance, whatever it was.
    #[inline]
    pub(crate) fn allow(&mut self) {
        self.outcome = Outcome::Allowed;
        self.retry_after_ns = 0;
    }

    /// Makes it a denial for `wait_ns` nanoseconds, cut to [`LONGEST`](Self::LONGEST).
    #[inline]
    pub(crate) fn deny(&mut self, wait_ns: u64) {
        self.outcome = Outcome::Denied;
        self.retry_after_ns = wait_ns.min(Self::LONGEST);
    }

    /// Makes it the decision of a request that can never go.
    #[inline]
    pub(crate) fn refuse(&mut self) {
        self.outcome = Outcome::Never;
        self.retry_after_ns = Self::NEVER;
    }

    /// Makes it the decision of a request that the store has yet to answer.
    #[inline]
    pub(crate) fn ask(&mut self) {
        self.outcome = Outcome::Asked;
    }

    /// The decision at a `now` past the range of the policy's word.
    #[inline]
    pub const fn clock_range(limit: u64) -> Self {
        Self { retry_after_ns: Self::NEVER, outcome: Outcome::ClockRange, ..Self::allowed(limit) }
    }

    /// The same decision, built from the fields that a plain request's has. So a decision that a call has written to memory
    /// is not copied as a whole, and the decision of the path without a call stays in registers.
    #[inline(always)]
    pub fn by_field(self) -> Self {
        let Self { remaining, retry_after_ns, reset_after_ns, delay_ns, outcome, layer, notes, .. } = self;
        let plain = Self::allowed(self.limit);
        Self { remaining, retry_after_ns, reset_after_ns, delay_ns, outcome, layer, notes, ..plain }
    }

    /// This decision of a new key, denied because there is no room for it before `free_at`.
    #[inline]
    pub fn without_room(self, free_at: u64, now: u64) -> Self {
        let wait = Self::until(u128::from(free_at), now).max(1);
        let notes = self.notes | Self::NO_PLACE;
        let mut denied = Self { remaining: 0, reset_after_ns: wait, delay_ns: 0, notes, ..self };
        denied.deny(wait);
        denied
    }

    /// A peek's decision as that of a request that can never go.
    #[inline]
    pub fn never(self) -> Self {
        let mut never = Self { delay_ns: 0, notes: self.notes & !Self::SUPERSEDED, ..self };
        never.refuse();
        never
    }

    /// A decision as that of a request that does not name the zone it should: nothing is known of it.
    #[inline]
    pub fn without_zone(self) -> Self {
        let mut refused = Self::allowed(self.limit).with_notes(Self::NO_ZONE);
        refused.refuse();
        refused
    }

    /// This decision with `next_ns`: the nanoseconds until one unit more than `remaining` would be allowed; 0 if there is
    /// no such time.
    #[inline]
    pub const fn with_next(self, next_ns: u64) -> Self {
        Self { next_ns, ..self }
    }

    /// This decision of a release, by which so many units came back.
    #[inline]
    pub const fn with_given_back(self, given_back: u32) -> Self {
        Self { given_back, ..self }
    }

    /// This decision with these [`notes`](Self::notes).
    #[inline]
    pub const fn with_notes(self, notes: u32) -> Self {
        Self { notes, ..self }
    }

    /// A decision with these fields, for one that another process sent, or for a test.
    ///
    /// In a denial, a `retry_after_ns` of [`NEVER`](Self::NEVER) means that the wait is not known; no limiter makes such a
    /// denial. For [`Outcome::Never`] and [`Outcome::ClockRange`], `retry_after_ns` is always `NEVER`, whatever is passed.
    #[inline]
    pub const fn new(
        outcome: Outcome,
        limit: u64,
        remaining: u64,
        retry_after_ns: u64,
        reset_after_ns: u64,
        delay_ns: u64,
        layer: u32,
    ) -> Self {
        let retry_after_ns = match outcome {
            Outcome::Never | Outcome::ClockRange => Self::NEVER,
            Outcome::Allowed | Outcome::Denied | Outcome::Asked => retry_after_ns,
        };
        let limited = Self::allowed(limit);
        Self { remaining, retry_after_ns, reset_after_ns, delay_ns, outcome, layer, ..limited }
    }

    /// How the request was decided.
    #[inline]
    pub const fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Whether the request may go.
    #[must_use]
    #[inline]
    pub const fn is_allowed(&self) -> bool {
        matches!(self.outcome, Outcome::Allowed)
    }

    /// The most units that can pass at one instant: the capacity of the policy or, if it has several layers, of
    /// [`layer`](Self::layer).
    #[must_use]
    #[inline]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The number of the layer with the least [`remaining`](Self::remaining); among equals, of the one that is reset last.
    /// This is the layer to name to a refused client. Counted from 0; a single layer is 0.
    #[must_use]
    #[inline]
    pub const fn layer(&self) -> usize {
        self.layer as usize
    }

    /// Units that would be allowed at this same instant, after this decision.
    #[must_use]
    #[inline]
    pub const fn remaining(&self) -> u64 {
        self.remaining
    }

    /// The time until the same request would be allowed, with no other traffic on the key. It is exact: 1 ns earlier the
    /// request is still denied. Zero if it was allowed. `None` if it can never be allowed, or if a decision made by
    /// [`new`](Self::new) does not have the time. A time longer than 2^64 - 2 ns is reported as that.
    ///
    /// It is exact by the limiter's own clock, which is up to about a microsecond behind CLOCK_MONOTONIC, or behind by
    /// 0.2 % of a preemption if another thread was preempted while it measured the clocks. So a wait of exactly this time
    /// by another clock may end that much too early. The limiter's clock is never ahead of CLOCK_MONOTONIC, except by up
    /// to 30 us while chronyd slews the clock by more than 0.17 %.
    #[must_use]
    #[inline]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self.retry_after_ns {
            Self::NEVER => None,
            ns => Some(Duration::from_nanos(ns)),
        }
    }

    /// [`retry_after`](Self::retry_after) in nanoseconds, [`NEVER`](Self::NEVER) for `None`.
    #[must_use]
    #[inline]
    pub const fn retry_after_ns(&self) -> u64 {
        self.retry_after_ns
    }

    /// The time until the key is as good as never used.
    #[must_use]
    #[inline]
    pub const fn reset_after(&self) -> Duration {
        Duration::from_nanos(self.reset_after_ns)
    }

    /// [`reset_after`](Self::reset_after) in nanoseconds.
    #[must_use]
    #[inline]
    pub const fn reset_after_ns(&self) -> u64 {
        self.reset_after_ns
    }

    /// The time to hold the allowed request before it goes on: zero except for a `leaky_queue`. For a request refused
    /// [within](crate::Request::within) a delay, the delay that it would get at the first instant at which the policy
    /// alone admits it.
    #[must_use]
    #[inline]
    pub const fn delay(&self) -> Duration {
        Duration::from_nanos(self.delay_ns)
    }

    /// [`delay`](Self::delay) in nanoseconds.
    #[must_use]
    #[inline]
    pub const fn delay_ns(&self) -> u64 {
        self.delay_ns
    }

    /// The time until one unit more than [`remaining`](Self::remaining) would be allowed, with no other traffic on the
    /// key. `None` if there is no such time, or if the request did not [ask](crate::Request::with_next) for it.
    #[must_use]
    #[inline]
    pub const fn next_after(&self) -> Option<Duration> {
        match self.next_ns {
            0 => None,
            ns => Some(Duration::from_nanos(ns)),
        }
    }

    /// [`next_after`](Self::next_after) in nanoseconds, 0 for `None`.
    #[must_use]
    #[inline]
    pub const fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The units that a release gave back; 0 for every other request.
    #[must_use]
    #[inline]
    pub const fn given_back(&self) -> u32 {
        self.given_back
    }

    /// Further facts, one bit each: [`NO_PLACE`](Self::NO_PLACE), [`LEASED`](Self::LEASED),
    /// [`UNANSWERED`](Self::UNANSWERED), [`NO_ZONE`](Self::NO_ZONE).
    #[must_use]
    #[inline]
    pub const fn notes(&self) -> u32 {
        self.notes
    }

    /// Whether the request was denied because the full table had no place for the key, not by the policy.
    #[must_use]
    #[inline]
    pub const fn is_without_place(&self) -> bool {
        self.notes & Self::NO_PLACE != 0
    }

    /// Whether `remaining` and the times are what this machine alone knows: see [`LEASED`](Self::LEASED).
    #[must_use]
    #[inline]
    pub const fn is_leased(&self) -> bool {
        self.notes & Self::LEASED != 0
    }

    /// Whether a store that did not answer left the decision to `on_failure` or `on_miss`: see
    /// [`UNANSWERED`](Self::UNANSWERED).
    #[must_use]
    #[inline]
    pub const fn is_unanswered(&self) -> bool {
        self.notes & Self::UNANSWERED != 0
    }

    /// Whether the request was refused for its zone, or for having none: see [`NO_ZONE`](Self::NO_ZONE).
    #[must_use]
    #[inline]
    pub const fn is_without_zone(&self) -> bool {
        self.notes & Self::NO_ZONE != 0
    }
}

/// [`Outcome::Never`] with a limit of 0: the content of a slice of decisions before it is filled.
impl Default for Decision {
    #[inline]
    fn default() -> Self {
        Self::allowed(0).never()
    }
}
