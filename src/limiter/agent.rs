//! The agent of a machine, as a thread of the process whose limiter was built with a store.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use ratecell_core::algorithm::{Answered, Kernel, Lease};
use ratecell_core::{Generation, Policy};
use ratecell_sync::{
    Agent, Attached, Change, Connection, Counts, Desk, Effect, Miss, Named, Refusal, Status, StoreError,
    StoreErrorKind, Terms, drive,
};

use super::differing::Differing;
use super::generations::{Generations, Own};
use super::regime::{Regime, Regimes};
use super::regions::{fit, kernels, of_file};
use super::remote::{FILL, FORGET, Member, OnFailure, Remote};
use super::states::Layers;
use super::tables::LayerTable;
use super::words::WordTable;
use super::{Limiter, LimiterBuilder, events};
use crate::board::{Board, Counter, State};
use crate::clock::Clock;
use crate::error::BuildError;
use crate::memory::Memory;
use crate::region::file::AgentLock;
use crate::table::era::Era;
use crate::table::{DEFAULT_MAX_KEYS, Secret, Table, WhenFull};

mod follow;
mod order;

use follow::copied;
use order::Orders;

/// How long the store may take for each question before the limiter is there.
const PATIENCE: Duration = Duration::from_secs(5);

/// The agent's thread, which ends with the last of these.
#[derive(Debug)]
pub(super) struct Running {
    life: Option<Arc<()>>,
    board: Board,
    thread: Option<JoinHandle<()>>,
    warnings: Warnings,
    orders: Arc<Orders>,
    /// A process that was forked off has the value, and not the thread.
    process: u32,
}

type Warnings = Arc<Mutex<Vec<String>>>;

impl Running {
    pub(super) fn warnings(&self) -> Vec<String> {
        // A panic under the lock would be a bug, and leaves whole texts.
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the policy for all machines of the store.
    pub(super) fn change(&self, policy: Policy) -> Result<(), BuildError> {
        self.orders.change(policy.into(), &self.board).map_err(order::refused)
    }

    /// Changes the policy by a configuration with a greater version, unless another machine's came before.
    fn configure(&self, change: Change) -> Result<(), BuildError> {
        match self.orders.change(change.clone(), &self.board) {
            Err(Refusal::Overtaken { by, version }) => {
                let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
                // Before a trouble, which is the last.
                warnings.insert(0, not_in_force(&by, version, &change.policy));
                Ok(())
            }
            result => result.map_err(order::refused),
        }
    }

    /// Whether its thread is of this process.
    pub(super) fn is_here(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.life.take());
        self.board.wake();
        if let (Some(thread), true) = (self.thread.take(), self.is_here()) {
            // Its panic was printed by itself.
            let _ = thread.join();
        }
    }
}

/// A machine's tables, as its agent sees them.
struct Machine {
    regimes: Regimes,
    /// Those of the regime in force.
    layers: Vec<(Lease, Table)>,
    board: Board,
    clock: Clock,
    life: Weak<()>,
    reported: Counts,
    warnings: Warnings,
    orders: Arc<Orders>,
    /// The last trouble is the last of the warnings.
    is_troubled: bool,
    /// Of a machine that has a file: no other process is its agent until this one has ended.
    _lock: Option<AgentLock>,
}

impl Desk for Machine {
    fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    fn misses(&mut self, each: &mut dyn FnMut(Miss)) {
        let now = self.clock.now();
        self.board.take(|h, units| {
            let words = self.layers.iter().map(|(lease, table)| (lease, table.word_of(h)));
            let (left, usable) = words
                .map(|(lease, word)| (Lease::left(word), lease.units(word, now)))
                .reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)))
                .unwrap_or_default();
            let (fill, forget) = (units & FILL != 0, units & FORGET != 0);
            each(Miss { h, units: units & Board::UNITS, fill, forget, left, usable });
        });
    }

    fn write(&mut self, effect: &Effect) {
        let now = self.clock.now();
        if effect.erases {
            for (_, table) in &self.layers {
                table.forget(effect.h);
            }
        }
        for ((lease, table), word) in self.layers.iter().zip(&effect.words) {
            if let Some(word) = word {
                // Without a place for it a grant passes unused, which only denies.
                table.lend(&Answered::new(*lease, *word), effect.h, now);
            }
        }
        self.board.answered(effect.h);
    }

    fn sleep(&mut self, at_most: Duration) {
        self.board.sleep(at_most);
    }

    fn report(&mut self, status: &Status) -> bool {
        if self.life.strong_count() == 0 {
            self.board.set_state(State::NoAgent);
            return false;
        }
        self.board.beat(status.now_ns);
        self.board.set_state(if status.is_away { State::Away } else { State::Here });
        self.board.set(Counter::Lag, status.lag_ns);
        let (now, before) = (status.counts, self.reported);
        for (counter, part) in [
            (Counter::Leased, (|counts| counts.leased) as fn(Counts) -> u64),
            (Counter::Used, |counts| counts.used),
            (Counter::Passed, |counts| counts.passed),
            (Counter::Operations, |counts| counts.operations),
            (Counter::SwapsLost, |counts| counts.swaps_lost),
            (Counter::Healed, |counts| counts.healed),
            (Counter::Local, |counts| counts.local),
        ] {
            let more = part(now).wrapping_sub(part(before));
            if more > 0 {
                self.board.count(counter, more);
            }
        }
        self.reported = now;
        true
    }

    fn trouble(&mut self, error: Option<&StoreError>) {
        if error.is_none() && !self.is_troubled {
            return;
        }
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        let before = if self.is_troubled { warnings.pop() } else { None };
        let text = error.map(ToString::to_string);
        if text != before {
            events::trouble(error);
        }
        warnings.extend(text);
        self.is_troubled = error.is_some();
    }

    fn follow(&mut self, generation: &Generation) -> Result<(), StoreError> {
        self.follow_to(generation).inspect(|()| events::changed(generation.policy())).map_err(|error| {
            StoreError::of_machine(format!(
                "the machine cannot follow to \"{}\": {error}",
                generation.policy()
            ))
        })
    }

    fn order(&mut self) -> Option<Change> {
        self.orders.taken()
    }

    fn ended(&mut self, result: Result<(), Refusal>) {
        self.orders.ended(result);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.orders.close();
    }
}

fn refused(error: &StoreError) -> BuildError {
    BuildError::Shared { reason: error.to_string() }
}

fn no_policy(store: &Named) -> BuildError {
    let reason = format!(
        "{} has no policy yet, and none was given: expected one of the machine that is the first",
        store.shown()
    );
    BuildError::Shared { reason }
}

/// What a machine is told whose policy is not the store's.
fn not_in_force(held: &impl std::fmt::Display, version: u64, asked: &Policy) -> String {
    format!(
        "the store's policy is \"{held}\", which holds for all machines: \"{asked}\" was asked for here, and does not hold. \
         A policy_version above {version} changes it"
    )
}

/// A store that is there, with the policy that it holds.
struct Joined {
    connection: Connection,
    agent: Agent,
    policy: Policy,
    member: Member,
    warnings: Vec<String>,
    /// What this machine's configuration changes, as its version is greater than the store's.
    change: Option<Change>,
}

/// Attaches to the store, and makes its record if there is none.
fn join(builder: &LimiterBuilder, store: &Named) -> Result<Joined, BuildError> {
    builder.refuse_time()?;
    if let Some(when_full) = builder.when_full.filter(|when_full| *when_full != WhenFull::Evict) {
        let reason = format!(
            "when_full is {when_full:?}: expected Evict where machines share units, for a lease that is evicted forgives none"
        );
        return Err(BuildError::Shared { reason });
    }
    if builder.policy_version.is_some() && builder.policy.is_none() {
        let reason = "policy_version: expected a policy beside it, whose number it is";
        return Err(BuildError::Shared { reason: reason.to_owned() });
    }
    if builder.differing == Differing::Changed {
        let reason = "change: expected a policy_version, by which a limiter with a store changes the policy of all machines";
        return Err(BuildError::Shared { reason: reason.to_owned() });
    }
    let version = builder.policy_version.unwrap_or(0);
    let attached = match store.attach(None, PATIENCE) {
        Err(error) if error.kind() == StoreErrorKind::NoRecord => {
            let policy = builder.policy.as_ref().ok_or_else(|| no_policy(store))?;
            let terms = Terms::new(policy, version).map_err(|error| refused(&error))?;
            store.attach(Some(&terms), PATIENCE)
        }
        attached => attached,
    };
    let Attached { connection, record, mut warnings, .. } = attached.map_err(|error| refused(&error))?;
    let differs = |error: BuildError| BuildError::Shared { reason: format!("{}: {error}", store.shown()) };
    let policy: Policy = record.policy.parse().map_err(BuildError::from).map_err(differs)?;
    let is_greater = version > record.version;
    let change = builder.policy.clone().filter(|_| is_greater);
    let change = change.map(|policy| Change { policy, version: Some(version) });
    if let Some(asked) = builder.policy.as_ref().filter(|asked| **asked != policy && !is_greater) {
        // Of another kind, or another window, it is another limit. One that may follow is none, though its words may have no
        // room beside those that are there.
        let follows = |lineage: Vec<Generation>| lineage.last()?.followed_by(asked, record.at).ok();
        if record.lineage().ok().and_then(follows).is_none() {
            fit(asked, &record.layouts, &policy).map_err(differs)?;
        }
        warnings.push(not_in_force(&policy, record.version, asked));
    }
    let machines = match builder.on_failure {
        Some(OnFailure::Local { machines }) => Some(machines),
        _ => None,
    };
    let secret = Secret::of_words(record.secret);
    let seed = Secret::random()?.words()[0];
    let agent = Agent::new(record, machines, seed).map_err(|error| refused(&error))?;
    let member = Member { name: store.name().to_owned(), secret };
    Ok(Joined { connection, agent, policy, member, warnings, change })
}

/// Builds a limiter with a store, and starts its agent.
pub(super) fn build(builder: LimiterBuilder, store: &Named) -> Result<Limiter, BuildError> {
    let joined = join(&builder, store)?;
    let buckets = crate::table::buckets_for(builder.max_keys.unwrap_or(DEFAULT_MAX_KEYS))?;
    let first = Generation::first(joined.policy.clone()).leased();
    let lineage = Arc::new([first.clone()]);
    let generations = Generations::Own(Own::new(first)?);
    let layers = kernels(&joined.policy, true)?.into_iter().map(|kernel| {
        let era = Era::first(generations.in_force().clone());
        let table = Table::made_in(buckets, WhenFull::Evict, Memory::private, era)?;
        Ok(LayerTable::own(kernel, table))
    });
    let (on_miss, on_failure) = (builder.on_miss.unwrap_or_default(), builder.on_failure.unwrap_or_default());
    let layers = layers.collect::<Result<_, BuildError>>()?;
    let (policy, secret) = (Arc::new(joined.policy.clone()), joined.member.secret.clone());
    let first = Regime { number: 0, policy, layers, lineage };
    let limiter = Limiter::of_regimes(Regimes::new(first, generations), Clock::new(), secret);
    let remote = Remote::new(Board::private()?, on_miss, on_failure);
    start(limiter.of_many_machines(remote), joined, None)
}

/// Opens or makes the file of a machine with a store, and starts an agent for it.
pub(super) fn open(mut builder: LimiterBuilder, store: &Named, path: &Path) -> Result<Limiter, BuildError> {
    let joined = join(&builder, store)?;
    builder.policy = Some(joined.policy.clone());
    builder.member = Some(joined.member.clone());
    let limiter = builder.open_file(path)?;
    let lock = AgentLock::new(path).map_err(|error| of_file(path, error))?;
    start(limiter, joined, Some(lock))
}

fn start(mut limiter: Limiter, joined: Joined, lock: Option<AgentLock>) -> Result<Limiter, BuildError> {
    let Joined { mut connection, mut agent, policy, warnings, change, .. } = joined;
    let held = limiter.policy();
    let Some(remote) = &mut limiter.remote else { return Ok(limiter) };
    let life = Arc::new(());
    let warnings = Arc::new(Mutex::new(warnings));
    let orders = Arc::new(Orders::default());
    let mut machine = Machine {
        regimes: Regimes::new(copied(&limiter.regimes.first), limiter.regimes.generations.clone()),
        layers: leases(&limiter.regimes.first.layers),
        board: remote.board.clone(),
        clock: limiter.clock.clone(),
        life: Arc::downgrade(&life),
        reported: Counts::default(),
        warnings: Arc::clone(&warnings),
        orders: Arc::clone(&orders),
        is_troubled: false,
        _lock: lock,
    };
    // What a file holds may be leases of a policy that the store had before.
    let (was, is) = (machine.was_of(), agent.record().generation);
    if was.is_some_and(|was| was != is) || *held != policy {
        machine.follow_to(agent.generation().ok_or(BuildError::NoPolicy)?)?;
    }
    machine.is_of(is);
    // What was missed, or to be forgotten, when nobody was there to answer, is no more.
    remote.board.take(|_, _| {});
    // Before its thread runs: a check that comes first waits for it.
    remote.board.beat(limiter.clock.now());
    remote.board.set_state(State::Here);
    let thread = std::thread::Builder::new().name("ratecell-agent".to_owned()).spawn(move || {
        if let Err(error) = drive(&mut agent, &mut connection, &mut machine) {
            machine.trouble(Some(&error));
            machine.board.set_state(State::NoAgent);
        }
    });
    let thread = thread.map_err(|error| BuildError::Shared {
        reason: format!("the agent's thread cannot be started: {error}"),
    })?;
    let running = Running {
        life: Some(life),
        board: remote.board.clone(),
        thread: Some(thread),
        warnings,
        orders,
        process: std::process::id(),
    };
    if let Some(change) = change {
        running.configure(change)?;
    }
    remote.agent = Some(running);
    Ok(limiter)
}

/// The layers of a limiter of leases.
fn leases(layers: &Layers<WordTable, crate::table::log::LogTable>) -> Vec<(Lease, Table)> {
    let leases = layers.iter().filter_map(|layer| match layer {
        LayerTable::Words(Kernel::Lease(lease), WordTable::Own(table)) => Some((*lease, table.clone())),
        _ => None,
    });
    leases.collect()
}
