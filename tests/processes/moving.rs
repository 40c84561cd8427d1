//! Rounds in which time passes, and processes are killed, replaced, stopped and continued at any moment.

use std::fs;
use std::mem;
use std::path::PathBuf;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ratecell::{Limiter, Stats, WhenFull};
use rustix::process::{Pid, Signal, kill_process};

use super::bounds::{CAPACITY, PERIOD};
use super::random::random;
use super::round::scratch;
use super::traffic::{Case, KEYS, Record, STEPS, TASK};
use super::worker::{PROCESSES, key, launch, spawn};

/// A process that has not ended so long after it was to end hangs.
const DEADLINE: Duration = Duration::from_secs(30);
/// Moments of a step at which a process is disturbed.
const MOMENTS: usize = 2;
/// The longest time between two moments, in microseconds.
const LONGEST: u64 = 150;

/// What was seen in some rounds.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) rounds: u64,
    pub(crate) admissions: u64,
    /// Units beyond the bounds, where a full table may let them pass.
    pub(crate) beyond: u64,
    pub(crate) kills: u64,
    pub(crate) stops: u64,
    pub(crate) evicted: u64,
    pub(crate) shared: u64,
    pub(crate) denied_full: u64,
    pub(crate) allowed_full: u64,
    pub(crate) hangs: u64,
    /// What must not be, in words.
    pub(crate) violations: Vec<String>,
}

struct Worker {
    child: Child,
    stopped: bool,
}

impl Worker {
    fn signal(&self, signal: Signal) {
        // One that has ended is there still, to be waited for.
        kill_process(Pid::from_child(&self.child), signal).expect("signalled");
    }

    fn stop(&mut self) {
        self.signal(Signal::STOP);
        self.stopped = true;
    }

    fn go_on(&mut self) {
        self.signal(Signal::CONT);
        self.stopped = false;
    }
}

/// The processes on one region. A round that is given up leaves none.
struct Round {
    case: Case,
    path: PathBuf,
    record: Record,
    workers: Vec<Worker>,
    /// Processes that may have charged, or let something pass, without counting it.
    killed: u64,
}

impl Drop for Round {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
        for file in [self.path.clone(), self.path.with_extension("counters")] {
            let _ = fs::remove_file(file);
        }
    }
}

/// Adds a round to what was seen.
pub(crate) fn run(name: &str, case: Case, seen: &mut Seen) {
    let mut round = Round::start(name, case);
    round.pass(seen);
    round.end(seen);
    round.judge(seen);
    seen.rounds += 1;
}

impl Round {
    fn start(name: &str, case: Case) -> Self {
        let path = scratch(name);
        for file in [path.clone(), path.with_extension("counters")] {
            let _ = fs::remove_file(file);
        }
        case.builder().open(&path).expect("a region");
        let record = Record::open(&path);
        let mut round = Self { case, path, record, workers: Vec::new(), killed: 0 };
        for process in 0..PROCESSES {
            let child = spawn(&round.task(process));
            round.workers.push(Worker { child, stopped: false });
        }
        round
    }

    fn task(&self, process: usize) -> String {
        format!("{TASK} {process} {} {}", self.case.0, self.path.display())
    }

    /// Moves the clock, and disturbs the processes at moments of no step in particular.
    fn pass(&mut self, seen: &mut Seen) {
        let mut random = random(self.case.0);
        for step in 0..STEPS {
            self.record.show(step);
            for _ in 0..MOMENTS {
                sleep(Duration::from_micros(random() % LONGEST));
                let process = random() as usize % PROCESSES;
                let worker = &mut self.workers[process];
                if random().is_multiple_of(48) {
                    self.replace(process, seen);
                } else if worker.stopped {
                    worker.go_on();
                } else {
                    worker.stop();
                    seen.stops += 1;
                }
            }
        }
        self.record.show(STEPS);
    }

    /// Kills a process, stopped or not, and starts another in its place, which may itself be disturbed at its start.
    fn replace(&mut self, process: usize, seen: &mut Seen) {
        let child = launch(&self.task(process));
        let mut killed = mem::replace(&mut self.workers[process], Worker { child, stopped: false });
        killed.child.kill().expect("killed");
        killed.child.wait().expect("its end");
        self.killed += 1;
        seen.kills += 1;
    }

    /// Waits until all have ended: those that are stopped hinder none of the others.
    fn end(&mut self, seen: &mut Seen) {
        let (running, stopped): (Vec<_>, _) = self.workers.drain(..).partition(|worker| !worker.stopped);
        for mut group in [running, stopped] {
            group.iter_mut().for_each(Worker::go_on);
            let deadline = Instant::now() + DEADLINE;
            for mut worker in group {
                loop {
                    if let Some(status) = worker.child.try_wait().expect("its state") {
                        assert!(status.success(), "{:?}: a process that nobody killed: {status}", self.case);
                        break;
                    }
                    if Instant::now() > deadline {
                        seen.hangs += 1;
                        self.killed += 1;
                        worker.child.kill().expect("killed");
                        worker.child.wait().expect("its end");
                        break;
                    }
                    sleep(Duration::from_micros(100));
                }
            }
        }
    }

    fn judge(&self, seen: &mut Seen) {
        let case = self.case;
        let steps = case.steps();
        let last = steps[STEPS - 1];
        let fresh = Limiter::following().open(&self.path).expect("the region is still one");
        let stats = fresh.stats_at(last.from * case.pace());
        let mut excess = 0;
        for number in 0..KEYS {
            let admitted = self.record.of_key(number);
            seen.admissions += admitted.iter().map(|admitted| admitted.units).sum::<u64>();
            // A window that some request begins may have begun by another key's: on the shared cell, or by a charge that
            // came just after its slot had changed hands.
            excess += case.bound().excess(&steps, &admitted, 0);
        }
        seen.beyond += excess;
        seen.evicted += stats.evicted;
        seen.shared += stats.shared;
        seen.denied_full += stats.denied_full;
        seen.allowed_full += stats.allowed_full;
        let mut assure = |right: bool, what: String| {
            if !right {
                let Case(number) = case;
                let (policy, when_full, skew) = (case.policy(), case.when_full(), case.skew());
                seen.violations.push(format!(
                    "case {number}, {policy}, {when_full:?}, clocks {skew} ns apart, {} killed: {what}, {stats:?}",
                    self.killed
                ));
            }
        };
        let within = self.within(stats);
        assure(excess <= within, format!("{excess} units beyond the bounds, not {within}"));
        for what in unusable(&fresh, (last.to + 100 * PERIOD) * case.pace()) {
            assure(false, what);
        }
    }

    /// The units that may pass beyond the bounds of all keys together.
    fn within(&self, stats: Stats) -> u64 {
        match self.case.when_full() {
            // Both are counted before anything passes by them, so a killed process leaves no unit uncounted.
            WhenFull::Evict => stats.forgiven,
            WhenFull::Allow => stats.allowed_full,
            _ => 0,
        }
    }
}

/// What is wrong with a table at an instant at which every word has drained: every slot can be used again, and whoever
/// has one gets the whole capacity, once.
fn unusable(fresh: &Limiter, now: u64) -> Vec<String> {
    let mut wrong = Vec::new();
    let before = fresh.stats_at(now);
    if before.live > 0 {
        wrong.push(format!("{} words that do not drain", before.live));
    }
    let mut served = 0;
    for number in 0..20 * before.slots {
        let live = fresh.stats_at(now).live;
        if fresh.check_at(key(KEYS + number), CAPACITY as u32, now).is_allowed()
            && fresh.stats_at(now).live > live
        {
            served += 1;
            if fresh.check_at(key(KEYS + number), 1, now).is_allowed() {
                wrong.push(format!("key {number} gets more than its capacity"));
            }
        }
    }
    if served != before.slots {
        wrong.push(format!("{served} keys served in {} slots", before.slots));
    }
    wrong
}
