//! Policies. They are built by typed constructors or from text, and checked when they are built.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::algorithm::LayoutChoice;
use crate::algorithm::params::Params;
use crate::algorithm::words;
use crate::algorithm::{CallerWindow, Kernel, Plan, Resolved, SPECS, Spec};
use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::zone::Zone;

mod beside;
mod builder;
mod divide;
mod generation;
mod parse;
mod print;

pub use builder::{
    CalendarWindow, FixedWindow, Gcra, InFlight, LeakyMeter, LeakyQueue, PolicyBuilder, SlidingLog,
    SlidingWindow, TokenBucket,
};
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
/// | `calendar_window` | `tz=ZONE` (required; caller: the zone that each request names), `at=HH:MM`, `week=monday` to `sunday`, `day=1` to `31` |
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
        Self::packed(form, params, LayoutChoice::TIGHT, DEFAULT_EPOCH)
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

    fn caller_window(&self) -> Option<&CallerWindow> {
        match &self.plan {
            Plan::Word(Kernel::CallerWindow(window)) => Some(window),
            _ => None,
        }
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
    /// All of `policies` at once: a request is charged to every one of them, or to none.
    ///
    /// # Errors
    /// [`BadLayers`](Kind::BadLayers) if there are no policies or more than eight, or if one has several layers itself.
    pub fn all(policies: impl IntoIterator<Item = Policy>) -> Result<Policy, PolicyError> {
        let mut layers = Vec::new();
        for policy in policies {
            match &*policy.layers {
                [layer] if layer.caller_window().is_some() => return Err(zone_of_layers()),
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
            2.. if layers.iter().any(|layer| layer.caller_window().is_some()) => Err(zone_of_layers()),
            1..=MAX_LAYERS => Ok(Policy { layers }),
            count => {
                Err(PolicyError::new(Kind::BadLayers, format!("{count} layers: expected 1 to {MAX_LAYERS}")))
            }
        }
    }

    /// Whether each request has to name its zone: `tz=caller`.
    #[must_use]
    pub fn asks_for_zone(&self) -> bool {
        self.caller_window().is_some()
    }

    /// The zone of this name, ready for requests to a limiter of this policy, which has `tz=caller`. Its windows count from
    /// the epoch of the policy: a limiter has a method of the same name, which is by its own.
    ///
    /// # Errors
    /// [`BadZone`](Kind::BadZone): there is no such zone, or the policy names its zone itself.
    pub fn zone(&self, name: &str) -> Result<Zone, PolicyError> {
        match self.caller_window() {
            Some(window) => window.zone(words::zone_named(name)?),
            None => {
                let message =
                    format!("`{self}` takes no zone of a request: expected a policy with tz=caller");
                Err(PolicyError::new(Kind::BadZone, message))
            }
        }
    }

    /// Whether a request can name this zone: the policy has `tz=caller`, and the zone is one of its calendar.
    #[must_use]
    pub fn takes_zone(&self, zone: &Zone) -> bool {
        self.caller_window().is_some_and(|window| window.takes(zone))
    }

    fn caller_window(&self) -> Option<&CallerWindow> {
        self.layers.first().and_then(Layer::caller_window)
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

    /// The same policy with room for words of the greatest capacities of `reach`, one for each layer.
    fn reaching(&self, reach: &[u32]) -> Result<Self, PolicyError> {
        let of_layer = |number: usize| reach.get(number).copied().unwrap_or(0);
        let layers = self.layers.iter().enumerate();
        let layers = layers.map(|(number, layer)| layer.repacked(layer.packing.reaching(of_layer(number))));
        Ok(Self { layers: layers.collect::<Result<_, _>>()? })
    }

    /// The same policy, whose words will be packed by the choices of `other`.
    fn packed_as(self, other: &Self) -> Self {
        let layers = self.layers.into_iter().zip(&other.layers);
        let layers = layers.map(|(layer, other)| Layer { packing: other.packing, ..layer });
        Self { layers: layers.collect() }
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

fn zone_of_layers() -> PolicyError {
    PolicyError::new(Kind::BadLayers, "a layer has tz=caller: expected it in a policy by itself")
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
