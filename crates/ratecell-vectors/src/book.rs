//! The keys of one limiter in one thread: what the kernels decide, and what they give back, without a table.

use std::collections::HashMap;

use crate::holds::Holds;
use ratecell_core::algorithm::{Algorithm, Held, InFlight, Kernel, Log, Plan, Reserve, SlidingLog};
use ratecell_core::{Decision, Generation, Outcome, Policy, Request, with_kernel};

/// The state of one key in one layer.
#[derive(Debug)]
enum State {
    Word(u64),
    Log(Log),
}

/// One key.
#[derive(Debug)]
struct Entry {
    states: Vec<State>,
    /// What has been given back, of each layer.
    given: Vec<u64>,
    /// How often it was forgotten.
    life: u64,
}

impl Entry {
    /// All layers' decisions as one.
    fn decide(&mut self, policy: &Policy, now: u64, request: &Request<'_>, charge: bool) -> Decision {
        let layers = policy.layers().iter().zip(&mut self.states);
        let decisions = layers.map(|(layer, state)| state.decide(layer.plan(), now, request, charge));
        Decision::combined(decisions).unwrap_or_default()
    }
}

/// What was reserved, and the permit of its layers in flight.
#[derive(Clone, Debug)]
struct Reservation {
    key: String,
    cost: u32,
    life: u64,
    held: Vec<Held>,
    generation: Generation,
    /// Of the permit, as far as it was renewed: its life, and its windows.
    permit_life: u64,
    windows: Vec<u64>,
}

/// The keys of a limiter.
#[derive(Debug)]
pub(crate) struct Book {
    /// The policy in force.
    generation: Generation,
    keys: HashMap<String, Entry>,
    /// Whether what has been given back is known.
    known: bool,
    /// By their numbers.
    reservations: HashMap<u64, Reservation>,
}

impl Book {
    pub(crate) fn new(policy: Policy, known: bool) -> Self {
        Self {
            generation: Generation::first(policy),
            keys: HashMap::new(),
            known,
            reservations: HashMap::new(),
        }
    }

    fn plans(policy: &Policy) -> impl Iterator<Item = Plan> + '_ {
        policy.layers().iter().map(|layer| layer.plan())
    }

    fn entry<'a>(keys: &'a mut HashMap<String, Entry>, policy: &Policy, key: &str) -> &'a mut Entry {
        keys.entry(key.to_owned()).or_insert_with(|| Entry {
            states: Self::plans(policy).map(State::fresh).collect(),
            given: vec![0; policy.layers().len()],
            life: 0,
        })
    }

    /// Decides, and charges all layers or none.
    fn decide(&mut self, key: &str, cost: u32, now: u64) -> Decision {
        let entry = Self::entry(&mut self.keys, self.generation.policy(), key);
        let request = Request::new(key).cost(cost);
        let tried = entry.decide(self.generation.policy(), now, &request, false);
        if tried.is_allowed() {
            return entry.decide(self.generation.policy(), now, &request, true);
        }
        entry.decide(self.generation.policy(), now, &Request::new(key).cost(0), false).refused_by(&tried)
    }

    /// Charges as much as there is room for.
    fn fill(&mut self, key: &str, cost: u32, now: u64) -> Decision {
        let entry = Self::entry(&mut self.keys, self.generation.policy(), key);
        if now <= self.generation.policy().max_now_ns() {
            let _ = entry.decide(self.generation.policy(), now, &Request::new(key).cost(cost).charge(), true);
        }
        self.decide(key, 0, now)
    }

    fn hold(&mut self, key: &str, cost: u32, now: u64) -> (Decision, Option<Reservation>) {
        let decision = self.decide(key, cost, now);
        if !decision.is_allowed() {
            return (decision, None);
        }
        let entry = Self::entry(&mut self.keys, self.generation.policy(), key);
        let layers = Self::plans(self.generation.policy()).zip(&entry.states).zip(&entry.given);
        let held: Vec<_> = layers
            .map(|((plan, state), given)| match (plan, state) {
                (Plan::Word(kernel), State::Word(after)) => {
                    with_kernel!(kernel, kernel => kernel.held(*after, now, cost, *given))
                }
                (_, state) => Held { made: state.newest().unwrap_or(now), given: *given, ..Held::default() },
            })
            .collect();
        let windows =
            Self::plans(self.generation.policy()).zip(&entry.states).map(|(plan, state)| match plan {
                // A permit of no units is of the window of its instant.
                Plan::Word(Kernel::InFlight(kernel)) => kernel.window(kernel.carried(state.word(), now)),
                _ => 0,
            });
        let windows = windows.collect();
        let life = entry.life;
        let key = key.to_owned();
        (
            decision,
            Some(Reservation {
                key,
                cost,
                life,
                held,
                generation: self.generation.clone(),
                permit_life: life,
                windows,
            }),
        )
    }

    /// A request past the range of the clock.
    fn out_of_range(&self, now: u64) -> Option<Decision> {
        (now > self.generation.policy().max_now_ns())
            .then(|| Decision::clock_range(self.generation.policy().capacity()))
    }

    fn give_back(&mut self, reservation: &Reservation, actual: u32, now: u64) -> Decision {
        if let Some(decision) = self.out_of_range(now) {
            return decision;
        }
        let Reservation { key, cost, life, held, generation, .. } = reservation;
        if actual > *cost {
            return self.fill(key, actual - cost, now);
        }
        let units = cost - actual;
        let entry = Self::entry(&mut self.keys, self.generation.policy(), key);
        if units > 0 && *life == entry.life {
            let layers = Self::plans(self.generation.policy())
                .zip(&mut entry.states)
                .zip(held.iter().zip(&mut entry.given));
            for (number, ((plan, state), (held, given))) in layers.enumerate() {
                if !generation.is_held_in(&self.generation, number) {
                    continue;
                }
                let total = self.known.then_some(*given);
                match (plan, state) {
                    (Plan::Word(kernel), State::Word(word)) => {
                        let (after, back) = with_kernel!(kernel, kernel => kernel.give_back(*word, now, held, *cost, units, total));
                        *word = after;
                        *given = given.wrapping_add(back);
                    }
                    (Plan::Log(plan), State::Log(log)) => {
                        plan.give_back(log, now, held.made, units);
                    }
                    _ => {}
                }
            }
        }
        self.decide(key, 0, now)
    }

    fn in_flight(policy: &Policy) -> impl Iterator<Item = (usize, InFlight)> + '_ {
        Self::plans(policy).enumerate().filter_map(|(number, plan)| match plan {
            Plan::Word(Kernel::InFlight(kernel)) => Some((number, kernel)),
            _ => None,
        })
    }

    /// A peek, and how many units came back: of several layers, the least.
    fn take_back(&mut self, permit: &Reservation, now: u64) -> (Decision, u32) {
        if let Some(decision) = self.out_of_range(now) {
            return (decision, 0);
        }
        let entry = Self::entry(&mut self.keys, self.generation.policy(), &permit.key);
        let mut least = None;
        if entry.life == permit.permit_life {
            for (number, kernel) in Self::in_flight(self.generation.policy()) {
                let State::Word(word) = &mut entry.states[number] else { continue };
                let (after, back) = kernel.release(*word, now, permit.windows[number], permit.cost);
                *word = after;
                least = Some(least.map_or(back, |least: u32| least.min(back)));
            }
        }
        (self.decide(&permit.key, 0, now), least.unwrap_or(0))
    }

    /// All layers in flight or none; the permit is moved if it is allowed.
    fn move_on(&mut self, permit: &mut Reservation, now: u64) -> Decision {
        if let Some(decision) = self.out_of_range(now) {
            return decision;
        }
        let entry = Self::entry(&mut self.keys, self.generation.policy(), &permit.key);
        let same = entry.life == permit.permit_life;
        let life = entry.life;
        let renewed = Self::in_flight(self.generation.policy()).map(|(number, kernel)| {
            let window = same.then_some(permit.windows[number]);
            (number, kernel.renew(entry.states[number].word(), now, window, permit.cost))
        });
        let renewed: Vec<_> = renewed.collect();
        let decided = Decision::combined(renewed.iter().map(|(_, renewed)| renewed.decision));
        let allowed = decided.is_none_or(|decided| decided.outcome() == Outcome::Allowed);
        if allowed {
            for (number, renewed) in &renewed {
                entry.states[*number] = State::Word(renewed.word);
                permit.windows[*number] = renewed.window;
            }
            permit.permit_life = life;
        }
        let peeked = self.decide(&permit.key, 0, now);
        let decided = decided.unwrap_or(Decision::allowed(0));
        peeked.refused_by(&decided)
    }
}

impl State {
    fn fresh(plan: Plan) -> Self {
        match plan {
            Plan::Word(_) => Self::Word(0),
            Plan::Log(_) => Self::Log(Log::new()),
        }
    }

    /// The word; 0 of a log.
    fn word(&self) -> u64 {
        match self {
            Self::Word(word) => *word,
            Self::Log(_) => 0,
        }
    }

    fn newest(&self) -> Option<u64> {
        match self {
            Self::Word(_) => None,
            Self::Log(log) => log.newest(),
        }
    }

    fn decide(&mut self, plan: Plan, now: u64, request: &Request<'_>, charge: bool) -> Decision {
        match (plan, self) {
            (Plan::Word(kernel), Self::Word(word)) => {
                let step = with_kernel!(kernel, kernel => kernel.decide(*word, now, request));
                if charge {
                    *word = step.charged.unwrap_or(*word);
                }
                step.decision
            }
            (Plan::Log(plan), Self::Log(log)) => {
                SlidingLog::decide(request, |cost, charges| plan.step(log, 0, now, cost, charge && charges)).0
            }
            // A state is made for its plan.
            _ => Decision::clock_range(0),
        }
    }
}

impl Holds for Book {
    fn check(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision {
        self.decide(key, cost, now_ns)
    }

    fn charge(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision {
        self.fill(key, cost, now_ns)
    }

    fn forget(&mut self, key: &str) {
        let entry = Self::entry(&mut self.keys, self.generation.policy(), key);
        entry.states = Self::plans(self.generation.policy()).map(State::fresh).collect();
        entry.life += 1;
    }

    fn reserve(&mut self, number: u64, key: &str, cost: u32, now_ns: u64) -> Decision {
        let (decision, reservation) = self.hold(key, cost, now_ns);
        self.reservations.extend(reservation.map(|reservation| (number, reservation)));
        decision
    }

    fn settle(&mut self, number: u64, actual: u32, now_ns: u64) -> Option<Decision> {
        let reservation = self.reservations.get(&number)?.clone();
        Some(self.give_back(&reservation, actual, now_ns))
    }

    fn release(&mut self, number: u64, now_ns: u64) -> Option<Decision> {
        let permit = self.reservations.get(&number)?.clone();
        let (decision, back) = self.take_back(&permit, now_ns);
        Some(decision.with_given_back(back))
    }

    fn renew(&mut self, number: u64, now_ns: u64) -> Option<Decision> {
        let mut permit = self.reservations.get(&number)?.clone();
        let decision = self.move_on(&mut permit, now_ns);
        self.reservations.insert(number, permit);
        Some(decision)
    }

    fn change(&mut self, policy: &Policy, now_ns: u64) -> Result<(), &'static str> {
        let next = self.generation.followed_by(policy, now_ns).map_err(|error| error.code())?;
        let Some(next) = next else { return Ok(()) };
        for entry in self.keys.values_mut() {
            for (number, state) in entry.states.iter_mut().enumerate() {
                if let State::Word(word) = state {
                    *word = self.generation.changed(&next, number, *word);
                }
            }
        }
        self.generation = next;
        Ok(())
    }

    fn policy(&self) -> &Policy {
        self.generation.policy()
    }
}
