//! The machines, the network and the store, event by event.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use anyhow::{Context, Result};
use ratecell_core::algorithm::{Kernel, Lease, Lend, Plan};
use ratecell_core::{Policy, with_kernel};
use ratecell_sync::{Agent, Answer, Layered, Operation, Record, Reply, layouts};

use crate::config::{Config, Fault, Forgets, MS, Pattern, SECOND};
use crate::machine::{Caller, Flight, Granter, Machine, Verdict};
use crate::random::Random;
use crate::store::Store;
use crate::uses::{Findings, History, Use, refused};

/// A Monday, in nanoseconds since 1970.
const EPOCH_NS: u64 = (345_600 + 604_800 * 2_900) * SECOND;
/// What the store's clock shows at the beginning, after the epoch.
const BEGIN: u64 = 100_000 * SECOND;
/// An agent that was woken begins so much later.
const WAKING: u64 = 10_000;
const NAP: u64 = 5 * MS;

/// Something that happens. Numbers of machines are first, then those of batches or callers.
#[derive(Debug)]
enum Event {
    Arrives(usize, u64),
    GivesUp(usize, u64, u64),
    Wakes(usize),
    /// A batch comes to the store. False: for a second time, and nobody hears the answer.
    AtStore(usize, u64, Vec<Operation>, bool),
    Answered(usize, u64, Reply),
    TimesOut(usize, u64),
    Stops(usize),
    Crashes(usize),
    IsCutOff(usize),
    ClockSteps,
    Forgets,
}

/// What was counted of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    pub(crate) admitted: u64,
    pub(crate) waited: u64,
    pub(crate) waited_ns: u64,
    pub(crate) operations: u64,
    /// By machine: requests, and those admitted.
    pub(crate) by_machine: Vec<(u64, u64)>,
    /// When each request came, of which key, and what it asked for.
    pub(crate) arrivals: Vec<(u64, u64, u32)>,
    /// Requests that were not decided in time.
    pub(crate) gave_up: u64,
}

/// A run.
#[derive(Debug)]
pub(crate) struct World {
    config: Config,
    policy: Policy,
    record: Record,
    pub(crate) kernels: Vec<Kernel>,
    leases: Layered<Lease>,
    random: Random,
    /// Since the beginning.
    now: u64,
    /// By how much the store's clock was set.
    clock_set: i64,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    happenings: HashMap<u64, Event>,
    next: u64,
    pub(crate) machines: Vec<Machine>,
    store: Store,
    pub(crate) histories: HashMap<u64, History>,
    /// By machine, agent and key: what was admitted by a machine's part of the policy, by its own clock.
    local: HashMap<(usize, u64, u64), Vec<(u64, u32)>>,
    pub(crate) tally: Tally,
}

impl World {
    pub(crate) fn new(config: Config) -> Result<Self> {
        let policy: Policy = config.policy.parse().with_context(|| config.policy.clone())?;
        let record = Record {
            epoch_ns: EPOCH_NS,
            secret: [1, 2],
            layouts: layouts(&policy)?,
            policy: policy.to_string(),
            version: 1,
            generation: 0x1234_5678,
            at: 0,
            swept: 0x1234_5678,
        };
        let kernels = kernels(&policy);
        let leases = kernels.iter().filter_map(|kernel| with_kernel!(kernel, algorithm => algorithm.lease()));
        let mut world = Self {
            leases: leases.collect(),
            random: Random::new(config.seed),
            store: Store::new(matches!(config.forgets, Forgets::LastSecond(_))),
            policy,
            record,
            kernels,
            now: 0,
            clock_set: 0,
            events: BinaryHeap::new(),
            happenings: HashMap::new(),
            next: 0,
            machines: Vec::new(),
            histories: HashMap::new(),
            local: HashMap::new(),
            tally: Tally { by_machine: vec![(0, 0); config.machines], ..Tally::default() },
            config,
        };
        world.begin()?;
        Ok(world)
    }

    fn begin(&mut self) -> Result<()> {
        for m in 0..self.config.machines {
            let agent = self.agent()?;
            let offset = 1 + self.random.below(1_000_000 * SECOND);
            let drift = (self.random.unit() * 2.0 - 1.0) * self.config.drift / 1_000.0;
            self.machines.push(Machine::new(agent, self.leases.clone(), self.config.fault, offset, drift));
            let wakes = self.random.below(NAP);
            self.wake(m, wakes);
            for h in 1..=self.config.keys {
                self.expect_arrival(m, h);
            }
            let Config { stops, crashes, partitions, .. } = self.config;
            for (mean, event) in
                [(stops, Event::Stops(m)), (crashes, Event::Crashes(m)), (partitions, Event::IsCutOff(m))]
            {
                self.recurs(mean, event);
            }
        }
        self.recurs(self.config.clock_steps, Event::ClockSteps);
        match self.config.forgets {
            Forgets::Nothing => {}
            Forgets::LastSecond(every) | Forgets::All(every) => self.schedule(every, Event::Forgets),
        }
        Ok(())
    }

    fn agent(&mut self) -> Result<Agent> {
        let seed = self.random.next();
        Ok(Agent::new(&self.policy, self.record.clone(), self.config.local, seed)?)
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.next += 1;
        self.events.push(Reverse((at, self.next)));
        self.happenings.insert(self.next, event);
    }

    /// Schedules what happens each `mean` nanoseconds, on average.
    fn recurs(&mut self, mean: u64, event: Event) {
        if mean > 0 {
            let at = self.now + self.random.exponential(mean as f64);
            self.schedule(at, event);
        }
    }

    /// Runs to the end, and for a while more, in which nobody comes.
    pub(crate) fn run(&mut self) -> Result<()> {
        let end = self.config.duration + SECOND;
        while let Some(Reverse((at, number))) = self.events.pop() {
            let Some(event) = self.happenings.remove(&number) else { continue };
            if at > end {
                break;
            }
            self.now = self.now.max(at);
            self.happens(event)?;
        }
        Ok(())
    }

    fn happens(&mut self, event: Event) -> Result<()> {
        // A machine that is stopped does nothing until it goes on.
        let later = match &event {
            Event::Arrives(m, _)
            | Event::GivesUp(m, ..)
            | Event::Wakes(m)
            | Event::Answered(m, ..)
            | Event::TimesOut(m, _)
            | Event::Crashes(m) => self.machines[*m].stopped_until,
            _ => 0,
        };
        if later > self.now {
            self.schedule(later, event);
            return Ok(());
        }
        match event {
            Event::Arrives(m, h) => self.arrives(m, h),
            Event::GivesUp(m, h, id) => {
                let waiting = self.machines[m].waiting.entry(h).or_default();
                let before = waiting.len();
                waiting.retain(|caller| caller.id != id);
                self.tally.gave_up += (before - waiting.len()) as u64;
            }
            Event::Wakes(m) => {
                let machine = &mut self.machines[m];
                if machine.wakes_at.is_some_and(|at| at <= self.now) {
                    machine.wakes_at = None;
                }
                self.turn(m);
            }
            Event::AtStore(m, id, operations, is_heard) => self.at_store(m, id, &operations, is_heard),
            Event::Answered(m, id, reply) => self.answered(m, id, reply)?,
            Event::TimesOut(m, id) => {
                if let Some(flight) = self.machines[m].flight.take_if(|flight| flight.id == id) {
                    self.failed(m, flight, true);
                }
            }
            Event::Stops(m) => {
                self.machines[m].stopped_until = self.now + self.random.below(3 * SECOND);
                self.recurs(self.config.stops, Event::Stops(m));
            }
            Event::IsCutOff(m) => {
                self.machines[m].cut_off_until = self.now + self.random.below(5 * SECOND);
                self.recurs(self.config.partitions, Event::IsCutOff(m));
            }
            Event::Crashes(m) => {
                let agent = self.agent()?;
                let is_whole = self.random.chance(0.5);
                self.machines[m].crash(agent, is_whole);
                self.wake(m, self.now + NAP);
                self.recurs(self.config.crashes, Event::Crashes(m));
            }
            Event::ClockSteps => {
                self.clock_set += self.random.below(2 * SECOND) as i64 - SECOND as i64;
                self.recurs(self.config.clock_steps, Event::ClockSteps);
            }
            Event::Forgets => self.forgets(),
        }
        Ok(())
    }

    fn forgets(&mut self) {
        match self.config.forgets {
            Forgets::Nothing => {}
            Forgets::All(every) => {
                self.store.forget_all();
                self.schedule(self.now + every, Event::Forgets);
            }
            Forgets::LastSecond(every) => {
                self.store.forget_last_second(self.now);
                self.schedule(self.now + every, Event::Forgets);
                for m in 0..self.machines.len() {
                    self.machines[m].agent.doubt();
                    if let Some(flight) = self.machines[m].flight.take() {
                        self.failed(m, flight, true);
                    }
                }
            }
        }
    }

    fn shown(&self) -> u64 {
        (BEGIN + self.now).saturating_add_signed(self.clock_set)
    }

    /// When the next request for a key comes to a machine.
    fn expect_arrival(&mut self, m: usize, h: u64) {
        let Config { machines, rate, is_uneven, pattern, duration, .. } = self.config;
        let weight = |m: usize| if is_uneven { 1.0 / (m + 1) as f64 } else { 1.0 };
        let all: f64 = (0..machines).map(weight).sum();
        let mean = SECOND as f64 * all / (rate * weight(m));
        let at = match pattern {
            Pattern::Steady => self.now + self.random.exponential(mean),
            Pattern::Halves(turn) => {
                let mut at = self.now + self.random.exponential(mean / 2.0);
                if (at / turn) % 2 != (m % 2) as u64 {
                    at = (at / turn + 1) * turn + at % turn;
                }
                at
            }
            Pattern::Tenth => {
                // On for a second of ten, at a time of the machine's own.
                let phase = |at: u64| (at + m as u64 * 1_777 * MS) % (10 * SECOND);
                let at = self.now + self.random.exponential(mean / 10.0);
                if phase(at) < SECOND { at } else { at + 10 * SECOND - phase(at) + self.random.below(MS) }
            }
        };
        if at < duration {
            self.schedule(at, Event::Arrives(m, h));
        }
    }

    fn arrives(&mut self, m: usize, h: u64) {
        self.expect_arrival(m, h);
        let is_costly = self.random.chance(self.config.costly);
        let capacity = self.policy.capacity().min(20);
        let units = if is_costly { 1 + self.random.below(capacity) } else { 1 };
        let fill = is_costly && self.random.chance(0.3);
        self.next += 1;
        let caller = Caller { id: self.next, h, units, fill, came: self.now, has_waited: false };
        self.tally.requests += 1;
        self.tally.by_machine[m].0 += 1;
        self.tally.arrivals.push((self.now, h, units as u32));
        self.decides(m, caller);
    }

    /// Lets the machine's table decide; who is not answered waits.
    fn decides(&mut self, m: usize, mut caller: Caller) {
        let machine = &mut self.machines[m];
        let local = machine.local(self.now);
        match machine.decide(&caller, local) {
            Verdict::Denied => self.waited(&caller),
            Verdict::Asked => {
                if !caller.has_waited {
                    caller.has_waited = true;
                    let until = self.now + self.config.wait;
                    self.schedule(until, Event::GivesUp(m, caller.h, caller.id));
                }
                self.machines[m].waiting.entry(caller.h).or_default().push(caller);
                self.wake(m, self.now + WAKING);
            }
            Verdict::Passed { units, by } => {
                let (shown, cost) = (self.shown(), units as u32);
                match by {
                    Granter::Store { instant, latest } => {
                        let one = Use { instant, latest, shown, machine: m, cost };
                        self.histories.entry(caller.h).or_default().uses.push(one);
                    }
                    Granter::Itself { instant } => {
                        let decider = (m, self.machines[m].agents, caller.h);
                        self.local.entry(decider).or_default().push((instant, cost));
                    }
                }
                caller.units -= units;
                if caller.units > 0 {
                    self.decides(m, caller);
                    return;
                }
                self.tally.admitted += 1;
                self.tally.by_machine[m].1 += 1;
                self.waited(&caller);
            }
        }
    }

    fn waited(&mut self, caller: &Caller) {
        if caller.has_waited {
            self.tally.waited += 1;
            self.tally.waited_ns += self.now - caller.came;
        }
    }

    fn wake(&mut self, m: usize, at: u64) {
        let machine = &mut self.machines[m];
        if machine.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            machine.wakes_at = Some(at);
            self.schedule(at, Event::Wakes(m));
        }
    }

    /// One turn of the loop that `drive` is.
    fn turn(&mut self, m: usize) {
        let machine = &mut self.machines[m];
        if machine.flight.is_some() {
            return;
        }
        let local = machine.local(self.now);
        for miss in machine.misses(local) {
            machine.agent.heard(miss, local);
        }
        let question = machine.agent.question(local);
        self.write(m, &HashMap::new());
        let Some(question) = question else {
            // As soon as its clock is to be read again, or the store to be tried.
            let machine = &self.machines[m];
            let in_a_second =
                if machine.agent.is_away() || machine.clock.is_stale(local) { NAP } else { SECOND };
            self.wake(m, self.now + in_a_second);
            return;
        };
        self.tally.operations += question.operations.len() as u64;
        self.send(m, question);
    }

    fn send(&mut self, m: usize, question: ratecell_sync::Question) {
        self.next += 1;
        let id = self.next;
        let machine = &mut self.machines[m];
        let local = machine.local(self.now);
        let at = machine.clock.at(local);
        let mut operations = question.operations.clone();
        assert!(
            operations.iter().all(|one| operations.iter().filter(|other| other.h() == one.h()).count() == 1),
            "a key is asked for twice in a batch"
        );
        if !self.config.heals {
            unhealed(&mut operations, &self.kernels, at);
        }
        let timeout = machine.agent.timeout_ns();
        let is_cut_off = machine.cut_off_until > self.now;
        machine.flight = Some(Flight { id, question, at });
        self.schedule(self.now + timeout, Event::TimesOut(m, id));
        if is_cut_off || self.random.chance(self.config.loss) {
            return;
        }
        let comes_at = self.now + self.way();
        if self.random.chance(self.config.twice) {
            let again_at = comes_at + self.way();
            self.schedule(again_at, Event::AtStore(m, id, operations.clone(), false));
        }
        self.schedule(comes_at, Event::AtStore(m, id, operations, true));
    }

    /// How long a message is on its way.
    fn way(&mut self) -> u64 {
        let way = self.random.lognormal(self.config.rtt as f64 / 2.0, 0.3);
        if self.random.chance(self.config.late) { way + self.random.below(2 * SECOND) } else { way }
    }

    fn at_store(&mut self, m: usize, id: u64, operations: &[Operation], is_heard: bool) {
        let shown = EPOCH_NS + self.shown();
        let answers =
            operations.iter().map(|operation| self.store.apply(operation, shown / MS, self.now)).collect();
        let ahead = if self.config.fault == Some(Fault::ClockAhead) { 300_000 } else { 0 };
        let (now_us, generation) = (shown / 1_000 + ahead, self.record.generation);
        let is_cut_off = self.machines[m].cut_off_until > self.now;
        if is_heard && !is_cut_off && !self.random.chance(self.config.loss) {
            let comes_at = self.now + self.way();
            self.schedule(comes_at, Event::Answered(m, id, Reply { now_us, generation, at: 0, answers }));
        }
    }

    fn answered(&mut self, m: usize, id: u64, reply: Reply) -> Result<()> {
        let machine = &mut self.machines[m];
        let Some(flight) = machine.flight.take_if(|flight| flight.id == id) else { return Ok(()) };
        let local = machine.local(self.now);
        let sent = flight.question.sent();
        if local - sent > machine.agent.timeout_ns() {
            self.failed(m, flight, false);
            return Ok(());
        }
        machine.clock.note(reply.now_us * 1_000 - EPOCH_NS, sent, local);
        let granted =
            flight.question.operations.iter().zip(&reply.answers).filter_map(|(operation, answer)| {
                let words = match (operation, answer) {
                    (_, Answer::Taken { words, .. }) => words,
                    (Operation::Swap { new, .. }, Answer::Swapped) => &new.words,
                    _ => return None,
                };
                let instants = self.kernels.iter().zip(words);
                let instant = instants
                    .map(|(kernel, word)| with_kernel!(kernel, a => a.instant(*word, flight.at)))
                    .max();
                Some((operation.h(), (instant.unwrap_or(flight.at), words.clone())))
            });
        let granted: HashMap<_, _> = granted.collect();
        machine.agent.answered(flight.question, reply, local)?;
        self.write(m, &granted);
        self.turn(m);
        Ok(())
    }

    fn failed(&mut self, m: usize, flight: Flight, is_error: bool) {
        let machine = &mut self.machines[m];
        let local = machine.local(self.now);
        if is_error {
            machine.agent.doubt();
        }
        machine.agent.lost(flight.question, local);
        self.write(m, &HashMap::new());
        let nap = if is_error { NAP } else { 0 };
        self.wake(m, self.now + nap.max(WAKING));
    }

    /// Writes what the agent says, and lets those decide again who wait for it. `granted` are the store's instants and
    /// words of what it granted.
    fn write(&mut self, m: usize, granted: &HashMap<u64, (u64, ratecell_sync::Words)>) {
        let effects: Vec<_> = self.machines[m].agent.effects().collect();
        for effect in effects {
            let local = self.machines[m].local(self.now);
            let units = effect.words.iter().flatten().map(|word| Lease::left(*word)).max().unwrap_or(0);
            let of_store = granted.get(&effect.h).filter(|_| units > 0);
            if let Some((_, words)) = of_store {
                self.note_slots(m, effect.h, words, units);
            }
            self.machines[m].write(&effect, of_store.map(|(instant, _)| *instant), local);
            for caller in self.machines[m].waiting.remove(&effect.h).unwrap_or_default() {
                self.decides(m, caller);
            }
        }
    }

    fn note_slots(&mut self, m: usize, h: u64, words: &[u64], units: u64) {
        let history = self.histories.entry(h).or_default();
        for (layer, (resolved, word)) in self.policy.resolved().zip(words).enumerate() {
            if let Some(emission) = resolved.emission {
                let slots = (1..=units).map(|n| word - n * emission.num);
                history.slots.entry((m, layer)).or_default().extend(slots);
            }
        }
    }

    pub(crate) fn findings(&self) -> Result<Findings> {
        let dens: Vec<_> =
            self.policy.resolved().map(|layer| layer.emission.map(|emission| emission.den)).collect();
        let mut all = Findings::default();
        for history in self.histories.values() {
            all.add(history.findings(&self.kernels, &dens, self.config.clock_steps > 0));
        }
        if let Some(machines) = self.config.local {
            let part = kernels(&self.policy.divided(machines)?);
            for uses in self.local.values() {
                all.local += uses.len() as u64;
                all.refused_local += refused(&part, uses.iter().copied());
            }
        }
        Ok(all)
    }

    pub(crate) fn begin_ns() -> u64 {
        BEGIN
    }
}

fn kernels(policy: &Policy) -> Vec<Kernel> {
    let kernel = |plan| match plan {
        Plan::Word(kernel) => Some(kernel),
        Plan::Log(_) => None,
    };
    policy.layers().iter().filter_map(|layer| kernel(layer.plan())).collect()
}

/// Takes as they would be, did the machine not know what it charged before.
fn unhealed(operations: &mut [Operation], kernels: &[Kernel], at: u64) {
    for operation in operations {
        let Operation::Take { spans, .. } = operation else { continue };
        for (span, kernel) in spans.iter_mut().zip(kernels) {
            if let Some(plain) =
                with_kernel!(kernel, algorithm => algorithm.span(0, at)).filter(|_| span.raises)
            {
                span.floor = plain.floor;
            }
        }
    }
}
