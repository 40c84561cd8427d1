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
use crate::algorithm::{
    Plan, Resolved, SPECS, Spec, fixed_window, gcra, in_flight, sliding_log, sliding_window, token_bucket,
};
use crate::error::{PolicyError, PolicyErrorKind as Kind};

mod divide;
mod generation;
mod parse;
mod print;

pub use generation::{ChangeError, Generation};

const MAX_LAYERS: usize = 8;

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
/// | `in_flight LIMIT` | `hold=DURATION`; without a period |
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
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    form: &'static Spec,
    params: Params,
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
        Self::packed(form, params, LayoutChoice::Tight)
    }

    fn packed(form: &'static Spec, params: Params, pack: LayoutChoice) -> Result<Self, PolicyError> {
        let (plan, resolved) = (form.resolve)(&params, pack)?;
        Ok(Self { form, params, plan, resolved })
    }

    /// The same layer with its words packed as `pack`.
    fn repacked(&self, pack: LayoutChoice) -> Result<Self, PolicyError> {
        Self::packed(self.form, self.params, pack)
    }

    /// The algorithm, ready to decide.
    pub fn plan(&self) -> Plan {
        self.plan
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

    /// `limit` units in each window.
    pub fn fixed_window(limit: u32, window: Duration) -> PolicyBuilder<FixedWindow> {
        PolicyBuilder::new(&fixed_window::FIXED_WINDOW, limit, window, Params::default())
    }

    /// At most `limit` units in flight at once. What is not released comes back by itself after more than `hold`, and at most
    /// twice that.
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
            match *policy.layers {
                [layer] => layers.push(layer),
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
