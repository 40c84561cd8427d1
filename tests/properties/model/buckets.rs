//! The token buckets that are refilled at intervals.

use super::rules::{Int, Rule, State, U64_MAX, bits, ceil_div, top};

/// State: the interval's index and the tokens that are out.
pub(super) struct Interval {
    pub(super) capacity: Int,
    pub(super) refill: Int,
    pub(super) interval: Int,
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
pub(super) struct IntervalFirst {
    pub(super) capacity: Int,
    pub(super) refill: Int,
    pub(super) interval: Int,
    pub(super) quantum: Int,
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
