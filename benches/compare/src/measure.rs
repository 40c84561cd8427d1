//! Cases measured in turns, so that whatever else the machine does falls on all of them alike.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::case::{Case, Pace};
use crate::workload::{Key, Order, window};

/// Keys a case decides on before it is the next one's turn; whole batches of every size.
const WINDOW: usize = 8_192;
/// Two threads need longer windows: they must overlap for most of them.
const WINDOW_OF_TWO: usize = 32_768;

/// What a case took, a number a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    ns: Vec<f64>,
    allowed: usize,
    decisions: usize,
}

/// A median, and the value that the best tenth stays within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) best_decile: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = values.len().saturating_sub(1);
            values.get((last as f64 * share) as usize).copied().unwrap_or(f64::NAN)
        };
        Self { median: at(0.5), best_decile: at(0.1) }
    }
}

impl Series {
    fn add(&mut self, ns: f64, allowed: usize, decisions: usize) {
        self.ns.push(ns);
        self.allowed += allowed;
        self.decisions += decisions;
    }

    /// Nanoseconds a decision.
    pub(crate) fn ns(&self) -> Spread {
        Spread::of(self.ns.clone())
    }

    /// This series over `other`, round by round.
    pub(crate) fn over(&self, other: &Self) -> Spread {
        Spread::of(self.ns.iter().zip(&other.ns).map(|(ours, theirs)| ours / theirs).collect())
    }

    /// The share of decisions that were allowed.
    pub(crate) fn allowed(&self) -> f64 {
        self.allowed as f64 / self.decisions as f64
    }
}

/// The processor time that this thread has used: time in which others ran does not count.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Never negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// One thread, processor time, `rounds` turns of all the cases.
pub(crate) fn one_thread(cases: &[Case<'_>], order: &mut Order, rounds: usize, pace: Pace) -> Vec<Series> {
    let mut series = vec![Series::default(); cases.len()];
    for _ in 0..rounds {
        for (case, series) in cases.iter().zip(&mut series) {
            let keys = window(order, WINDOW);
            let start = thread_cpu_time();
            let allowed = case.run(&keys, pace);
            let took = thread_cpu_time() - start;
            series.add(took.as_nanos() as f64 / keys.len() as f64, allowed, keys.len());
        }
    }
    series
}

/// The processors that two threads are pinned to; `None` where this process has only one.
pub(crate) fn two_processors() -> Option<[usize; 2]> {
    let ours = sched_getaffinity(None).ok()?;
    let mut processors = (0..CpuSet::MAX_CPU).filter(|processor| ours.is_set(*processor));
    Some([processors.next()?, processors.next()?])
}

/// What a case took on two threads, and in the same rounds on one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together {
    /// Nanoseconds a decision of either thread.
    pub(crate) two: Series,
    pub(crate) alone: Series,
}

/// Pinned threads on one store, back to back, wall time.
pub(crate) fn two_threads(
    cases: &[Case<'_>],
    order: &mut Order,
    rounds: usize,
    processors: [usize; 2],
) -> Vec<Together> {
    let mut series = vec![Together::default(); cases.len()];
    for _ in 0..rounds {
        for (case, series) in cases.iter().zip(&mut series) {
            let add = |series: &mut Series, ran: &[Ran]| {
                let took: Duration = ran.iter().map(|ran| ran.took).sum();
                let decisions = ran.len() * WINDOW_OF_TWO;
                let ns = took.as_nanos() as f64 / decisions as f64;
                series.add(ns, ran.iter().map(|ran| ran.allowed).sum(), decisions);
            };
            add(&mut series.alone, &pinned(case, order, processors.get(..1).unwrap_or_default()));
            add(&mut series.two, &pinned(case, order, &processors));
        }
    }
    series
}

struct Ran {
    took: Duration,
    allowed: usize,
}

/// A thread on each of `processors`, all beginning at once.
fn pinned(case: &Case<'_>, order: &mut Order, processors: &[usize]) -> Vec<Ran> {
    let windows: Vec<_> =
        processors.iter().map(|processor| (*processor, window(order, WINDOW_OF_TWO))).collect();
    let waiting = AtomicUsize::new(windows.len());
    let run = |processor: usize, keys: &[Key]| {
        let mut set = CpuSet::new();
        set.set(processor);
        sched_setaffinity(None, &set).expect("a processor that this process was given");
        // They meet by spinning: one that slept would wake late by as long as many decisions take.
        waiting.fetch_sub(1, Ordering::SeqCst);
        while waiting.load(Ordering::SeqCst) > 0 {
            std::hint::spin_loop();
        }
        let start = Instant::now();
        let allowed = case.run(keys, Pace::BackToBack);
        Ran { took: start.elapsed(), allowed }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> =
            windows.iter().map(|(processor, keys)| scope.spawn(|| run(*processor, keys))).collect();
        running.into_iter().map(|thread| thread.join().expect("a case does not panic")).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        let series = |ns: &[f64]| Series { ns: ns.to_vec(), allowed: 1, decisions: 4 };
        let ours = series(&[1.0, 20.0, 3.0]);
        let theirs = series(&[2.0, 40.0, 6.0]);
        assert_eq!(ours.over(&theirs), Spread { median: 0.5, best_decile: 0.5 });
        assert_eq!(ours.ns(), Spread { median: 3.0, best_decile: 1.0 });
        assert_eq!(ours.allowed(), 0.25);
    }

    #[test]
    fn every_case_has_its_own_keys() {
        let (seen, number) = (std::sync::Mutex::new(Vec::new()), |key: &Key| key.to_vec());
        let case =
            || Case::lone("", || 0, |key, _| seen.lock().map(|mut seen| seen.push(number(key))).is_ok());
        let series = one_thread(&[case(), case()], &mut crate::workload::uniform(1 << 16), 2, Pace::Lone);
        assert_eq!(series[1].allowed(), 1.0);
        let mut seen = seen.into_inner().expect("no case panicked");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 4 * WINDOW);
    }
}
