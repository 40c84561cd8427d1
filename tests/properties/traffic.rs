//! Random traffic: when the clock is read, and what is asked for.

use core::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use ratecell::Decision;

use crate::policies::Accepted;

/// How the clock goes on from the request before. Shares are 64ths.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tick {
    Same,
    OneOn,
    /// On by a share of the period.
    Periods(u64),
    /// On by a share of what one unit takes.
    Units(u64),
    /// To the next multiple of the period, or 1 ns beside it.
    Edge(i8),
    /// To the instant that the last decision named for a retry, or 1 ns beside it.
    Retry(i8),
    /// To the instant of the last decision's reset, or 1 ns beside it.
    Reset(i8),
    /// Back by a share of the period.
    Back(u64),
    OneBack,
}

/// How many units are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Few(u32),
    /// A share of the capacity, in 64ths.
    Share(u32),
    /// More than the capacity, by this much.
    TooMany(u32),
}

#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) tick: Tick,
    pub(crate) ask: Ask,
    pub(crate) key: u8,
}

/// On one line, for a least failing case has many.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tick, ask, key } = self;
        f.write_fmt(format_args!("{tick:?}, {ask:?} of key {key}"))
    }
}

/// Where the clock starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    At(u64),
    /// This many periods before the last instant of the policy.
    BeforeTheEnd(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    pub(crate) origin: Origin,
    pub(crate) requests: Vec<Request>,
}

/// Whether the clock may step back.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Steps {
    Forward,
    Both,
}

/// Keys are 0 to 2.
pub(crate) fn traffic(steps: Steps, longest: usize) -> impl Strategy<Value = Traffic> {
    traffic_of(vec(request(steps), 1..=longest))
}

/// Of many keys, most of them at one instant, and of few periods.
pub(crate) fn crowd(steps: Steps, keys: u8, requests: usize) -> impl Strategy<Value = Traffic> {
    let backwards = if steps == Steps::Both { 2 } else { 0 };
    let pace = (0..40 + backwards, 0..64_u64, -1..=1_i8);
    let request = (request(steps), pace, 0..keys).prop_map(|(request, (kind, share, beside), key)| {
        let tick = match kind {
            0..32 => Tick::Same,
            32..34 => Tick::Periods(share),
            34..36 => Tick::Units(share),
            36..38 => Tick::Edge(beside),
            38..40 => Tick::OneOn,
            40 => Tick::Back(2 * share),
            _ => Tick::OneBack,
        };
        Request { tick, key, ..request }
    });
    traffic_of(vec(request, requests / 2..=requests))
}

fn traffic_of(requests: impl Strategy<Value = Vec<Request>>) -> impl Strategy<Value = Traffic> {
    let origin = prop_oneof![
        1 => Just(Origin::At(0)),
        2 => (0..1_u64 << 20).prop_map(Origin::At),
        4 => (0..1_u64 << 53).prop_map(Origin::At),
        1 => (0..40_u64).prop_map(Origin::BeforeTheEnd),
    ];
    (origin, requests).prop_map(|(origin, requests)| Traffic { origin, requests })
}

fn request(steps: Steps) -> impl Strategy<Value = Request> {
    let backwards = if steps == Steps::Both { 2 } else { 0 };
    // One number chooses the tick and its size: a union of strategies is much slower to draw from.
    let tick = (0..16 + backwards, 0..192_u64, -1..=1_i8).prop_map(|(kind, share, beside)| match kind {
        0..4 => Tick::Same,
        4 => Tick::OneOn,
        5..8 => Tick::Periods(share),
        8..11 => Tick::Units(share),
        11 => Tick::Edge(beside),
        12..15 => Tick::Retry(beside),
        15 => Tick::Reset(beside),
        16 => Tick::Back(share),
        _ => Tick::OneBack,
    });
    let ask = (0..16, 0..=64_u32).prop_map(|(kind, share)| match kind {
        0 => Ask::Few(0),
        1..8 => Ask::Few(1),
        8..10 => Ask::Few(2 + share % 3),
        10..15 => Ask::Share(share),
        _ => Ask::TooMany(1 + share),
    });
    (tick, ask, 0..3_u8).prop_map(|(tick, ask, key)| Request { tick, ask, key })
}

impl Ask {
    pub(crate) fn cost(self, capacity: u32) -> u32 {
        match self {
            Self::Few(units) => units,
            Self::Share(share) => (u64::from(capacity) * u64::from(share) / 64) as u32,
            Self::TooMany(more) => capacity.saturating_add(more),
        }
    }
}

/// A clock that reads what the traffic says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: u64,
    /// The clock stops here.
    end: u64,
    period: u64,
    unit: u64,
}

impl Clock {
    /// A clock that does not pass the last instant of the policy.
    pub(crate) fn new(accepted: &Accepted, origin: Origin) -> Self {
        let periods = accepted.layers.iter().map(|layer| layer.period_ns);
        let period = periods.max().unwrap_or(1);
        let units = accepted.layers.iter().map(|layer| layer.period_ns.div_ceil(u64::from(layer.limit)));
        let end = accepted.policy.max_now_ns();
        let now = match origin {
            Origin::At(now) => now.min(end),
            Origin::BeforeTheEnd(periods) => end.saturating_sub(period.saturating_mul(periods)),
        };
        Self { now, end, period, unit: units.min().unwrap_or(1) }
    }

    /// The same clock, past that instant too.
    pub(crate) fn unlimited(self) -> Self {
        Self { end: u64::MAX, ..self }
    }

    /// Reads the clock; `last` is the decision before.
    pub(crate) fn tick(&mut self, tick: Tick, last: &Decision) -> u64 {
        let share = |of: u64, share: u64| (u128::from(of) * u128::from(share) / 64) as u64;
        let on = |ns: u64| self.now.saturating_add(ns);
        let now = match tick {
            Tick::Same => self.now,
            Tick::OneOn => on(1),
            Tick::Periods(periods) => on(share(self.period, periods)),
            Tick::Units(units) => on(share(self.unit, units)),
            Tick::Edge(beside) => {
                on(self.period - self.now % self.period).saturating_add_signed(beside.into())
            }
            Tick::Retry(beside) => match last.retry_after() {
                Some(_) => on(last.retry_after_ns()).saturating_add_signed(beside.into()),
                None => self.now,
            },
            Tick::Reset(beside) => on(last.reset_after_ns()).saturating_add_signed(beside.into()),
            Tick::Back(periods) => self.now.saturating_sub(share(self.period, periods)),
            Tick::OneBack => self.now.saturating_sub(1),
        };
        let is_back = matches!(tick, Tick::Back(_) | Tick::OneBack);
        // 1 ns before where the clock is already would be a step back.
        self.now = if is_back { now } else { now.max(self.now) }.min(self.end);
        self.now
    }
}
