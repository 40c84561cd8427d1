//! GCRA, and what is GCRA under another name.

use super::rules::{Int, Rule, State, WORDS, ceil_div};

/// State: TAT, in ticks of `1 / den` ns.
pub(super) struct Gcra {
    num: Int,
    den: Int,
    capacity: Int,
    undelayed: Int,
}

impl Gcra {
    pub(super) fn new(limit: Int, period: Int, capacity: Int, undelayed: Int, horizon: Int) -> Self {
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
