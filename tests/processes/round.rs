//! One region, the processes on it, and what must hold when they are gone.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ratecell::{Limiter, WhenFull};
use rustix::process::{Pid, Signal, kill_process};

use super::counters::Counters;
use super::random::random;
use super::worker::{PROCESSES, Work, ask, key, start};

const DAY: u64 = 86_400_000_000_000;

/// A file that no other test has.
pub(crate) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ratecell-{name}-{}", std::process::id()))
}

pub(crate) struct Round {
    path: PathBuf,
    work: Work,
    seed: u64,
    counters: Counters,
    limiter: Limiter,
    workers: Vec<Child>,
    started: Instant,
    /// Processes that may have charged what they did not count.
    killed: u64,
}

impl Round {
    /// Starts the processes on a new region.
    pub(crate) fn start(name: &str, work: Work, seed: u64) -> Self {
        let path = scratch(name);
        for file in [path.clone(), path.with_extension("counters")] {
            let _ = fs::remove_file(file);
        }
        let limiter = work.builder().when_full(WhenFull::Evict).open(&path).expect("a region");
        let counters = work.counters(&path);
        let seeds = (0..PROCESSES).map(|process| seed * PROCESSES as u64 + process as u64);
        let workers = seeds.enumerate().map(|(process, seed)| start(&path, work, process, seed)).collect();
        counters.open_gate();
        Self { path, work, seed, counters, limiter, workers, started: Instant::now(), killed: 0 }
    }

    /// Kills each process between 0.1 and 1 ms after it began, and says how many were still at work.
    pub(crate) fn kill(&mut self) -> u64 {
        let mut random = random(self.seed);
        let mut moments = [(); PROCESSES].map(|()| Duration::from_micros(100 + random() % 900));
        moments.sort();
        for (worker, moment) in self.workers.iter_mut().zip(moments) {
            sleep(moment.saturating_sub(self.started.elapsed()));
            worker.kill().expect("killed");
        }
        for mut worker in self.workers.drain(..) {
            if !worker.wait().expect("its end").success() {
                self.killed += 1;
            }
        }
        self.killed
    }

    /// Stops the processes at some moment.
    pub(crate) fn stop(&mut self) {
        let mut random = random(self.seed);
        sleep(Duration::from_micros(100 + random() % 900));
        self.signal(Signal::STOP);
    }

    pub(crate) fn go_on(&mut self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        for worker in &self.workers {
            let id = Pid::from_child(worker);
            // One that has ended is there still, to be waited for.
            kill_process(id, signal).expect("signalled");
        }
    }

    /// Asks as the processes do, while they do not.
    pub(crate) fn serve(&self) {
        ask(&self.limiter, self.work, &self.counters, PROCESSES, self.seed + 1_000_000);
    }

    /// Waits for the processes that are left, then asks for all that they left, and says how many units the
    /// killed charged without counting them: no more than one each. What is counted is never too much.
    pub(crate) fn settle(mut self) -> u64 {
        for mut worker in self.workers.drain(..) {
            assert!(worker.wait().expect("its end").success(), "a process that nobody killed");
        }
        let fresh = self.work.builder().open(&self.path).expect("the region is still one");
        let lost = if self.work.evicts() { self.settle_evictions(&fresh) } else { self.settle_keys(&fresh) };
        assert!(lost <= self.killed, "{:?}: {lost} units lost to {} dead", self.work, self.killed);
        self.assert_usable(&fresh);
        for file in [self.path.clone(), self.path.with_extension("counters")] {
            fs::remove_file(file).expect("removed");
        }
        lost
    }

    /// Every key gets its limit: what was counted, what is left, and what the dead did not count.
    fn settle_keys(&self, fresh: &Limiter) -> u64 {
        let mut lost = 0;
        for number in 0..self.work.keys {
            let counted = self.counters.of_key(number);
            // Not by a peek, which does not see a charge whose process died before it decided.
            let left = (0..=self.work.limit).take_while(|_| fresh.check_at(key(number), 1, 0).is_allowed());
            let all = counted + left.count() as u64;
            assert!(all <= self.work.limit, "key {number}: {all} passed, {counted} of them before");
            lost += self.work.limit - all;
        }
        assert_eq!(fresh.stats_at(0).evicted, 0, "there was room for all");
        lost
    }

    /// No more pass than one each and what was forgiven; an eviction whose process died is not counted either.
    fn settle_evictions(&self, fresh: &Limiter) -> u64 {
        let admitted: u64 = (0..self.work.keys).map(|number| self.counters.of_key(number)).sum();
        let stats = fresh.stats_at(0);
        // Each unit that passed is still held, or was forgiven; so may be a charge that went to a stranger.
        let accounted = stats.live as u64 + stats.forgiven;
        assert!(admitted <= accounted + self.killed, "{admitted} passed, {accounted} accounted for");
        0
    }

    /// Every slot can be used again when what is in it has drained.
    fn assert_usable(&self, fresh: &Limiter) {
        let slots = fresh.stats_at(2 * DAY).slots;
        assert_eq!(fresh.stats_at(2 * DAY).live, 0);
        for number in 0..20 * slots {
            assert!(fresh.check_at(key(1_000_000 + number), self.work.limit as u32, 2 * DAY).is_allowed());
        }
        assert_eq!(fresh.stats_at(2 * DAY).live, slots, "a slot that nobody can have");
    }
}
