//! What each algorithm admits.

use ratecell::Mode;

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

const U64_MAX: Int = (1 << 64) - 1;
const WORDS: Int = (1 << 64) - (1 << 48);
const DEFAULT_HORIZON: Int = 284_018_400_000_000_000;

fn bits(count: Int) -> u32 {
    count.ilog2() + 1
}

/// The largest number above this many low bits of a word.
fn top(low_bits: u32) -> Int {
    (WORDS >> low_bits) - 1
}

fn ceil_div(a: Int, b: Int) -> Int {
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

/// State: TAT, in ticks of `1 / den` ns.
struct Gcra {
    num: Int,
    den: Int,
    capacity: Int,
    undelayed: Int,
}

impl Gcra {
    fn new(limit: Int, period: Int, capacity: Int, undelayed: Int, horizon: Int) -> Self {
        let gcd = |mut a: Int, mut b: Int| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let den_max = (WORDS - 1) / (horizon + ceil_div(capacity * period, limit) + capacity + 1);
        let exact = gcd(period, limit);
        let (num, den) = if limit / exact <= den_max {
            (period / exact, limit / exact)
        } else {
            let num = ceil_div(period * den_max, limit);
            let common = gcd(num, den_max);
            (num / common, den_max / common)
        };
        Self { num, den, capacity, undelayed }
    }
}

impl Rule for Gcra {
    fn capacity(&self) -> Int {
        self.capacity
    }

    fn max_now(&self) -> Int {
        (WORDS - 1) / self.den - ceil_div(self.capacity * self.num, self.den)
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let t = now * self.den;
        let tat = t.max(state[0]) + cost * self.num;
        (tat - t <= self.capacity * self.num).then(|| vec![tat])
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        state[0] <= now * self.den
    }

    fn written(&self, state: &State) -> Int {
        (state[0] - self.capacity * self.num).div_euclid(self.den)
    }

    fn delay(&self, after: &State, now: Int) -> Int {
        ceil_div((after[0] - now * self.den - self.undelayed * self.num).max(0), self.den)
    }
}

/// State: the window's index, the count of the one before, its own count.
struct SlidingWindow {
    limit: Int,
    window: Int,
    strict: bool,
}

impl SlidingWindow {
    /// Index, both counts and the time into the window, at `now`.
    fn at(&self, state: &State, now: Int) -> (Int, Int, Int, Int) {
        let (idx, prev, curr) = (state[0], state[1], state[2]);
        let (now_idx, elapsed) = (now / self.window, now % self.window);
        match now_idx - idx {
            ..0 => (idx, prev, curr, 0),
            0 => (idx, prev, curr, elapsed),
            1 => (now_idx, curr, 0, elapsed),
            _ => (now_idx, 0, 0, elapsed),
        }
    }
}

impl Rule for SlidingWindow {
    fn capacity(&self) -> Int {
        self.limit
    }

    fn max_now(&self) -> Int {
        U64_MAX.min((top(2 * bits(self.limit)) + 1) * self.window - 1)
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let (idx, prev, curr, elapsed) = self.at(state, now);
        // The estimate times the window.
        let estimate = prev * (self.window - elapsed) + (curr + cost) * self.window;
        let admitted = if self.strict {
            estimate <= self.limit * self.window
        } else {
            estimate < (self.limit + 1) * self.window
        };
        admitted.then(|| vec![idx, prev, curr + cost])
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        let (_, prev, curr, _) = self.at(state, now);
        prev == 0 && curr == 0
    }

    fn written(&self, state: &State) -> Int {
        state[0] * self.window
    }
}

/// State: the timestamps of the units admitted.
struct SlidingLog {
    limit: Int,
    window: Int,
}

impl SlidingLog {
    /// The log's clock and what is in the window, at `now`.
    fn at(&self, state: &State, now: Int) -> (Int, State) {
        let clock = state.last().map_or(now, |newest| now.max(*newest));
        (clock, state.iter().copied().filter(|stamp| clock - stamp < self.window).collect())
    }
}

impl Rule for SlidingLog {
    fn capacity(&self) -> Int {
        self.limit
    }

    fn max_now(&self) -> Int {
        U64_MAX
    }

    fn unused(&self) -> State {
        Vec::new()
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let (clock, mut live) = self.at(state, now);
        if live.len() as Int + cost > self.limit {
            return None;
        }
        live.extend((0..cost).map(|_| clock));
        Some(live)
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        self.at(state, now).1.is_empty()
    }

    fn written(&self, state: &State) -> Int {
        state.last().copied().unwrap_or(0)
    }
}

/// State: the window's index and its count.
struct FixedWindow {
    limit: Int,
    window: Int,
    phase: Int,
}

impl FixedWindow {
    fn at(&self, state: &State, now: Int) -> (Int, Int) {
        let now_idx = (now + self.phase) / self.window;
        if now_idx > state[0] { (now_idx, 0) } else { (state[0], state[1]) }
    }
}

impl Rule for FixedWindow {
    fn capacity(&self) -> Int {
        self.limit
    }

    fn max_now(&self) -> Int {
        U64_MAX.min((top(bits(self.limit)) + 1) * self.window - 1 - self.phase)
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let (idx, count) = self.at(state, now);
        (count + cost <= self.limit).then(|| vec![idx, count + cost])
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        self.at(state, now).1 == 0
    }

    fn written(&self, state: &State) -> Int {
        state[0] * self.window - self.phase
    }
}

/// State: when the window opened, in nanoseconds, and its count.
struct FixedWindowFirst {
    limit: Int,
    window: Int,
    quantum: Int,
}

impl FixedWindowFirst {
    fn at(&self, state: &State, now: Int) -> (Int, Int) {
        let (start, count) = (state[0], state[1]);
        let is_open = count > 0 && now - start < self.window;
        if is_open { (start, count) } else { (ceil_div(now, self.quantum) * self.quantum, 0) }
    }
}

impl Rule for FixedWindowFirst {
    fn capacity(&self) -> Int {
        self.limit
    }

    fn max_now(&self) -> Int {
        U64_MAX.min(top(bits(self.limit)) * self.quantum)
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let (start, count) = self.at(state, now);
        (count + cost <= self.limit).then(|| vec![start, count + cost])
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        self.at(state, now).1 == 0
    }

    fn written(&self, state: &State) -> Int {
        state[0] - self.quantum
    }
}

/// State: the interval's index and the tokens that are out.
struct Interval {
    capacity: Int,
    refill: Int,
    interval: Int,
}

impl Interval {
    fn at(&self, state: &State, now: Int) -> (Int, Int) {
        let idx = state[0].max(now / self.interval);
        (idx, (state[1] - self.refill * (idx - state[0])).max(0))
    }
}

impl Rule for Interval {
    fn capacity(&self) -> Int {
        self.capacity
    }

    fn max_now(&self) -> Int {
        U64_MAX.min((top(bits(self.capacity)) + 1) * self.interval - 1)
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let (idx, used) = self.at(state, now);
        (used + cost <= self.capacity).then(|| vec![idx, used + cost])
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        self.at(state, now).1 == 0
    }

    fn written(&self, state: &State) -> Int {
        state[0] * self.interval
    }
}

/// State: when the present interval began, in nanoseconds, and the tokens that are out.
struct IntervalFirst {
    capacity: Int,
    refill: Int,
    interval: Int,
    quantum: Int,
}

impl IntervalFirst {
    fn at(&self, state: &State, now: Int) -> (Int, Int) {
        let (start, used) = (state[0], state[1]);
        let passed = (now - start).max(0) / self.interval;
        let used = (used - self.refill * passed).max(0);
        if used == 0 {
            (ceil_div(now, self.quantum) * self.quantum, 0)
        } else {
            (start + passed * self.interval, used)
        }
    }
}

impl Rule for IntervalFirst {
    fn capacity(&self) -> Int {
        self.capacity
    }

    fn max_now(&self) -> Int {
        U64_MAX.min(top(bits(self.capacity)) * self.quantum)
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let (start, used) = self.at(state, now);
        (used + cost <= self.capacity).then(|| vec![start, used + cost])
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        self.at(state, now).1 == 0
    }

    fn written(&self, state: &State) -> Int {
        state[0] - self.quantum
    }
}
