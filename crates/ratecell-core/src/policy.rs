//! Policies. They are built by typed constructors or from text, and checked when they are built.

use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::time::Duration;

use crate::algorithm::LayoutChoice;
use crate::algorithm::params::{Mode, Params, Start};
use crate::algorithm::words;
use crate::algorithm::{
    Plan, Resolved, SPECS, Spec, calendar_window, fixed_window, gcra, in_flight, sliding_log, sliding_window,
    token_bucket,
};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::zone::{Period, Weekday};

mod divide;
mod generation;
mod parse;
mod print;

pub use generation::{ChangeError, Generation};

const MAX_LAYERS: usize = 8;

/// The epoch of a policy that no limiter has given its own: 2026-01-05, a Monday.
const DEFAULT_EPOCH: i64 = 1_767_571_200;

/// The rule of a limiter: one algorithm with its parameters, or up to eight of them, which must all allow a request.
///
/// A policy is made by a constructor and [`build`](PolicyBuilder::build), or from text:
///
/// ```text
/// [algorithm] LIMIT/PERIOD [option=value]... [& layer]...
/// ```
///
/// Without an algorithm it is `gcra`. LIMIT is a whole number from 1 to 2^32-1. PERIOD is a unit, `ns us ms s m h d w`,
/// with an optional whole number before it (`/s` is `/1s`), up to 2^62 ns. Other common spellings are accepted:
/// `100/minute`, `100 per 2 hours`, `10r/s`, `1_000 / s`, and for a rate `0.5/s`, which is exactly `1/2s`. `Display`
/// prints one canonical form. The [definition] has the whole grammar.
///
/// | algorithm | options |
/// | --- | --- |
/// | `gcra` | `burst=UNITS`, the total that can pass at one instant (default: the limit) |
/// | `token_bucket` | `capacity=UNITS`, `mode=continuous` (default), `interval` or `interval_first` |
/// | `leaky_meter` | `capacity=UNITS` |
/// | `leaky_queue` | `queue=UNITS`, `burst=UNITS` (default 1) |
/// | `sliding_window` | `strict=true` |
/// | `sliding_log` | |
/// | `fixed_window` | `start=aligned` (default) or `first`, `offset=DURATION` |
/// | `calendar_window` | `tz=ZONE` (required), `at=HH:MM`, `week=monday` to `sunday`, `day=1` to `31` |
/// | `in_flight` | `hold=DURATION` (required); the limit has no period |
/// | all | `heal=DURATION`, `horizon=DURATION` |
///
/// ```
/// use ratecell::Policy;
/// use std::time::Duration;
///
/// let text: Policy = "100/s burst=200".parse()?;
/// let built = Policy::gcra(100, Duration::from_secs(1)).burst(200).build()?;
/// assert_eq!(text, built);
/// assert_eq!(text.to_string(), "100/s burst=200");
/// assert_eq!(format!("{text:?}"), r#"Policy("100/s burst=200")"#);
///
/// let layers: Policy = "10/s burst=20 & sliding_window 1000/1h & fixed_window 10000/1d".parse()?;
/// assert_eq!(layers.resolved().count(), 3);
///
/// let words: Policy = "10 per 2 hours".parse()?;
/// assert_eq!(words.to_string(), "10/2h");
///
/// let error = "10/s brust=20".parse::<Policy>().unwrap_err();
/// assert_eq!(error.to_string(), "syntax at column 6: gcra has no option `brust`: expected burst, heal, horizon");
/// # Ok::<(), ratecell::PolicyError>(())
/// ```
///
/// Two policies are equal if their canonical forms are: `3/s` and `3/s burst=3` decide alike, but are not equal.
///
/// [definition]: https://github.com/ratecell/ratecell/blob/main/vectors/README.md#grammar
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Policy {
    /// At least one, at most [`MAX_LAYERS`].
    layers: Vec<Layer>,
}

/// One algorithm with its parameters, as they were given and as they decide.
#[derive(Clone, Debug)]
pub struct Layer {
    form: &'static Spec,
    params: Params,
    packing: LayoutChoice,
    /// The epoch that windows of a calendar are counted from, in seconds since 1970.
    epoch: i64,
    plan: Plan,
    resolved: Resolved,
}

impl PartialEq for Layer {
    fn eq(&self, other: &Self) -> bool {
        self.form.name == other.form.name && self.params == other.params
    }
}

impl Eq for Layer {}

impl Hash for Layer {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.form.name, self.params).hash(state);
    }
}

impl Layer {
    fn new(form: &'static Spec, params: Params) -> Result<Self, PolicyError> {
        Self::packed(form, params, LayoutChoice::Tight, DEFAULT_EPOCH)
    }

    fn packed(
        form: &'static Spec,
        params: Params,
        packing: LayoutChoice,
        epoch: i64,
    ) -> Result<Self, PolicyError> {
        let (plan, resolved) = (form.resolve)(&params, packing, epoch)?;
        Ok(Self { form, params, packing, epoch, plan, resolved })
    }

    /// The same layer with its words packed as `packing`.
    fn repacked(&self, packing: LayoutChoice) -> Result<Self, PolicyError> {
        Self::packed(self.form, self.params, packing, self.epoch)
    }

    /// The same layer by that epoch, which matters only where there is a calendar.
    fn at_epoch(&self, epoch: i64) -> Result<Self, PolicyError> {
        if self.params.span.is_none() || epoch == self.epoch {
            return Ok(Self { epoch, ..self.clone() });
        }
        Self::packed(self.form, self.params, self.packing, epoch)
    }

    /// The algorithm, ready to decide.
    pub fn plan(&self) -> Plan {
        self.plan.clone()
    }

    /// Units in each period, and the period in nanoseconds.
    pub fn rate(&self) -> (u64, u64) {
        (self.params.limit, self.params.period_ns)
    }

    /// The most units that can pass at one instant.
    pub fn capacity(&self) -> u64 {
        self.resolved.capacity
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print::layer(f, self.form, &self.params)
    }
}

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
    /// `Europe/Berlin`, `UTC`, or a fixed offset such as `+05:30`.
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

    /// All of `policies` at once: a request is charged to every one of them, or to none.
    ///
    /// # Errors
    /// [`BadLayers`](Kind::BadLayers) if there are no policies or more than eight, or if one has several layers itself.
    pub fn all(policies: impl IntoIterator<Item = Policy>) -> Result<Policy, PolicyError> {
        let mut layers = Vec::new();
        for policy in policies {
            match &*policy.layers {
                [layer] => layers.push(layer.clone()),
                _ => {
                    return Err(PolicyError::new(
                        Kind::BadLayers,
                        format!("`{policy}` has layers: expected one"),
                    ));
                }
            }
        }
        Self::of(layers)
    }

    fn of(layers: Vec<Layer>) -> Result<Policy, PolicyError> {
        match layers.len() {
            1..=MAX_LAYERS => Ok(Policy { layers }),
            count => {
                Err(PolicyError::new(Kind::BadLayers, format!("{count} layers: expected 1 to {MAX_LAYERS}")))
            }
        }
    }

    /// The parameters of each layer as they decide, in order.
    pub fn resolved(&self) -> impl Iterator<Item = Resolved> + '_ {
        self.layers.iter().map(|layer| layer.resolved)
    }

    /// The most units that can pass at one instant: the least capacity of the layers.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.resolved().map(|layer| layer.capacity).min().unwrap_or(0)
    }

    /// The last `now` at which a request can be decided, in nanoseconds since the epoch: the least of the layers.
    #[must_use]
    pub fn max_now_ns(&self) -> u64 {
        self.resolved().map(|layer| layer.max_now_ns).min().unwrap_or(0)
    }

    /// The same policy with the words of each layer packed as `pack` returns for its number.
    pub fn repacked(&self, pack: impl Fn(usize) -> LayoutChoice) -> Result<Self, PolicyError> {
        let layers = self.layers.iter().enumerate();
        let layers = layers.map(|(number, layer)| layer.repacked(pack(number)));
        Ok(Self { layers: layers.collect::<Result<_, _>>()? })
    }

    /// The same policy for a limiter whose epoch is so many seconds after 1970, or before it: windows of a calendar are
    /// counted from there. A policy is made with the epoch 2026-01-05; a limiter gives it its own.
    ///
    /// # Errors
    /// [`Range`](Kind::Range): from that epoch the windows do not fit a word, or the years end.
    pub fn at_epoch(&self, unix_s: i64) -> Result<Self, PolicyError> {
        let layers = self.layers.iter().map(|layer| layer.at_epoch(unix_s));
        Ok(Self { layers: layers.collect::<Result<_, _>>()? })
    }

    /// The epoch that windows of a calendar are counted from, in seconds since 1970.
    #[must_use]
    pub fn epoch(&self) -> i64 {
        self.layers.first().map_or(DEFAULT_EPOCH, |layer| layer.epoch)
    }

    /// The [`boundary_digest`](Resolved::boundary_digest) of all layers with a calendar together; `None` without one.
    #[must_use]
    pub fn boundary_digest(&self) -> Option<u64> {
        let digests = self.layers.iter().filter_map(|layer| layer.resolved.boundary_digest);
        digests.reduce(|all, digest| all.rotate_left(1) ^ digest)
    }

    /// The layers, in order: at least one.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
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

fn form(name: &str) -> Option<&'static Spec> {
    SPECS.into_iter().find(|form| form.name == name)
}

impl core::str::FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        parse::policy(text)
    }
}

impl fmt::Debug for Policy {
    /// Prints the policy as text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Policy({:?})", self.to_string())
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, layer) in self.layers.iter().enumerate() {
            if index > 0 {
                f.write_str(" & ")?;
            }
            write!(f, "{layer}")?;
        }
        Ok(())
    }
}
