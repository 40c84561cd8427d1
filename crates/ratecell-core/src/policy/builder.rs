//! Policies by typed constructors.

use alloc::vec;
use core::marker::PhantomData;
use core::time::Duration;

use super::{Layer, Policy};
use crate::algorithm::params::{Mode, Params, Start};
use crate::algorithm::{
    Spec, calendar_window, fixed_window, gcra, in_flight, sliding_log, sliding_window, token_bucket, words,
};
use crate::error::PolicyError;
#[cfg(doc)]
use crate::error::PolicyErrorKind as Kind;
use crate::zone::{Period, Weekday};

impl Policy {
    /// `limit` units in each `period`, evenly; up to `burst` at once (default: the limit).
    pub fn gcra(limit: u32, period: Duration) -> PolicyBuilder<Gcra> {
        PolicyBuilder::new(&gcra::GCRA, limit, period, Params::default())
    }

    /// A bucket of `capacity` tokens, with `refill` tokens added in each `interval`.
    pub fn token_bucket(refill: u32, interval: Duration, capacity: u32) -> PolicyBuilder<TokenBucket> {
        let params = Params { capacity: Some(u64::from(capacity)), ..Params::default() };
        PolicyBuilder::new(&token_bucket::TOKEN_BUCKET, refill, interval, params)
    }

    /// A bucket that holds `capacity` units, of which `leak` leak out in each `period`.
    pub fn leaky_meter(leak: u32, period: Duration, capacity: u32) -> PolicyBuilder<LeakyMeter> {
        let params = Params { capacity: Some(u64::from(capacity)), ..Params::default() };
        PolicyBuilder::new(&gcra::LEAKY_METER, leak, period, params)
    }

    /// A queue of `queue` units, of which `leak` are released in each `period`. An allowed request waits for its
    /// [`Decision::delay`](crate::Decision::delay).
    pub fn leaky_queue(leak: u32, period: Duration, queue: u32) -> PolicyBuilder<LeakyQueue> {
        let params = Params { queue: Some(u64::from(queue)), ..Params::default() };
        PolicyBuilder::new(&gcra::LEAKY_QUEUE, leak, period, params)
    }

    /// `limit` units by the weighted count of the last two windows.
    pub fn sliding_window(limit: u32, window: Duration) -> PolicyBuilder<SlidingWindow> {
        PolicyBuilder::new(&sliding_window::SLIDING_WINDOW, limit, window, Params::default())
    }

    /// `limit` units in any window, exactly, at 8 bytes a unit; `limit` at most 65,536.
    pub fn sliding_log(limit: u32, window: Duration) -> PolicyBuilder<SlidingLog> {
        PolicyBuilder::new(&sliding_log::SLIDING_LOG, limit, window, Params::default())
    }

    /// `limit` units in each `period` of the calendar in the time zone `tz`: a name of the time zone database, such as
    /// `Europe/Berlin`, `UTC`, or a fixed offset such as `+05:30`. With `caller`, each [request](crate::Request::zone) names
    /// its zone; such a policy is no layer of several.
    ///
    /// # Errors
    /// [`BadZone`](Kind::BadZone) if there is no such zone.
    ///
    /// ```
    /// use ratecell::{Period, Policy};
    ///
    /// let policy = Policy::calendar_window(1_000, Period::Month, "Europe/Berlin")?.day(15).build()?;
    /// assert_eq!(policy.to_string(), "calendar_window 1000/month tz=Europe/Berlin day=15");
    /// # Ok::<(), ratecell::PolicyError>(())
    /// ```
    pub fn calendar_window(
        limit: u32,
        period: Period,
        tz: &str,
    ) -> Result<PolicyBuilder<CalendarWindow>, PolicyError> {
        let params = Params { tz: Some(words::zone_named(tz)?), span: Some(period), ..Params::default() };
        let longest = Duration::from_secs(period.days() * 86_400);
        Ok(PolicyBuilder::new(&calendar_window::CALENDAR_WINDOW, limit, longest, params))
    }

    /// `limit` units in each window.
    pub fn fixed_window(limit: u32, window: Duration) -> PolicyBuilder<FixedWindow> {
        PolicyBuilder::new(&fixed_window::FIXED_WINDOW, limit, window, Params::default())
    }

    /// At most `limit` units in flight at once. What is not released comes back by itself after more than `hold`, and at most
    /// twice that; what a limiter's check admits is never released. An owner of words releases it by
    /// [`InFlight::release`](crate::algorithm::InFlight::release).
    pub fn in_flight(limit: u32, hold: Duration) -> PolicyBuilder<InFlight> {
        let params = Params { hold_ns: Some(nanoseconds(hold)), ..Params::default() };
        PolicyBuilder::new(&in_flight::IN_FLIGHT, limit, Duration::ZERO, params)
    }
}

macro_rules! algorithms {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])* #[derive(Clone, Copy, Debug)] pub enum $name {})+
    };
}

algorithms! {
    /// Marks a [`PolicyBuilder`] of the generic cell rate algorithm.
    Gcra,
    /// Marks a [`PolicyBuilder`] of a token bucket.
    TokenBucket,
    /// Marks a [`PolicyBuilder`] of a leaky bucket as a meter.
    LeakyMeter,
    /// Marks a [`PolicyBuilder`] of a leaky bucket as a queue.
    LeakyQueue,
    /// Marks a [`PolicyBuilder`] of a sliding window counter.
    SlidingWindow,
    /// Marks a [`PolicyBuilder`] of a sliding log.
    SlidingLog,
    /// Marks a [`PolicyBuilder`] of a fixed window.
    FixedWindow,
    /// Marks a [`PolicyBuilder`] of windows of a calendar.
    CalendarWindow,
    /// Marks a [`PolicyBuilder`] of a limit of requests in flight.
    InFlight,
}

/// A policy of one layer under construction. `A` decides which options it has.
#[derive(Clone, Copy, Debug)]
#[must_use = "a builder is not a policy: call `build`"]
pub struct PolicyBuilder<A> {
    form: &'static Spec,
    params: Params,
    algorithm: PhantomData<A>,
}

/// Whole nanoseconds. A time above 584 years is cut to `u64::MAX`, which is out of range for every parameter.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl<A> PolicyBuilder<A> {
    fn new(form: &'static Spec, limit: u32, period: Duration, params: Params) -> Self {
        let params = Params { limit: u64::from(limit), period_ns: nanoseconds(period), ..params };
        Self { form, params, algorithm: PhantomData }
    }

    /// Treats a state that can only have been written later than now + `heal` as fresh. So a clock that is set back by more
    /// than `heal` locks no key out. Each such step of the clock may admit one extra burst a key.
    pub fn heal(mut self, heal: Duration) -> Self {
        self.params.heal_ns = Some(nanoseconds(heal));
        self
    }

    /// The time after its epoch for which a limiter must serve; default 9 years. A shorter horizon leaves more of the word
    /// for finer rates and larger counts.
    pub fn horizon(mut self, horizon: Duration) -> Self {
        self.params.horizon_ns = Some(nanoseconds(horizon));
        self
    }

    /// Builds the policy.
    ///
    /// # Errors
    /// A parameter is out of range, and the error names it; or the state does not fit a word for the horizon.
    pub fn build(self) -> Result<Policy, PolicyError> {
        Policy::of(vec![Layer::new(self.form, self.params)?])
    }
}

impl PolicyBuilder<Gcra> {
    /// The most units at one instant, in total. Default: the limit.
    pub fn burst(mut self, burst: u32) -> Self {
        self.params.burst = Some(u64::from(burst));
        self
    }
}

impl PolicyBuilder<LeakyQueue> {
    /// The units that go at once before the queue delays any. Default: 1.
    pub fn burst(mut self, burst: u32) -> Self {
        self.params.burst = Some(u64::from(burst));
        self
    }
}

impl PolicyBuilder<TokenBucket> {
    /// When the refill comes. Default: [`Mode::Continuous`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.params.mode = Some(mode);
        self
    }
}

impl PolicyBuilder<SlidingWindow> {
    /// Whether the estimate itself must never exceed the limit. A strict window admits one unit less when it is saturated.
    /// Default: no.
    pub fn strict(mut self, strict: bool) -> Self {
        self.params.strict = Some(strict);
        self
    }
}

impl PolicyBuilder<FixedWindow> {
    /// When a window opens. Default: [`Start::Aligned`].
    pub fn start(mut self, start: Start) -> Self {
        self.params.start = Some(start);
        self
    }

    /// Moves the aligned windows: they start at `offset` + k windows. The offset must be below the window. Default: 0.
    pub fn offset(mut self, offset: Duration) -> Self {
        self.params.offset_ns = Some(nanoseconds(offset));
        self
    }
}

impl PolicyBuilder<CalendarWindow> {
    /// The civil time at which windows begin. Default: midnight. A time that the zone's clocks skip is the first instant
    /// after it; of one that they show twice it is the first.
    pub fn at(mut self, hour: u8, minute: u8) -> Self {
        let minutes = u16::from(hour) * 60 + u16::from(minute);
        self.params.at = Some(if minute < 60 { minutes } else { u16::MAX });
        self
    }

    /// The first day of a week; for weeks only. Default: Monday.
    pub fn week(mut self, day: Weekday) -> Self {
        self.params.week = Some(day);
        self
    }

    /// The day of the month, or of the first month of the quarter or year, on which windows begin, from 1 to 31; for months,
    /// quarters and years only. In a month without it, it is the last day. Default: 1.
    pub fn day(mut self, day: u8) -> Self {
        self.params.day = Some(day);
        self
    }
}
