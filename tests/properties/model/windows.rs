//! The windows.

use super::rules::{Int, Rule, State, U64_MAX, bits, ceil_div, top};

/// State: the window's index, the count of the one before, its own count.
pub(super) struct SlidingWindow {
    pub(super) limit: Int,
    pub(super) window: Int,
    pub(super) strict: bool,
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

/// The same state, where both counts count in full.
pub(super) struct InFlight {
    pub(super) counts: SlidingWindow,
}

impl Rule for InFlight {
    fn capacity(&self) -> Int {
        self.counts.capacity()
    }

    fn max_now(&self) -> Int {
        self.counts.max_now()
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        let (idx, prev, curr, _) = self.counts.at(state, now);
        (prev + curr + cost <= self.counts.limit).then(|| vec![idx, prev, curr + cost])
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        self.counts.is_fresh(state, now)
    }

    fn written(&self, state: &State) -> Int {
        self.counts.written(state)
    }
}

/// State: the timestamps of the units admitted.
pub(super) struct SlidingLog {
    pub(super) limit: Int,
    pub(super) window: Int,
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
pub(super) struct FixedWindow {
    pub(super) limit: Int,
    pub(super) window: Int,
    pub(super) phase: Int,
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

/// Days of UTC: the window's index and its count, served to the end of the window that holds the horizon.
pub(super) struct CalendarDays {
    pub(super) horizon: Int,
    pub(super) days: FixedWindow,
}

impl Rule for CalendarDays {
    fn capacity(&self) -> Int {
        self.days.capacity()
    }

    fn max_now(&self) -> Int {
        U64_MAX.min((self.horizon / self.days.window + 1) * self.days.window - 1)
    }

    fn admit(&self, state: &State, now: Int, cost: Int) -> Option<State> {
        self.days.admit(state, now, cost)
    }

    fn is_fresh(&self, state: &State, now: Int) -> bool {
        self.days.is_fresh(state, now)
    }

    fn written(&self, state: &State) -> Int {
        self.days.written(state)
    }
}

/// State: when the window opened, in nanoseconds, and its count.
pub(super) struct FixedWindowFirst {
    pub(super) limit: Int,
    pub(super) window: Int,
    pub(super) quantum: Int,
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
