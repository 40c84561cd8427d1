//! A process that asks, again and again: this test program itself, with its task in the environment.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ratecell::{Limiter, LimiterBuilder, Policy};

use super::counters::Counters;
use super::random::random;
use super::{instant, naming, traffic};

/// Processes at once.
pub(crate) const PROCESSES: usize = 4;
const TASK: &str = "RATECELL_TASK";
const STARTED: &[u8] = b"go\n";

/// What the processes of a round do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    policy: &'static str,
    /// Of each key, in the window that the round is in.
    pub(crate) limit: u64,
    pub(crate) max_keys: usize,
    pub(crate) keys: usize,
    /// How often a process asks: for some milliseconds.
    times: usize,
    /// In one order, in which a process that is behind catches up: all insert the same key at once. Else at random.
    in_order: bool,
    name: &'static str,
}

impl Work {
    pub(crate) const HITS: Self = Self {
        policy: "fixed_window 20000/1d",
        limit: 20_000,
        max_keys: 100,
        keys: 3,
        times: 100_000,
        in_order: false,
        name: "hits",
    };
    pub(crate) const INSERTS: Self = Self {
        policy: "fixed_window 1/1d",
        limit: 1,
        max_keys: 45_000,
        keys: 30_000,
        times: 30_000,
        in_order: true,
        name: "inserts",
    };
    pub(crate) const EVICTIONS: Self = Self {
        policy: "fixed_window 1/1d",
        limit: 1,
        max_keys: 60,
        keys: 2_000,
        times: 20_000,
        in_order: false,
        name: "evictions",
    };
    const ALL: [Self; 3] = [Self::HITS, Self::INSERTS, Self::EVICTIONS];

    pub(crate) fn builder(self) -> LimiterBuilder {
        Limiter::builder(self.policy.parse::<Policy>().expect("a policy")).max_keys(self.max_keys)
    }

    pub(crate) fn evicts(self) -> bool {
        self.keys > self.max_keys
    }

    pub(crate) fn counters(self, path: &Path) -> Counters {
        Counters::open(&path.with_extension("counters"), PROCESSES + 1, self.keys)
    }
}

pub(crate) fn key(number: usize) -> [u8; 8] {
    number.to_le_bytes()
}

/// Starts a process on the region at `path`; it is asking when this returns.
pub(crate) fn start(path: &Path, work: Work, process: usize, seed: u64) -> Child {
    spawn(&format!("{} {process} {seed} {}", work.name, path.display()))
}

/// Starts the processes that ask for one key for that long.
pub(crate) fn clocked(path: &Path, seconds: usize) -> Vec<Child> {
    (0..PROCESSES).map(|_| spawn(&format!("clock {seconds} 0 {}", path.display()))).collect()
}

/// What such a process was allowed.
pub(crate) fn admitted(mut child: Child) -> u64 {
    let mut text = String::new();
    let mut output = child.stdout.take().expect("a pipe");
    output.read_to_string(&mut text).expect("what it says");
    assert!(child.wait().expect("its end").success());
    let count = text.lines().find_map(|line| line.strip_prefix("admitted "));
    count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no count in {text}"))
}

/// Starts a process with that task, which may not have begun when this returns.
pub(crate) fn launch(task: &str) -> Child {
    let program = env::current_exe().expect("this program");
    Command::new(program)
        .args(["--exact", "worker", "--nocapture", "--test-threads=1"])
        .env(TASK, task)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

/// Starts a process with that task, and waits until it has begun.
pub(crate) fn spawn(task: &str) -> Child {
    let mut child = launch(task);
    let output = child.stdout.as_mut().expect("a pipe");
    let mut seen = Vec::new();
    while !seen.ends_with(STARTED) {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("a start");
        seen.extend(byte);
    }
    child
}

/// Does the task of the environment, if there is one.
pub(crate) fn run() {
    let Ok(task) = env::var(TASK) else { return };
    let words: Vec<_> = task.splitn(4, ' ').collect();
    let [name, first, seed, path] = words[..] else { panic!("{task}: a task") };
    let (first, seed, path) =
        (first.parse().expect("a number"), seed.parse().expect("a number"), PathBuf::from(path));
    if name == "clock" {
        return ask_by_the_clock(&path, first);
    }
    if name == traffic::TASK {
        return traffic::run(&path, first as usize, seed);
    }
    if name == naming::TASK {
        return naming::run(&path, first as usize, seed);
    }
    if name == instant::TASK {
        return instant::run(&path, first, seed);
    }
    #[cfg(feature = "rules")]
    if name == super::ruled::TASK {
        return super::ruled::run(&path, first, seed);
    }
    let work = Work::ALL.into_iter().find(|work| work.name == name).expect("a work");
    let (limiter, counters) = (work.builder().open(&path).expect("the region"), work.counters(&path));
    println!("go");
    counters.wait_at_gate();
    ask(&limiter, work, &counters, first as usize, seed);
}

/// Asks, as the work has it.
pub(crate) fn ask(limiter: &Limiter, work: Work, counters: &Counters, process: usize, seed: u64) {
    let mut random = random(seed);
    for turn in 0..work.times {
        let number = if work.in_order { turn } else { random() as usize } % work.keys;
        if limiter.check_at(key(number), 1, 0).is_allowed() {
            counters.count(process, number);
        }
    }
}

fn ask_by_the_clock(path: &Path, seconds: u64) {
    // The rate is the caller's own; the words have the ticks of the region's maker.
    let policy: Policy = "1000000/s burst=1000000".parse().expect("a policy");
    let limiter = Limiter::builder(policy).open(path).expect("the region");
    println!("go");
    let (started, mut admitted) = (Instant::now(), 0_u64);
    while started.elapsed() < Duration::from_secs(seconds) {
        admitted += (0..1_000).filter(|_| limiter.check("key").is_allowed()).count() as u64;
    }
    println!("admitted {admitted}");
}
