//! An insert storm: a store that starts empty and meets no key twice. Each runs in a process of its own,
//! so that the memory it takes can be told from all other.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use crate::measure::{Spread, thread_cpu_time};
use crate::stores::{Answer, governor, ratecell};
use crate::workload::{Key, key};

/// Inserts that are timed together.
const CHUNK: u32 = 1_000;

/// The stores that can be filled, by the names that the process is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Ratecell,
    Governor,
}

impl Store {
    pub(crate) const ALL: [Self; 2] = [Self::Ratecell, Self::Governor];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ratecell => "ratecell",
            Self::Governor => "governor",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|store| store.name() == name)
    }
}

/// What one filling took: processor time and resident memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filling {
    build_ns: u64,
    insert_ns: u64,
    worst_chunk_ns: u64,
    bytes: u64,
}

impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.build_ns, self.insert_ns, self.worst_chunk_ns, self.bytes)
    }
}

impl Filling {
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Self { build_ns: next()?, insert_ns: next()?, worst_chunk_ns: next()?, bytes: next()? })
    }
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = thread_cpu_time();
    work();
    thread_cpu_time() - start
}

fn filled<L>(keys: u32, build: impl FnOnce() -> L, insert: impl Fn(&L, &Key)) -> Filling {
    let before = resident();
    let mut limiter = None;
    let build_ns = timed(|| limiter = Some(build())).as_nanos() as u64;
    let limiter = limiter.expect("just built");
    let (mut total, mut worst) = (Duration::ZERO, Duration::ZERO);
    for first in (0..keys).step_by(CHUNK as usize) {
        let chunk: Vec<Key> = (first..keys.min(first + CHUNK)).map(key).collect();
        let took = timed(|| chunk.iter().for_each(|key| insert(&limiter, key)));
        total += took;
        worst = worst.max(took);
    }
    let bytes = resident().saturating_sub(before);
    let (insert_ns, worst_chunk_ns) = (total.as_nanos() as u64, worst.as_nanos() as u64);
    Filling { build_ns, insert_ns, worst_chunk_ns, bytes }
}

/// Fills a store in this process.
pub(crate) fn fill(store: Store, keys: u32) -> Filling {
    let limit = Answer::Allowed.of_keys();
    match store {
        Store::Ratecell => filled(
            keys,
            || ratecell::limiter(limit, keys),
            |limiter, key| {
                let _ = limiter.check(key);
            },
        ),
        Store::Governor => filled(
            keys,
            || governor::limiter(limit),
            |limiter, key| {
                let _ = limiter.check_key(key);
            },
        ),
    }
}

/// Fills a store in a process of its own.
fn fill_apart(store: Store, keys: u32) -> Result<Filling, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program's own path: {error}"))?;
    let output = Command::new(program).args(["fill", store.name(), &keys.to_string()]).output();
    let output = output.map_err(|error| format!("a process to fill {}: {error}", store.name()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Filling::parse(&text).ok_or_else(|| {
        format!("filling {}: expected four numbers, got {text:?} ({})", store.name(), output.status)
    })
}

/// A line of the table of fillings.
pub(crate) struct Filled {
    pub(crate) store: Store,
    pub(crate) keys: u32,
    pub(crate) build_ms: f64,
    /// Building included.
    pub(crate) ns_per_key: f64,
    pub(crate) worst_chunk_us: f64,
    pub(crate) bytes_per_key: f64,
}

/// Fills each store `rounds` times, in turns; medians.
pub(crate) fn compare(keys: u32, rounds: usize) -> Result<Vec<Filled>, String> {
    let mut fillings = Store::ALL.map(|_| Vec::new());
    for _ in 0..rounds {
        for (store, fillings) in Store::ALL.into_iter().zip(&mut fillings) {
            fillings.push(fill_apart(store, keys)?);
        }
    }
    let lines = Store::ALL.into_iter().zip(fillings).map(|(store, fillings)| {
        let median =
            |of: fn(&Filling) -> u64| Spread::of(fillings.iter().map(|one| of(one) as f64).collect()).median;
        Filled {
            store,
            keys,
            build_ms: median(|one| one.build_ns) / 1e6,
            ns_per_key: median(|one| one.build_ns + one.insert_ns) / f64::from(keys),
            worst_chunk_us: median(|one| one.worst_chunk_ns) / 1e3,
            bytes_per_key: median(|one| one.bytes) / f64::from(keys),
        }
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filling_survives_its_pipe() {
        let filling = Filling { build_ns: 1, insert_ns: 20, worst_chunk_ns: 300, bytes: 4000 };
        let read = Filling::parse(&filling.to_string()).expect("four numbers");
        assert_eq!(read.to_string(), "1 20 300 4000");
        assert!(Filling::parse("1 20 300").is_none());
    }
}
