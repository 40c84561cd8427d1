//! The machines, the network and the store, event by event.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use anyhow::{Context, Result};
use ratecell_core::algorithm::Kernel;
use ratecell_core::{Generation, Policy};
use ratecell_sync::{Agent, Operation, Record, Reply, Terms};

use crate::config::{Config, Fault, Forgets, MS, SECOND};
use crate::machine::{Machine, kernels};
use crate::random::Random;
use crate::store::Store;
use crate::uses::{Findings, History, refused};

mod batches;
mod callers;

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
    /// The change of that number is asked for.
    Changes(usize),
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
    pub(crate) kernels: Vec<Kernel>,
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
        let Terms { layouts, reach, policy: text, version } = Terms::new(&policy, 1)?;
        let generation = 0x1234_5678;
        let record = Record {
            epoch_ns: EPOCH_NS,
            secret: [1, 2],
            layouts,
            policy: text,
            version,
            generation,
            at: 1,
            reach,
            swept: generation,
            earlier: Vec::new(),
        };
        let lineage = record.lineage()?;
        let policy = lineage.last().map_or(policy, |first| first.policy().clone());
        let kernels = kernels(&policy);
        let mut world = Self {
            random: Random::new(config.seed),
            store: Store::new(record, matches!(config.forgets, Forgets::LastSecond(_)), config.fault),
            policy,
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
            self.machines.push(Machine::new(agent, &self.policy, self.config.fault, offset, drift));
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
        for (number, (at, ..)) in self.config.changes.clone().into_iter().enumerate() {
            self.schedule(at, Event::Changes(number));
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
        Ok(Agent::new(self.store.record.clone(), self.config.local, seed)?)
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
                if self.config.fault == Some(Fault::StartChanges) {
                    let machine = &mut self.machines[m];
                    machine.agent.change(machine.configured.clone().into(), machine.local(self.now));
                }
                self.wake(m, self.now + NAP);
                self.recurs(self.config.crashes, Event::Crashes(m));
            }
            Event::ClockSteps => {
                self.clock_set += self.random.below(2 * SECOND) as i64 - SECOND as i64;
                self.recurs(self.config.clock_steps, Event::ClockSteps);
            }
            Event::Forgets => self.forgets(),
            Event::Changes(number) => {
                let Some((_, m, text)) = self.config.changes.get(number).cloned() else { return Ok(()) };
                let machine = &mut self.machines[m];
                machine.agent.change(text.parse::<Policy>()?.into(), machine.local(self.now));
                self.wake(m, self.now + WAKING);
            }
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

    fn wake(&mut self, m: usize, at: u64) {
        let machine = &mut self.machines[m];
        if machine.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            machine.wakes_at = Some(at);
            self.schedule(at, Event::Wakes(m));
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

    /// What a run came to whose policy changed, and how often that was.
    pub(crate) fn changed(&self) -> Result<(Findings, u64)> {
        let settled = self.store.settled.iter().map(|record| Ok(record.lineage()?.pop()));
        let generations: Vec<Generation> =
            settled.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
        let mut all = Findings::default();
        for history in self.histories.values() {
            all.add(history.changed(&generations));
        }
        Ok((all, generations.len() as u64 - 1))
    }

    /// Whether a machine follows the last policy that was asked for, or one that nobody asked for.
    pub(crate) fn ends_with(&self, policy: &Policy) -> bool {
        self.store.record.policy == policy.to_string()
    }

    pub(crate) fn begin_ns() -> u64 {
        BEGIN
    }
}
