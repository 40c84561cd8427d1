//! Requests on a table without room while time passes, and what was admitted of them: what a process does, and what
//! it leaves for the next one.

use std::path::Path;
use std::sync::atomic::Ordering;

use ratecell::{Limiter, LimiterBuilder, Policy, WhenFull};

use super::bounds::{Admitted, Bound, CAPACITY, KINDS, Round, SKEW, pace, rounds};
use super::counters::Words;
use super::random::random;
use super::worker::{PROCESSES, key};

/// The name of a process's task.
pub(crate) const TASK: &str = "traffic";
const ANSWERS: [WhenFull; 4] = [WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow];
/// Every kind with every answer.
pub(crate) const CASES: u64 = (KINDS.len() * ANSWERS.len()) as u64;
/// The rounds that a clock goes through.
pub(crate) const STEPS: usize = 64;
/// More than have room: there are four buckets.
pub(crate) const KEYS: usize = 64;
const MAX_KEYS: usize = 20;
/// So that a process without a parent ends, some minutes later.
const MOST_BATCHES: u64 = 50_000_000;
/// Requests at one instant, at most.
const BATCH: u64 = 64;

/// What is asked: all follows from its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case(pub(crate) u64);

impl Case {
    pub(crate) fn policy(self) -> &'static str {
        KINDS[self.kind()].0
    }

    /// The nanoseconds of its clock for one of the steps.
    pub(crate) fn pace(self) -> u64 {
        pace(self.policy())
    }

    pub(crate) fn bound(self) -> Bound {
        KINDS[self.kind()].1
    }

    fn kind(self) -> usize {
        self.0 as usize % KINDS.len()
    }

    pub(crate) fn when_full(self) -> WhenFull {
        ANSWERS[self.0 as usize / KINDS.len() % ANSWERS.len()]
    }

    /// How far the processes' clocks differ: in every other case, and when a case comes again, in the others.
    pub(crate) fn skew(self) -> u64 {
        (self.0 + self.0 / CASES) % 2 * SKEW
    }

    pub(crate) fn builder(self) -> LimiterBuilder {
        let policy: Policy = self.policy().parse().expect("a policy");
        Limiter::builder(policy).max_keys(MAX_KEYS).when_full(self.when_full())
    }

    /// The steps of the clock.
    pub(crate) fn steps(self) -> Vec<Round> {
        rounds(STEPS, KEYS as u64, self.skew(), random(self.0))
    }

    /// One unit where full tables allow, for there it is requests that are counted; else all of it every other time.
    fn cost(self, drawn: u64) -> u32 {
        match self.when_full() {
            WhenFull::Allow => 1,
            _ => (1 + drawn % (2 * CAPACITY)).min(CAPACITY) as u32,
        }
    }
}

/// The clock of all processes, and the units that they counted of each key: by the step whose instant a request had,
/// and by the step in which its answer was there. In between a process may have been stopped.
pub(crate) struct Record(Words);

impl Record {
    pub(crate) fn open(path: &Path) -> Self {
        Self(Words::open(&path.with_extension("counters"), 1 + STEPS * STEPS * KEYS))
    }

    /// The step that the clock shows. SeqCst: no later than what is done afterwards, nor earlier than what was done.
    fn step(&self) -> usize {
        self.0[0].load(Ordering::SeqCst) as usize
    }

    /// Has the clock show a step; after the last one, the end.
    pub(crate) fn show(&self, step: usize) {
        self.0[0].store(step as u32, Ordering::SeqCst);
    }

    fn place(first: usize, last: usize, key: usize) -> usize {
        1 + (first * STEPS + last) * KEYS + key
    }

    /// Counts units of a key, once: a process that is killed has counted all of a request's or none.
    fn count(&self, first: usize, key: usize, units: u32) {
        let last = self.step().min(STEPS - 1);
        self.0[Self::place(first, last, key)].fetch_add(units, Ordering::Relaxed);
    }

    /// What was counted of a key, in the order of the steps.
    pub(crate) fn of_key(&self, key: usize) -> Vec<Admitted> {
        let steps = (0..STEPS).flat_map(|first| (first..STEPS).map(move |last| (first, last)));
        let counted = steps.map(|(first, last)| {
            let units = u64::from(self.0[Self::place(first, last, key)].load(Ordering::Relaxed));
            Admitted { first, last, units }
        });
        counted.filter(|admitted| admitted.units > 0).collect()
    }
}

/// Asks until the clock shows the end.
pub(crate) fn run(path: &Path, process: usize, number: u64) {
    let case = Case(number);
    let limiter = case.builder().open(path).expect("the region");
    let (record, steps) = (Record::open(path), case.steps());
    // A process that replaces a killed one does not ask as that one did.
    let mut random = random(u64::from(std::process::id()));
    let pace = case.pace();
    let late = case.skew() * process as u64 / (PROCESSES as u64 - 1);
    println!("go");
    for _ in 0..MOST_BATCHES {
        let number = record.step();
        let Some(step) = steps.get(number) else { return };
        // By one look at the clock: a process that is stopped meanwhile goes on with an instant long past.
        for _ in 0..1 + random() % BATCH {
            let (asked, cost) = (step.key(random()), case.cost(random()));
            if limiter.check_at(key(asked), cost, (step.from + late) * pace).is_allowed() {
                record.count(number, asked, cost);
            }
        }
    }
}
