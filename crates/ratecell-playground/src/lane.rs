//! One policy with what it keeps of each client.

use std::collections::HashMap;

use ratecell_core::algorithm::{Algorithm, Kernel, Log, Plan, SlidingLog};
use ratecell_core::fields::{Answer, Fields, Label, Style};
use ratecell_core::{Decision, Outcome, Policy, with_kernel};

use crate::permits::{Permit, Permits};
use crate::state::State;

/// One layer's states, by client.
#[derive(Debug)]
enum Layer {
    Words(Kernel, HashMap<u32, u64>),
    Logs(SlidingLog, HashMap<u32, Log>),
}

impl Layer {
    fn new(plan: Plan) -> Self {
        match plan {
            Plan::Word(kernel) => Self::Words(kernel, HashMap::new()),
            Plan::Log(algorithm) => Self::Logs(algorithm, HashMap::new()),
        }
    }

    fn step(&mut self, client: u32, now_ns: u64, cost: u32, charge: bool) -> Decision {
        match self {
            Self::Words(kernel, words) => {
                let word = words.get(&client).copied().unwrap_or(0);
                let step = with_kernel!(kernel, algorithm => algorithm.step(word, now_ns, cost));
                if let (true, Some(charged)) = (charge, step.charged) {
                    words.insert(client, charged);
                }
                step.decision
            }
            Self::Logs(algorithm, logs) => {
                let log = logs.entry(client).or_insert_with(Log::new);
                algorithm.step(log, 0, now_ns, cost, charge)
            }
        }
    }

    /// The window of the permit that the client was given last, of a layer `in_flight`.
    fn window(&self, client: u32) -> Option<u64> {
        match self {
            Self::Words(Kernel::InFlight(in_flight), words) => Some(in_flight.window(*words.get(&client)?)),
            _ => None,
        }
    }

    /// Releases so many units that were given in that window, and returns how many of them were still out.
    fn release(&mut self, client: u32, now_ns: u64, window: u64, cost: u32) -> u32 {
        let Self::Words(Kernel::InFlight(in_flight), words) = self else { return 0 };
        let Some(word) = words.get_mut(&client) else { return 0 };
        // By the window of the clock: what is over has come back by itself.
        let is_over = |word| !in_flight.stands(word, now_ns, window, cost);
        if is_over(*word) {
            return 0;
        }
        let (released, units) = in_flight.release(*word, now_ns, window, cost);
        *word = released;
        units
    }

    fn state(&self, client: u32, now_ns: u64) -> State {
        match self {
            Self::Words(kernel, words) => {
                State::of_word(kernel, words.get(&client).copied().unwrap_or(0), now_ns)
            }
            Self::Logs(algorithm, logs) => {
                State::of_log(algorithm, logs.get(&client).unwrap_or(&Log::new()), now_ns)
            }
        }
    }
}

/// A policy with what it keeps of each client.
#[derive(Debug)]
pub struct Lane {
    policy: Policy,
    layers: Vec<Layer>,
    last: Option<Decision>,
    permits: Permits,
}

impl Lane {
    /// A lane that has seen no client.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        let layers = policy.layers().iter().map(|layer| Layer::new(layer.plan())).collect();
        Self { policy, layers, last: None, permits: Permits::default() }
    }

    fn step(&mut self, client: u32, now_ns: u64, cost: u32, charge: bool) -> Decision {
        let decisions = self.layers.iter_mut().map(|layer| layer.step(client, now_ns, cost, charge));
        Decision::combined(decisions).unwrap_or(Decision::clock_range(0))
    }

    /// Decides `cost` units of a client at `now_ns`: all layers are charged, or none.
    pub fn decide(&mut self, client: u32, now_ns: u64, cost: u32) -> Decision {
        let decision = self.decide_layers(client, now_ns, cost);
        self.last = Some(decision);
        if decision.is_allowed() && cost > 0 {
            let windows: Vec<_> = self.layers.iter().map(|layer| layer.window(client)).collect();
            if windows.iter().any(Option::is_some) {
                self.permits.give(client, Permit { windows, cost });
            }
        }
        decision
    }

    /// Releases the oldest permit in flight of a client that has not come back by itself, and returns its units; 0 if none is
    /// out.
    pub fn release(&mut self, client: u32, now_ns: u64) -> u32 {
        while let Some(Permit { windows, cost }) = self.permits.take(client) {
            let layers = self.layers.iter_mut().zip(windows);
            let released = layers.map(|(layer, window)| {
                window.map_or(0, |window| layer.release(client, now_ns, window, cost))
            });
            // Of several layers, each with a hold of its own, some may have it still.
            let units = released.max().unwrap_or(0);
            if units > 0 {
                return units;
            }
        }
        0
    }

    fn decide_layers(&mut self, client: u32, now_ns: u64, cost: u32) -> Decision {
        if self.layers.len() == 1 {
            return self.step(client, now_ns, cost, true);
        }
        let peeked = self.step(client, now_ns, cost, false);
        match peeked.outcome() {
            Outcome::Allowed => self.step(client, now_ns, cost, true),
            Outcome::ClockRange => Decision::clock_range(peeked.limit()).of_layer(peeked.layer() as u32),
            _ => self.step(client, now_ns, 0, false).refused_by(&peeked),
        }
    }

    /// What the client may do at `now_ns`. Nothing is charged.
    pub fn peek(&mut self, client: u32, now_ns: u64) -> Decision {
        self.step(client, now_ns, 0, false)
    }

    /// What each layer keeps of a client at `now_ns`.
    #[must_use]
    pub fn states(&self, client: u32, now_ns: u64) -> Vec<State> {
        self.layers.iter().map(|layer| layer.state(client, now_ns)).collect()
    }

    /// The share of the capacity that a client has in use, of the layer where it is the greatest.
    #[must_use]
    pub fn fill(&self, client: u32, now_ns: u64) -> f64 {
        let states = self.layers.iter().map(|layer| layer.state(client, now_ns));
        let capacities = self.policy.layers().iter().map(ratecell_core::Layer::capacity);
        states.zip(capacities).map(|(state, capacity)| state.fill(capacity)).fold(0.0, f64::max)
    }

    /// The HTTP fields of the last decision, a line each; empty before the first.
    #[must_use]
    pub fn fields(&self, style: Style, now_unix_ns: u64) -> String {
        let Some(decision) = self.last else { return String::new() };
        let label = Label::new().named("playground").unwrap_or_default();
        Fields::new(style, &[Answer::of(&self.policy, label, decision)], now_unix_ns).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn lane(text: &str) -> Lane {
        Lane::new(text.parse().expect("a policy"))
    }

    /// What is shown of a word is what the core finds in it, over a walk through time: the units that a peek lacks.
    #[test]
    fn states_are_what_a_peek_sees() {
        for text in [
            "10/5s",
            "leaky_meter 3/s capacity=7",
            "token_bucket 4/2s capacity=10 mode=interval",
            "token_bucket 4/2s capacity=10 mode=interval_first",
            "fixed_window 10/5s",
            "fixed_window 10/5s start=first",
            "sliding_window 10/5s",
            "sliding_log 10/5s",
            "in_flight 10 hold=3s",
            "calendar_window 10/day tz=UTC",
        ] {
            let mut lane = lane(text);
            let capacity = lane.policy.capacity();
            let (mut now, mut random) = (7 * SECOND, 1u64);
            for _ in 0..2_000 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                now += (random >> 33) % (2 * SECOND);
                let decision = lane.decide(1, now, (random >> 60) as u32 % 4);
                let state = lane.states(1, now).remove(0);
                let used = match &state {
                    State::ArrivalTime { ahead_ns, room_ns } => ahead_ns.div_ceil(room_ns / capacity),
                    State::TwoWindows { length_ns, start_ns, previous, current, is_weighted, .. } => {
                        let left = if *is_weighted { start_ns + length_ns - now } else { *length_ns };
                        previous * left / length_ns + current
                    }
                    State::Log { length_ns, entries_ns, .. } => {
                        entries_ns.iter().filter(|entry| now - *entry < *length_ns).count() as u64
                    }
                    State::Window { used, .. } | State::Bucket { used, .. } => *used,
                };
                assert_eq!(capacity - used, decision.remaining(), "{text} at {now}: {state:?}");
            }
        }
    }

    #[test]
    fn windows_move_on() {
        let mut lane = lane("sliding_window 10/5s");
        let _ = lane.decide(1, 6 * SECOND, 4);
        let of = |now| match &lane.states(1, now)[..] {
            [State::TwoWindows { start_ns, previous, current, .. }] => {
                (*start_ns / SECOND, *previous, *current)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(
            [6, 11, 15, 20].map(|second| second * SECOND).map(of),
            [(5, 0, 4), (10, 4, 0), (15, 0, 0), (20, 0, 0)]
        );
    }

    /// Where a window ends is where what is in use comes back.
    #[test]
    fn windows_end_where_the_core_resets_them() {
        for text in ["fixed_window 10/5s offset=2s", "fixed_window 10/5s", "fixed_window 10/5s start=first"] {
            let mut lane = lane(text);
            for second in [0, 1, 2, 3, 6, 7, 8, 11, 12, 26] {
                let now = second * SECOND + 1;
                let _ = lane.decide(1, now, 1);
                let resets = now + lane.peek(1, now).reset_after_ns();
                match &lane.states(1, now)[..] {
                    // Before the epoch plus the offset there is a shorter window.
                    [State::Window { end_ns: Some(end_ns), .. }] => {
                        assert!(*end_ns == resets || now < 2 * SECOND, "{text} at {now}: {end_ns}, {resets}");
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_bucket_is_refilled_from_its_first_request() {
        let mut lane = lane("token_bucket 2/5s capacity=10 mode=interval_first");
        let _ = lane.decide(1, 2 * SECOND, 3);
        let refills = |lane: &Lane, now| match lane.states(1, now).remove(0) {
            State::Bucket { refill_ns, .. } => refill_ns,
            other => panic!("{other:?}"),
        };
        assert_eq!(refills(&lane, 3 * SECOND), Some(7 * SECOND));
        assert_eq!(refills(&lane, 8 * SECOND), Some(12 * SECOND));
        assert_eq!(refills(&lane, 13 * SECOND), None);
    }

    /// The oldest first, and none that came back by itself: after one hold it may, after two it has.
    #[test]
    fn permits_are_released_by_hand() {
        let mut lane = lane("in_flight 3 hold=5s & 100/s");
        assert_eq!(lane.release(1, 0), 0);
        let allowed = |lane: &mut Lane, second, cost| lane.decide(1, second * SECOND, cost).is_allowed();
        assert!(allowed(&mut lane, 1, 2) && allowed(&mut lane, 6, 1) && !allowed(&mut lane, 6, 1));
        assert_eq!(lane.release(2, 6 * SECOND), 0, "another client");
        assert_eq!(lane.release(1, 6 * SECOND), 2);
        assert_eq!(lane.peek(1, 6 * SECOND).remaining(), 2);
        assert!(allowed(&mut lane, 7, 2) && !allowed(&mut lane, 7, 1));
        // Of the window from 5 s to 10 s nothing is out at 15 s.
        assert_eq!([lane.release(1, 15 * SECOND), lane.release(1, 15 * SECOND)], [0, 0]);
        assert_eq!(lane.peek(1, 15 * SECOND).remaining(), 3);
        // What is refused gets no permit, and a rate has none.
        let mut rate = self::lane("3/s");
        assert!(rate.decide(1, 0, 1).is_allowed());
        assert_eq!(rate.release(1, 0), 0);
    }

    #[test]
    fn fields_are_of_the_last_decision() {
        let mut lane = lane("10/5s & fixed_window 20/1m");
        assert_eq!(lane.fields(Style::Draft11, 0), "");
        let _ = lane.decide(1, SECOND, 11);
        assert!(!lane.fields(Style::Draft11, 0).contains("Retry-After"), "never is no time");
        let _ = lane.decide(1, SECOND, 10);
        let _ = lane.decide(1, SECOND, 1);
        assert!(
            lane.fields(Style::Draft11, 0).ends_with("Retry-After: 1\n"),
            "{}",
            lane.fields(Style::Draft11, 0)
        );
    }
}
