//! A machine that is simulated: its clock, its table of leases, its board and its agent.

use std::collections::HashMap;

use ratecell_core::algorithm::{Algorithm, Answered, GRACE_NS, Kernel, Lease, Lend, Plan};
use ratecell_core::{Generation, Outcome, Policy, with_kernel};
use ratecell_sync::{Agent, Effect, Layered, Miss, Question, StoreClock, Words};

use crate::config::Fault;

/// A request that has not been decided yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) id: u64,
    pub(crate) h: u64,
    pub(crate) units: u64,
    /// Whether it charges what is there, up to its units.
    pub(crate) fill: bool,
    pub(crate) came: u64,
    pub(crate) has_waited: bool,
}

/// A key's slot in the table.
#[derive(Clone, Debug)]
struct Held {
    words: Words,
    /// The generation of its units, where that is not the machine's.
    generation: u64,
    /// The store's instant at which the lease was granted, none where this machine granted it; and when it arrived, by the
    /// machine's clock.
    granted: Option<u64>,
    arrived: u64,
}

/// Whose lease was used, and by what instants: the one that the table judged by, and the latest that it can have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Granter {
    Store {
        instant: u64,
        latest: u64,
        /// The generation that the machine knew of, and that of the lease.
        known: u64,
        lent: u64,
    },
    /// The machine, by its part of the policy and its own clock.
    Itself { instant: u64 },
}

/// What the table decided on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// So many units may pass.
    Passed {
        units: u64,
        by: Granter,
    },
    Denied,
    Asked,
}

/// A batch on its way.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) id: u64,
    pub(crate) question: Question,
    /// What the agent took for the store's time when it asked.
    pub(crate) at: u64,
}

#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) agent: Agent,
    /// The store's generation by which the table decides, and what it decides by.
    pub(crate) generation: u64,
    pub(crate) kernels: Vec<Kernel>,
    leases: Layered<Lease>,
    /// What it was made for.
    pub(crate) configured: Policy,
    fault: Option<Fault>,
    table: HashMap<u64, Held>,
    /// Units that are missed, and whether fewer will do, by key.
    pub(crate) board: HashMap<u64, (u64, bool)>,
    pub(crate) waiting: HashMap<u64, Vec<Caller>>,
    pub(crate) flight: Option<Flight>,
    /// The same clock that the agent has: what it takes for the store's time.
    pub(crate) clock: StoreClock,
    /// What the machine's clock showed at the beginning, and by how much it is too fast.
    offset: u64,
    drift: f64,
    pub(crate) stopped_until: u64,
    pub(crate) cut_off_until: u64,
    /// How many agents it had before this one.
    pub(crate) agents: u64,
    /// Whether a wake is on its way, to be at that instant or before.
    pub(crate) wakes_at: Option<u64>,
}

impl Machine {
    pub(crate) fn new(agent: Agent, policy: &Policy, fault: Option<Fault>, offset: u64, drift: f64) -> Self {
        let mut machine = Self {
            agent,
            generation: 0,
            kernels: Vec::new(),
            leases: Layered::new(),
            configured: policy.clone(),
            fault,
            table: HashMap::new(),
            board: HashMap::new(),
            waiting: HashMap::new(),
            flight: None,
            clock: StoreClock::default(),
            offset,
            drift,
            stopped_until: 0,
            cut_off_until: 0,
            agents: 0,
            wakes_at: None,
        };
        machine.follow();
        machine
    }

    /// Decides by the agent's generation: what the table holds is of another.
    pub(crate) fn follow(&mut self) {
        let Some(generation) = self.agent.generation().cloned() else { return };
        self.generation = generation.number();
        self.kernels = kernels(generation.policy());
        let old = std::mem::take(&mut self.leases);
        let leases =
            self.kernels.iter().filter_map(|kernel| with_kernel!(kernel, algorithm => algorithm.lease()));
        self.leases = leases.collect();
        match self.fault {
            Some(Fault::OldLeases) if !old.is_empty() => self.leases = old,
            Some(Fault::OldLeases | Fault::NewRateLeases | Fault::MergedLeases) => {}
            _ => self.table.clear(),
        }
    }

    /// What the machine's clock shows, `since` nanoseconds after the beginning.
    pub(crate) fn local(&self, since: u64) -> u64 {
        self.offset + since + (since as f64 * self.drift) as u64 - (since as f64 * -self.drift) as u64
    }

    /// The agent dies, and another takes its place; with the machine its table and its callers.
    pub(crate) fn crash(&mut self, agent: Agent, is_whole: bool) {
        self.agents += 1;
        self.agent = agent;
        self.clock = StoreClock::default();
        self.flight = None;
        if is_whole {
            self.table.clear();
            self.board.clear();
            self.waiting.clear();
        }
        let number = self.agent.generation().map(Generation::number);
        if number != Some(self.generation) {
            self.follow();
        }
    }

    fn units(&self, lease: &Lease, word: u64, now: u64) -> u64 {
        let passes = match self.fault {
            Some(Fault::PastTheEnd) => true,
            Some(Fault::NoDrain) => Lease::deadline_ns(word) > now,
            _ => return lease.units(word, now),
        };
        if passes { Lease::left(word) } else { 0 }
    }

    /// Decides a request of `caller` at `now` by the machine's clock, and posts what is missed.
    pub(crate) fn decide(&mut self, caller: &Caller, now: u64) -> Verdict {
        let nothing = || Held {
            words: self.leases.iter().map(|_| 0).collect(),
            generation: 0,
            granted: None,
            arrived: 0,
        };
        let mut held = self.table.get(&caller.h).cloned().unwrap_or_else(nothing);
        let units = self.leases.iter().zip(&held.words).map(|(lease, word)| self.units(lease, *word, now));
        let there = units.min().unwrap_or(0);
        let passing = if caller.fill { there.min(caller.units) } else { caller.units };
        if passing > 0 && passing <= there {
            for (lease, word) in self.leases.iter().zip(held.words.iter_mut()) {
                *word = match lease.step(*word, now, passing as u32).charged {
                    Some(charged) => charged,
                    // Only with a fault.
                    None => Lease::granted(Lease::deadline_ns(*word), Lease::left(*word) - passing),
                };
            }
            let since = now.saturating_sub(held.arrived).saturating_sub(GRACE_NS);
            let by = match held.granted {
                Some(granted) => {
                    let instant = granted + since;
                    let latest = instant - since.div_ceil(500);
                    Granter::Store { instant, latest, known: self.generation, lent: held.generation }
                }
                None => Granter::Itself { instant: held.arrived + since },
            };
            self.table.insert(caller.h, held);
            return Verdict::Passed { units: passing, by };
        }
        let outcomes = self.leases.iter().zip(&held.words);
        let cost = passing.max(1) as u32;
        let mut outcomes = outcomes.map(|(lease, word)| lease.step(*word, now, cost).decision.outcome());
        if outcomes.any(|outcome| !matches!(outcome, Outcome::Allowed | Outcome::Asked)) {
            return Verdict::Denied;
        }
        let posted = self.board.entry(caller.h).or_default();
        *posted = (posted.0.max(caller.units), posted.1 | caller.fill);
        Verdict::Asked
    }

    /// What the board says, for the agent.
    pub(crate) fn misses(&mut self, now: u64) -> Vec<Miss> {
        let mut posted: Vec<_> = self.board.drain().collect();
        // A map's order is another in each run.
        posted.sort_unstable();
        let miss = |(h, (units, fill))| {
            let held = self.table.get(&h);
            let words = || self.leases.iter().zip(held.iter().flat_map(|held| &held.words));
            let left = words().map(|(_, word)| Lease::left(*word)).min().unwrap_or(0);
            let usable = words().map(|(lease, word)| lease.units(*word, now)).min().unwrap_or(0);
            Miss { h, units, fill, forget: false, left, usable }
        };
        posted.into_iter().map(miss).collect()
    }

    /// Writes what the agent says of a key. `granted` is the store's instant of a grant by the store.
    pub(crate) fn write(&mut self, effect: &Effect, granted: Option<u64>, now: u64) {
        if effect.words.is_empty() {
            return;
        }
        let nothing = || Held {
            words: self.leases.iter().map(|_| 0).collect(),
            generation: 0,
            granted: None,
            arrived: 0,
        };
        let held = self.table.entry(effect.h).or_insert_with(nothing);
        for ((lease, word), answer) in self.leases.iter().zip(held.words.iter_mut()).zip(&effect.words) {
            let Some(answer) = *answer else { continue };
            let units = Lease::left(answer);
            *word = match self.fault {
                Some(Fault::MergeLater | Fault::MergedLeases) if units > 0 => {
                    Lease::granted(Lease::deadline_ns(answer), units + Lease::left(*word))
                }
                _ => Answered::new(*lease, answer).word(),
            };
            if units > 0 {
                (held.granted, held.arrived, held.generation) = (granted, now, self.generation);
            }
        }
    }
}

pub(crate) fn kernels(policy: &Policy) -> Vec<Kernel> {
    let kernel = |plan| match plan {
        Plan::Word(kernel) => Some(kernel),
        Plan::Log(_) => None,
    };
    policy.layers().iter().filter_map(|layer| kernel(layer.plan())).collect()
}
