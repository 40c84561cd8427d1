//! Processes at work, some of which are stopped and killed at random, and others started in their place.

use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::worker::PROCESSES;

/// What was done to them.
#[derive(Debug, Default)]
pub(crate) struct Disturbed {
    pub(crate) kills: u64,
    pub(crate) stops: u64,
    pub(crate) hangs: u64,
}

impl Disturbed {
    /// Has processes work that `start` starts, disturbs some, and has them end by `end`.
    pub(crate) fn run(
        &mut self,
        mut start: impl FnMut() -> Child,
        end: &AtomicU32,
        random: &mut impl FnMut() -> u64,
    ) {
        let mut workers: Vec<Child> = (0..PROCESSES).map(|_| start()).collect();
        for _ in 0..3 {
            sleep(Duration::from_micros(4_000 + random() % 20_000));
            let victim = random() as usize % PROCESSES;
            let id = Pid::from_child(&workers[victim]);
            if random().is_multiple_of(2) {
                kill_process(id, Signal::STOP).expect("stopped");
                sleep(Duration::from_micros(random() % 4_000));
                kill_process(id, Signal::CONT).expect("goes on");
                self.stops += 1;
            } else {
                workers[victim].kill().expect("killed");
                workers[victim].wait().expect("its end");
                workers[victim] = start();
                self.kills += 1;
            }
        }
        end.store(1, Ordering::Release);
        let until = Instant::now() + Duration::from_secs(60);
        for mut worker in workers {
            let ended = loop {
                if let Some(ended) = worker.try_wait().expect("its end") {
                    break ended;
                }
                if Instant::now() > until {
                    self.hangs += 1;
                    worker.kill().expect("killed");
                }
                sleep(Duration::from_millis(1));
            };
            assert!(ended.success(), "{ended}");
        }
    }
}
