//! What the algorithms have in common, and which is a layer's.

use ratecell::Mode;

use super::buckets::{Interval, IntervalFirst};
use super::gcra::Gcra;
use super::windows::{CalendarDays, FixedWindow, FixedWindowFirst, InFlight, SlidingLog, SlidingWindow};
use crate::policies::{Algorithm, Layer};

/// Wide enough for every product of the definitions.
pub(crate) type Int = i128;

/// Two or three numbers, or a log's timestamps.
pub(crate) type State = Vec<Int>;

pub(crate) trait Rule {
    fn capacity(&self) -> Int;

    /// The last instant that a word can tell.
    fn max_now(&self) -> Int;

    /// A key that was never seen.
    fn unused(&self) -> State {
        vec![0; 3]
    }

    /// The state after `cost` at `now`, if that is admitted.
    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State>;

    /// Whether the key is as good as unused.
    fn is_fresh(&self, state: &State, now: Int) -> bool;

    /// The earliest instant at which the state can have been written.
    fn written(&self, state: &State) -> Int;

    /// How long a request that left this state is held.
    fn delay(&self, _after: &State, _now: Int) -> Int {
        0
    }
}

pub(super) const U64_MAX: Int = (1 << 64) - 1;
pub(super) const WORDS: Int = (1 << 64) - (1 << 48);
const DEFAULT_HORIZON: Int = 284_018_400_000_000_000;

pub(super) fn bits(count: Int) -> u32 {
    count.ilog2() + 1
}

/// The largest number above this many low bits of a word.
pub(super) fn top(low_bits: u32) -> Int {
    (WORDS >> low_bits) - 1
}

pub(super) fn ceil_div(a: Int, b: Int) -> Int {
    -((-a).div_euclid(b))
}

pub(crate) fn rule(layer: &Layer) -> Box<dyn Rule> {
    let limit = Int::from(layer.limit);
    let period = Int::from(layer.period_ns);
    let capacity = Int::from(layer.capacity());
    let horizon = layer.horizon_ns.map_or(DEFAULT_HORIZON, Int::from);
    let gcra = |undelayed| Box::new(Gcra::new(limit, period, capacity, undelayed, horizon));
    match layer.algorithm {
        Algorithm::Gcra { .. }
        | Algorithm::LeakyMeter { .. }
        | Algorithm::TokenBucket { mode: Mode::Continuous, .. } => gcra(capacity),
        Algorithm::LeakyQueue { burst, .. } => gcra(burst.map_or(1, Int::from)),
        Algorithm::TokenBucket { mode: Mode::Interval, .. } => {
            Box::new(Interval { capacity, refill: limit, interval: period })
        }
        Algorithm::TokenBucket { .. } => {
            // The least divisor of the interval with no prime above 5 that reaches the horizon.
            let reaches = |quantum: &Int| top(bits(capacity)) * quantum >= horizon + period;
            let quanta = smooth_divisors(period).into_iter();
            let quantum = quanta.filter(reaches).min().expect("the policy was accepted");
            Box::new(IntervalFirst { capacity, refill: limit, interval: period, quantum })
        }
        Algorithm::SlidingWindow { strict } => Box::new(SlidingWindow { limit, window: period, strict }),
        Algorithm::SlidingLog => Box::new(SlidingLog { limit, window: period }),
        Algorithm::FixedWindow { offset_ns } => {
            let phase = (period - Int::from(offset_ns)) % period;
            Box::new(FixedWindow { limit, window: period, phase })
        }
        Algorithm::FixedWindowFirst => {
            let mut quantum = 1;
            while top(bits(limit)) * quantum < horizon + period {
                quantum *= 2;
            }
            Box::new(FixedWindowFirst { limit, window: period, quantum })
        }
        Algorithm::CalendarWindow => {
            Box::new(CalendarDays { horizon, days: FixedWindow { limit, window: period, phase: 0 } })
        }
        Algorithm::InFlight => {
            Box::new(InFlight { counts: SlidingWindow { limit, window: period, strict: true } })
        }
    }
}

fn smooth_divisors(n: Int) -> Vec<Int> {
    let mut divisors = vec![1];
    for prime in [2, 3, 5] {
        let mut next = 0;
        while let Some(divisor) = divisors.get(next).copied() {
            if n % (divisor * prime) == 0 && !divisors.contains(&(divisor * prime)) {
                divisors.push(divisor * prime);
            }
            next += 1;
        }
    }
    divisors
}
