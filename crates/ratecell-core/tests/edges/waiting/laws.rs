//! Random worlds, in which an exact limiter answers, against the laws of the machine.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use ratecell_core::algorithm::{Algorithm, Kernel, Plan};
use ratecell_core::waiting::{Action, Answer, Event, Parameters, WaitOutcome, Waiting};
use ratecell_core::{Decision, Outcome, Policy, with_kernel};

const POLICIES: [&str; 6] = [
    "3/s burst=5",
    "7/3s burst=4",
    "leaky_queue 2/s queue=4",
    "leaky_queue 5/2s queue=3 burst=2",
    "fixed_window 5/s",
    "sliding_window 6/s",
];

const KEYS: [&[u8]; 2] = [b"a", b""];

/// A word for each key, and the policy that decides on it.
struct Words {
    kernel: Kernel,
    words: [u64; 2],
}

impl Words {
    fn check(&mut self, key: usize, now: u64, cost: u32) -> Decision {
        let word = self.words[key];
        let step = with_kernel!(&self.kernel, algorithm => algorithm.step(word, now, cost));
        self.words[key] = step.charged.unwrap_or(word);
        step.decision
    }

    /// A waiting ask, by the definition's words.
    fn ask(&mut self, key: usize, now: u64, cost: u32, by: Option<u64>) -> Answer {
        let before = self.words;
        let decision = self.check(key, now, cost);
        match decision.outcome() {
            Outcome::Allowed if by.is_none_or(|by| now + decision.delay_ns() <= by) => {
                Answer::Charged { delay_ns: decision.delay_ns() }
            }
            Outcome::Allowed => {
                self.words = before;
                Answer::Denied { retry_ns: 0, delay_ns: decision.delay_ns() }
            }
            Outcome::Denied => {
                let retry_ns = decision.retry_after_ns();
                let delay_ns = self.check(key, now + retry_ns, cost).delay_ns();
                self.words = before;
                Answer::Denied { retry_ns, delay_ns }
            }
            Outcome::Never => Answer::Never,
            _ => Answer::ClockRange,
        }
    }

    /// When the last of these would go, if each is charged in turn as early as it can be, and nobody else is.
    fn goes_at(&self, key: usize, now: u64, costs: &[u32]) -> u64 {
        let mut world = Words { kernel: self.kernel.clone(), words: self.words };
        let (mut at, mut goes) = (now, now);
        for cost in costs {
            let mut decision = world.check(key, at, *cost);
            while !decision.is_allowed() {
                at += decision.retry_after_ns();
                decision = world.check(key, at, *cost);
            }
            goes = at + decision.delay_ns();
        }
        goes
    }
}

/// What happens next in a world.
#[derive(Clone, Debug)]
enum Turn {
    Arrive {
        key: usize,
        cost: u32,
        patience: Option<u64>,
    },
    /// A driver that is late, on time or early.
    Timer {
        late_ns: u64,
    },
    Early {
        part: u64,
    },
    Cancel {
        nth: usize,
    },
    Theft {
        key: usize,
        cost: u32,
    },
    Forget {
        key: usize,
    },
    FullTable {
        retry: Option<u64>,
    },
    /// Answers stay out until so many turns have passed.
    Slow {
        turns: usize,
    },
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let patience = prop_oneof![Just(None), (0u64..4_000_000_000).prop_map(Some), Just(Some(0))];
    let turn = prop_oneof![
        8 => (0usize..2, 0u32..8, patience).prop_map(|(key, cost, patience)| Turn::Arrive { key, cost, patience }),
        6 => prop_oneof![Just(0), 0u64..2_000_000_000].prop_map(|late_ns| Turn::Timer { late_ns }),
        2 => (1u64..4).prop_map(|part| Turn::Early { part }),
        2 => (0usize..8).prop_map(|nth| Turn::Cancel { nth }),
        2 => (0usize..2, 1u32..4).prop_map(|(key, cost)| Turn::Theft { key, cost }),
        1 => (0usize..2).prop_map(|key| Turn::Forget { key }),
        1 => prop::option::of(0u64..1_000_000).prop_map(|retry| Turn::FullTable { retry }),
        1 => (1usize..4).prop_map(|turns| Turn::Slow { turns }),
    ];
    prop::collection::vec(turn, 1..60)
}

/// What the test knows of a waiter that has not finished.
#[derive(Clone, Copy, Debug)]
struct Standing {
    key: usize,
    cost: u32,
    deadline: Option<u64>,
    is_cancelled: bool,
    /// When it goes, if it was admitted.
    goes: Option<u64>,
}

struct World {
    words: Words,
    waiting: Waiting,
    parameters: Parameters,
    now: u64,
    standing: BTreeMap<u64, Standing>,
    arrived: u64,
    /// Asks that are under way, with the instant at which each was made.
    asked: VecDeque<(u64, Option<u64>)>,
    last_admitted: [u64; 2],
    full_table: Option<Option<u64>>,
    /// The table was full at some time: what it said then was made up.
    was_full: bool,
    asks: u64,
    /// Changes and give-backs, after which a first asks before its time.
    prompts: u64,
}

impl World {
    fn new(policy: &str, parameters: Parameters) -> Self {
        let policy: Policy = policy.parse().expect("a policy");
        let Plan::Word(kernel) = policy.layers()[0].plan() else { panic!("a log") };
        let of_policy = Parameters::of(&policy);
        let parameters = Parameters { capacity: of_policy.capacity, pace: of_policy.pace, ..parameters };
        Self {
            words: Words { kernel, words: [0; 2] },
            waiting: Waiting::new(parameters),
            parameters,
            now: 0,
            standing: BTreeMap::new(),
            arrived: 0,
            asked: VecDeque::new(),
            last_admitted: [0; 2],
            full_table: None,
            was_full: false,
            asks: 0,
            prompts: 0,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        let actions: Vec<_> = self.waiting.event(self.now, event).expect("a driver's event").collect();
        for action in actions {
            match action {
                Action::Ask { id, by } => self.is_asked(id, by),
                Action::Finish { id, outcome, at } => self.is_finished(id, outcome, at),
                Action::GiveBack { id } => {
                    self.prompts += 1;
                    assert!(self.standing[&id].is_cancelled, "{id} did not give up");
                }
            }
        }
        let due = self.standing.keys().filter_map(|id| self.waiting.due_ns(*id)).min();
        assert_eq!(self.waiting.next_ns(), due, "the least of all due");
        let asked = self.asked.len();
        assert!(self.standing.len() <= self.parameters.max_total + asked.max(KEYS.len()), "memory");
    }

    /// Law 2: only the first of a line asks, and one at a time; law 4: not after its deadline.
    fn is_asked(&mut self, id: u64, by: Option<u64>) {
        self.asks += 1;
        let waiter = self.standing[&id];
        let line = self.standing.iter().filter(|(_, other)| other.key == waiter.key && other.goes.is_none());
        assert_eq!(line.map(|(id, _)| *id).next(), Some(id), "the first of its line");
        let same = self.asked.iter().filter(|(other, _)| self.standing[other].key == waiter.key);
        assert_eq!(same.count(), 0, "one ask of a key");
        assert!(waiter.deadline.is_none_or(|deadline| deadline >= self.now), "asked after its deadline");
        assert!(by == waiter.deadline || by == Some(self.now), "{by:?}");
        self.asked.push_back((id, by));
    }

    fn is_finished(&mut self, id: u64, outcome: WaitOutcome, at: Option<u64>) {
        let waiter = self.standing.remove(&id).expect("it finishes once");
        match outcome {
            WaitOutcome::Go => assert!(waiter.goes.is_none_or(|goes| goes <= self.now), "before its time"),
            WaitOutcome::Cancelled => assert!(waiter.is_cancelled),
            WaitOutcome::Late => self.is_late(waiter, at),
            WaitOutcome::Never => assert!(u64::from(waiter.cost) > self.parameters.capacity.expect("known")),
            WaitOutcome::Busy => assert!(self.standing.len() + 1 >= self.parameters.max_waiting),
            other => panic!("{id}: {other:?}"),
        }
    }

    /// Law 5: one that is refused before its deadline could not have gone by it, if those before it stay.
    fn is_late(&self, waiter: Standing, at: Option<u64>) {
        let deadline = waiter.deadline.expect("late, but for ever");
        assert!(waiter.goes.is_none(), "admitted");
        assert!(at.is_none_or(|at| at > deadline || self.now >= deadline), "{at:?}");
        if self.now < deadline && !self.was_full {
            let line = self.standing.values().filter(|other| other.key == waiter.key && other.goes.is_none());
            let costs: Vec<_> = line.map(|other| other.cost).chain([waiter.cost]).collect();
            assert!(self.words.goes_at(waiter.key, self.now, &costs) > deadline, "it could have gone");
        }
    }

    /// Answers the oldest ask.
    fn answer(&mut self) {
        let Some((id, by)) = self.asked.pop_front() else { return };
        let Standing { key, cost, is_cancelled, .. } = self.standing[&id];
        let answer = match self.full_table {
            Some(retry_ns) => Answer::NoPlace { retry_ns },
            None => self.words.ask(key, self.now, cost, by),
        };
        if let Answer::Charged { delay_ns } = answer {
            // Law 1: admitted in the order of arrival.
            assert!(self.last_admitted[key] < id, "{id} overtakes");
            self.last_admitted[key] = id;
            if !is_cancelled && delay_ns > 0 {
                self.standing.get_mut(&id).expect("it stands").goes = Some(self.now + delay_ns);
            }
        }
        self.event(Event::Answer { id, answer });
    }

    fn turn(&mut self, turn: &Turn) {
        match *turn {
            Turn::Arrive { key, cost, patience } => {
                self.arrived += 1;
                let id = self.arrived;
                let deadline = patience.map(|patience| self.now + patience);
                let waiter = Standing { key, cost, deadline, is_cancelled: false, goes: None };
                self.standing.insert(id, waiter);
                self.event(Event::Arrive { id, key: KEYS[key], cost, deadline });
            }
            Turn::Timer { late_ns } => {
                self.now = self.waiting.next_ns().unwrap_or(self.now).max(self.now) + late_ns;
                self.event(Event::Timer);
                self.is_in_time();
            }
            Turn::Early { part } => {
                let left = self.waiting.next_ns().map_or(0, |next| next.saturating_sub(self.now));
                self.now += left / (part + 1);
                self.event(Event::Timer);
                self.is_in_time();
            }
            Turn::Cancel { nth } => {
                let Some(id) = self.standing.keys().nth(nth).copied() else { return };
                self.standing.get_mut(&id).expect("it stands").is_cancelled = true;
                self.event(Event::Cancel { id });
            }
            Turn::Theft { key, cost } => {
                let _ = self.words.check(key, self.now, cost);
            }
            Turn::Forget { key } => {
                self.words.words[key] = 0;
                self.prompts += 1;
                self.event(Event::Changed { key: KEYS[key] });
            }
            Turn::FullTable { retry } => {
                self.was_full = true;
                self.full_table = if self.full_table.is_some() { None } else { Some(retry) };
            }
            Turn::Slow { .. } => {}
        }
    }

    /// Law 4: after a timer nobody stands whose deadline has passed, unless the first of its line is asked for.
    fn is_in_time(&self) {
        for (id, waiter) in &self.standing {
            let is_past =
                waiter.goes.is_none() && waiter.deadline.is_some_and(|deadline| deadline <= self.now);
            let is_asked = self.asked.iter().any(|(asked, _)| self.standing[asked].key == waiter.key);
            assert!(!is_past || is_asked, "{id} stands past its deadline");
            assert!(waiter.goes.is_none_or(|goes| goes > self.now), "{id} is held for too long");
        }
    }
}

proptest! {
    #[test]
    fn the_laws_hold(
        policy in prop::sample::select(POLICIES.to_vec()),
        max_waiting in prop_oneof![Just(1000usize), 0usize..5],
        turns in turns(),
    ) {
        let mut world = World::new(policy, Parameters { max_waiting, ..Parameters::default() });
        let mut slow = 0;
        for turn in &turns {
            match turn {
                Turn::Slow { turns } => slow = *turns,
                turn => world.turn(turn),
            }
            slow = slow.saturating_sub(1);
            while slow == 0 && !world.asked.is_empty() {
                world.answer();
            }
        }
        // No waiter is lost: left alone, all of them finish.
        world.full_table = None;
        for _ in 0..10_000 {
            while !world.asked.is_empty() {
                world.answer();
            }
            if world.standing.is_empty() {
                break;
            }
            prop_assert!(world.waiting.next_ns().is_some(), "{:?} wait for nothing", world.standing);
            world.turn(&Turn::Timer { late_ns: 0 });
        }
        prop_assert!(world.standing.is_empty(), "{:?} wait for ever", world.standing);
        prop_assert_eq!(world.waiting.next_ns(), None);
        // Law 6, without the time that a first was asleep.
        let paused = 2 * world.now / world.parameters.min_pause_ns;
        prop_assert!(world.asks <= 3 * world.arrived + world.prompts + paused, "{} asks", world.asks);
    }

    /// Laws 6 and 7: alone, a first is asked for twice, the second time at the very instant from which it passes.
    #[test]
    fn alone_each_waiter_is_asked_for_at_most_twice(
        policy in prop::sample::select(POLICIES.to_vec()),
        costs in prop::collection::vec(1u32..=4, 1..20),
    ) {
        let mut world = World::new(policy, Parameters::default());
        for cost in &costs {
            world.turn(&Turn::Arrive { key: 0, cost: *cost, patience: None });
            while !world.asked.is_empty() {
                world.answer();
            }
        }
        let line = world.standing.values().filter(|waiter| waiter.goes.is_none());
        let costs: Vec<_> = line.map(|waiter| waiter.cost).collect();
        let expected = world.words.goes_at(0, 0, &costs);
        let held = world.standing.values().filter_map(|waiter| waiter.goes).max().unwrap_or(0);
        while !world.standing.is_empty() {
            world.turn(&Turn::Timer { late_ns: 0 });
            while !world.asked.is_empty() {
                world.answer();
            }
        }
        prop_assert_eq!(world.now, expected.max(held));
        prop_assert!(world.asks <= 2 * world.arrived, "{} asks of {}", world.asks, world.arrived);
    }

    /// Any events at all, those of a driver that makes mistakes among them, neither panic nor lose count.
    #[test]
    fn any_events_are_taken(events in prop::collection::vec(any::<(u8, u64, u8, u32, Option<u64>, u64)>(), 0..80)) {
        let mut waiting = Waiting::new(Parameters { max_waiting: 5, max_total: 8, ..Parameters::default() });
        for (kind, now, id, cost, deadline, ns) in events {
            let id = u64::from(id % 16);
            let key = &[id as u8 % 2];
            let answers = [
                Answer::Denied { retry_ns: ns, delay_ns: u64::from(cost) },
                Answer::Charged { delay_ns: ns },
                Answer::Denied { retry_ns: u64::from(cost), delay_ns: 0 },
                Answer::NoPlace { retry_ns: deadline },
                Answer::Never,
            ];
            let event = match kind % 16 {
                0..=4 => Event::Arrive { id, key, cost, deadline },
                5..=9 => Event::Answer { id, answer: answers[cost as usize % answers.len()] },
                10 | 11 => Event::Timer,
                12 => Event::Cancel { id },
                13 => Event::Changed { key },
                14 => Event::Policy { capacity: deadline, pace: ratecell_core::waiting::Pace::new(ns, now) },
                _ => if ns % 8 == 0 { Event::Close } else { Event::Timer },
            };
            let _ = waiting.event(now, event).map(Iterator::count);
            let due = (0..16).filter_map(|id| waiting.due_ns(id)).min();
            prop_assert_eq!(waiting.next_ns(), due);
        }
    }
}
