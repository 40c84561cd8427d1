//! The parameters of a policy layer, as they were said, and the checks that algorithms share.

use crate::error::{PolicyError, PolicyErrorKind as Kind};
use crate::zone::{Period, Tz, Weekday};
use alloc::format;

/// How long after its epoch a word serves by default: 9 Julian years.
pub(crate) const DEFAULT_HORIZON_NS: u64 = 9 * 31_557_600 * 1_000_000_000;

pub(crate) const MAX_PERIOD_NS: u64 = 1 << 62;

/// An option of the policy's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Burst,
    Capacity,
    Queue,
    Mode,
    Strict,
    Start,
    Offset,
    Tz,
    At,
    Week,
    Day,
    Hold,
    Heal,
    Horizon,
}

/// Options that every algorithm takes.
pub(crate) const COMMON_OPTIONS: [Key; 2] = [Key::Heal, Key::Horizon];

impl Key {
    /// The options of all algorithms.
    pub(crate) const ALL: [Key; 14] = [
        Key::Burst,
        Key::Capacity,
        Key::Queue,
        Key::Mode,
        Key::Strict,
        Key::Start,
        Key::Offset,
        Key::Tz,
        Key::At,
        Key::Week,
        Key::Day,
        Key::Hold,
        Key::Heal,
        Key::Horizon,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Key::Burst => "burst",
            Key::Capacity => "capacity",
            Key::Queue => "queue",
            Key::Mode => "mode",
            Key::Strict => "strict",
            Key::Start => "start",
            Key::Offset => "offset",
            Key::Tz => "tz",
            Key::At => "at",
            Key::Week => "week",
            Key::Day => "day",
            Key::Hold => "hold",
            Key::Heal => "heal",
            Key::Horizon => "horizon",
        }
    }
}

/// When an interval's refill comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Mode {
    /// Token by token, evenly: the same decisions as GCRA.
    #[default]
    Continuous,
    /// All at once, at every multiple of the interval since the epoch.
    Interval,
    /// All at once, at intervals from the allowed request that found the bucket full.
    IntervalFirst,
}

/// When a fixed window opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Start {
    /// At every multiple of the window since the epoch, moved by the offset.
    #[default]
    Aligned,
    /// At the first allowed request after the one before it closed.
    First,
}

/// The values of a flag, by name.
pub(crate) const FLAGS: [(&str, bool); 2] = [("true", true), ("false", false)];

impl Mode {
    pub(crate) const NAMES: [(&'static str, Mode); 3] = [
        ("continuous", Mode::Continuous),
        ("interval", Mode::Interval),
        ("interval_first", Mode::IntervalFirst),
    ];
}

impl Start {
    pub(crate) const NAMES: [(&'static str, Start); 2] =
        [("aligned", Start::Aligned), ("first", Start::First)];
}

/// One layer's parameters. `None` is what was not said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(crate) struct Params {
    pub limit: u64,
    /// Of a calendar: the longest of its span, where no clock is changed.
    pub period_ns: u64,
    /// Of a calendar.
    pub span: Option<Period>,
    pub burst: Option<u64>,
    pub capacity: Option<u64>,
    pub queue: Option<u64>,
    pub mode: Option<Mode>,
    pub strict: Option<bool>,
    pub start: Option<Start>,
    pub offset_ns: Option<u64>,
    pub tz: Option<Tz>,
    /// Minutes of the day.
    pub at: Option<u16>,
    pub week: Option<Weekday>,
    pub day: Option<u8>,
    pub hold_ns: Option<u64>,
    pub heal_ns: Option<u64>,
    pub horizon_ns: Option<u64>,
}

/// The value of an option, to be read or set by its kind.
#[derive(Debug)]
pub(crate) enum Field<'a> {
    Units(&'a mut Option<u64>),
    DurationNs(&'a mut Option<u64>),
    Flag(&'a mut Option<bool>),
    Mode(&'a mut Option<Mode>),
    Start(&'a mut Option<Start>),
    Tz(&'a mut Option<Tz>),
    Time(&'a mut Option<u16>),
    Weekday(&'a mut Option<Weekday>),
    Day(&'a mut Option<u8>),
}

fn units(value: u64, zero: Kind, name: &str) -> Result<u32, PolicyError> {
    let kind = if value == 0 { zero } else { Kind::Range };
    let units = u32::try_from(value).ok().filter(|units| *units > 0);
    units.ok_or_else(|| PolicyError::new(kind, format!("{name} is {value}: expected 1 to {}", u32::MAX)))
}

fn period(ns: u64, name: &str) -> Result<u64, PolicyError> {
    match ns {
        0 => Err(PolicyError::new(Kind::ZeroPeriod, format!("{name} is 0: expected at least 1ns"))),
        ns if ns > MAX_PERIOD_NS => Err(PolicyError::new(
            Kind::Range,
            format!("{name} is {ns}ns: expected at most {MAX_PERIOD_NS}ns"),
        )),
        ns => Ok(ns),
    }
}

/// The name by which an error of the limit is placed, whatever the algorithm calls it.
pub(crate) const LIMIT: &str = "limit";
/// The same of the period.
pub(crate) const PERIOD: &str = "period";

impl Params {
    pub(crate) fn field(&mut self, key: Key) -> Field<'_> {
        match key {
            Key::Burst => Field::Units(&mut self.burst),
            Key::Capacity => Field::Units(&mut self.capacity),
            Key::Queue => Field::Units(&mut self.queue),
            Key::Mode => Field::Mode(&mut self.mode),
            Key::Strict => Field::Flag(&mut self.strict),
            Key::Start => Field::Start(&mut self.start),
            Key::Offset => Field::DurationNs(&mut self.offset_ns),
            Key::Tz => Field::Tz(&mut self.tz),
            Key::At => Field::Time(&mut self.at),
            Key::Week => Field::Weekday(&mut self.week),
            Key::Day => Field::Day(&mut self.day),
            Key::Hold => Field::DurationNs(&mut self.hold_ns),
            Key::Heal => Field::DurationNs(&mut self.heal_ns),
            Key::Horizon => Field::DurationNs(&mut self.horizon_ns),
        }
    }

    /// The limit, under the name the algorithm has for it.
    pub(crate) fn limit(&self, name: &str) -> Result<u32, PolicyError> {
        units(self.limit, Kind::ZeroLimit, name).map_err(|error| error.about(LIMIT))
    }

    /// The period in nanoseconds, under the name the algorithm has for it.
    pub(crate) fn period(&self, name: &str) -> Result<u64, PolicyError> {
        period(self.period_ns, name).map_err(|error| error.about(PERIOD))
    }

    /// How long a permit is held, which the algorithms that have permits require.
    pub(crate) fn hold(&self) -> Result<u64, PolicyError> {
        let name = Key::Hold.name();
        match self.hold_ns {
            Some(ns) => period(ns, name).map_err(|error| error.about(name)),
            None => Err(PolicyError::new(Kind::MissingParameter, "hold is missing: expected hold=DURATION")),
        }
    }

    /// An optional total of units, such as a burst.
    pub(crate) fn units_or(
        &self,
        value: Option<u64>,
        default: u32,
        name: &'static str,
    ) -> Result<u32, PolicyError> {
        let said = value.map(|value| units(value, Kind::ZeroCapacity, name));
        said.unwrap_or(Ok(default)).map_err(|error| error.about(name))
    }

    /// The capacity, which the algorithms that have one require.
    pub(crate) fn capacity(&self) -> Result<u32, PolicyError> {
        match self.capacity {
            Some(_) => self.units_or(self.capacity, 0, Key::Capacity.name()),
            None => {
                Err(PolicyError::new(Kind::MissingParameter, "capacity is missing: expected capacity=UNITS"))
            }
        }
    }

    pub(crate) fn horizon(&self) -> Result<u64, PolicyError> {
        match self.horizon_ns.unwrap_or(DEFAULT_HORIZON_NS) {
            0 => {
                let error = PolicyError::new(Kind::Range, "horizon is 0: expected at least 1ns");
                Err(error.about(Key::Horizon.name()))
            }
            ns => Ok(ns),
        }
    }

    /// Refuses a word that would run out before the horizon.
    pub(crate) fn reaches_horizon(&self, max_now: u64, what: &str) -> Result<(), PolicyError> {
        let horizon = self.horizon()?;
        if max_now < horizon {
            return Err(PolicyError::new(
                Kind::Range,
                format!(
                    "{what} does not fit a 64-bit word for {horizon}ns: expected a smaller limit, a longer period or a shorter horizon"
                ),
            ));
        }
        Ok(())
    }
}
