//! An insert storm: a store that starts empty and meets no key twice. Each runs in a process of its own, so
//! that the memory it takes can be told from all other.

use std::fmt;
use std::hash::Hash;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::measure::{Spread, thread_cpu_time};
use crate::results::{Memory, Part, Results, Storm};
use crate::stores::maps::{self, Map};
use crate::stores::{Answer, CallerClock, governor, pingora, ratecell, throttlecrab};
use crate::workload::{Key, key};

/// Insertions that are timed together, where they are not timed one by one.
const CHUNK: u32 = 1_000;
/// How full the store is when a part of the storm ends, of the keys that it was built for.
const PARTS: [u32; 4] = [50, 75, 100, 400];

/// The stores that can be filled, by the names that the process is asked for. Those that can be told how many
/// keys will come are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Store {
    Nothing,
    Ratecell,
    Governor,
    Papaya,
    Scc,
    Sharded,
    Mutex,
    Throttlecrab,
    Pingora,
}

pub(crate) const NOTHING: &str = "nothing: the clock itself";
pub(crate) const RATECELL: &str = "**ratecell**";
pub(crate) const GOVERNOR: &str = "governor";

impl Store {
    const ALL: [Self; 9] = [
        Self::Nothing,
        Self::Ratecell,
        Self::Governor,
        Self::Papaya,
        Self::Scc,
        Self::Sharded,
        Self::Mutex,
        Self::Throttlecrab,
        Self::Pingora,
    ];

    fn argument(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => NOTHING,
            Self::Ratecell => RATECELL,
            Self::Governor => GOVERNOR,
            Self::Papaya => maps::PAPAYA,
            Self::Scc => maps::SCC,
            Self::Sharded => maps::SHARDED,
            Self::Mutex => maps::MUTEX,
            Self::Throttlecrab => "throttlecrab in a Mutex",
            Self::Pingora => "pingora-limits",
        }
    }
}

/// One filling, as the process that makes it is asked for it.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Filling {
    store: Store,
    /// Keys that the store is built for.
    keys: u32,
    /// Bytes of a key: 16 or 1024.
    key_len: usize,
    /// The last part, in percent of the keys.
    up_to: u32,
    /// Time every insertion by itself.
    #[arg(long)]
    singles: bool,
}

/// What it took: processor time and resident memory.
#[derive(Clone, Debug, Default, PartialEq)]
struct Filled {
    build_ns: u64,
    /// Resident once as many keys as it was built for are in.
    bytes: u64,
    parts: Vec<Timed>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Timed {
    ns_per_key: f64,
    /// Of one insertion; 0 where they are timed together.
    median_ns: u64,
    worst_ns: u64,
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.build_ns, self.bytes)?;
        self.parts
            .iter()
            .try_for_each(|part| write!(f, " {} {} {}", part.ns_per_key, part.median_ns, part.worst_ns))
    }
}

impl Filled {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (head, rest) = words.split_at_checked(2)?;
        let (parts, []) = rest.as_chunks::<3>() else { return None };
        fn number<T: FromStr>(word: &str) -> Option<T> {
            word.parse().ok()
        }
        let part = |[ns_per_key, median, worst]: &[&str; 3]| {
            let (median_ns, worst_ns) = (number(median)?, number(worst)?);
            Some(Timed { ns_per_key: number(ns_per_key)?, median_ns, worst_ns })
        };
        let parts = parts.iter().map(part).collect::<Option<_>>()?;
        Some(Self { build_ns: number(head[0])?, bytes: number(head[1])?, parts })
    }
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = thread_cpu_time();
    let made = work();
    (made, thread_cpu_time() - start)
}

impl Filling {
    fn insert_all<K, L>(
        self,
        make: impl Fn(u32) -> K,
        build: impl FnOnce() -> L,
        insert: impl Fn(&L, &K) -> bool,
    ) -> Filled {
        let before = resident();
        let (limiter, build) = timed(build);
        let mut filled = Filled { build_ns: build.as_nanos() as u64, ..Filled::default() };
        let mut first = 0;
        for percent in PARTS.into_iter().filter(|percent| *percent <= self.up_to) {
            let end = (u64::from(self.keys) * u64::from(percent) / 100) as u32;
            filled.parts.push(self.part(first..end, &make, |key| insert(&limiter, key)));
            first = end;
            if percent == 100 {
                filled.bytes = resident().saturating_sub(before);
            }
        }
        filled
    }

    fn part<K>(
        self,
        numbers: std::ops::Range<u32>,
        make: impl Fn(u32) -> K,
        insert: impl Fn(&K) -> bool,
    ) -> Timed {
        let mut singles = Histogram::<u64>::new(3).expect("3 significant digits are not too many");
        let count = numbers.len();
        let (mut total, mut allowed) = (Duration::ZERO, 0);
        for first in numbers.clone().step_by(CHUNK as usize) {
            let chunk: Vec<K> = (first..numbers.end.min(first + CHUNK)).map(&make).collect();
            if self.singles {
                for key in &chunk {
                    let (is_allowed, took) = timed(|| insert(key));
                    allowed += usize::from(is_allowed);
                    total += took;
                    // It grows as it must.
                    let _ = singles.record(took.as_nanos() as u64);
                }
            } else {
                let (number, took) = timed(|| chunk.iter().filter(|key| insert(key)).count());
                allowed += number;
                total += took;
            }
        }
        assert_eq!(allowed, count, "a new key was refused");
        let ns_per_key = total.as_nanos() as f64 / count as f64;
        Timed { ns_per_key, median_ns: singles.value_at_quantile(0.5), worst_ns: singles.max() }
    }

    fn fill<K: Hash + Eq + Clone + AsRef<[u8]> + Send + Sync>(self, make: impl Fn(u32) -> K) -> Filled {
        let (limit, keys) = (Answer::Allowed.of_keys(), self.keys);
        let now = CallerClock::set();
        match self.store {
            Store::Nothing => self.insert_all(make, || (), |(), _| true),
            Store::Ratecell => {
                let build = || ratecell::limiter(limit, keys);
                self.insert_all(make, build, |limiter, key| limiter.check(key).is_allowed())
            }
            Store::Governor => {
                let build = || governor::limiter(limit);
                self.insert_all(make, build, |limiter, key| limiter.check_key(key).is_ok())
            }
            Store::Papaya => self.insert_into(make, || maps::Papaya::new(limit, keys), now),
            Store::Scc => self.insert_into(make, || maps::Scc::new(limit, keys), now),
            Store::Sharded => self.insert_into(make, || maps::Sharded::new(limit, keys), now),
            Store::Mutex => self.insert_into(make, || maps::Locked::new(limit, keys), now),
            Store::Throttlecrab => {
                let make = |number| String::from_utf8(make(number).as_ref().to_vec()).expect("letters");
                let build = || throttlecrab::Keyed::new(limit, keys);
                self.insert_all(make, build, |limiter, key| limiter.check(key, now))
            }
            Store::Pingora => {
                let build = || pingora::Keyed::new(limit, keys);
                self.insert_all(make, build, |limiter, key| limiter.check(key.as_ref()))
            }
        }
    }

    fn insert_into<K, M: Map<K>>(
        self,
        make: impl Fn(u32) -> K,
        build: impl FnOnce() -> M,
        now: u64,
    ) -> Filled {
        self.insert_all(make, build, |map, key| map.check(key, now))
    }

    /// Fills a store in this process, and prints what it took.
    pub(crate) fn run(self) {
        let long = |number| -> Box<[u8]> { key(number).repeat(self.key_len / size_of::<Key>()).into() };
        let filled = if self.key_len == size_of::<Key>() { self.fill(key) } else { self.fill(long) };
        println!("{filled}");
    }

    /// Fills it in a process of its own.
    fn apart(self) -> Result<Filled, String> {
        let program = std::env::current_exe().map_err(|error| format!("this program's own path: {error}"))?;
        let numbers = [self.keys.to_string(), self.key_len.to_string(), self.up_to.to_string()];
        let mut command = Command::new(program);
        command.arg("fill").arg(self.store.argument()).args(numbers);
        command.args(self.singles.then_some("--singles"));
        let output = command.output().map_err(|error| format!("a process for {self:?}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Filled::parse(&text)
            .ok_or_else(|| format!("{self:?}: expected numbers, got {text:?} ({})", output.status))
    }
}

/// How a store is filled: `rounds` times timed by the thousand and `rounds` times one by one.
pub(crate) fn storms(keys: u32, up_to: u32, rounds: usize, results: &mut Results) -> Result<(), String> {
    let mut fillings = Store::ALL.map(|store| (store, Vec::new(), Vec::new()));
    for _ in 0..rounds {
        for (store, chunks, singles) in &mut fillings {
            let filling = Filling { store: *store, keys, key_len: size_of::<Key>(), up_to, singles: false };
            chunks.push(filling.apart()?);
            singles.push(Filling { singles: true, ..filling }.apart()?);
        }
    }
    for (store, chunks, singles) in fillings {
        let part = |(at, percent): (usize, u32)| {
            let of = |filled: &[Filled], value: fn(&Timed) -> f64| -> Vec<f64> {
                filled.iter().filter_map(|filled| filled.parts.get(at).map(value)).collect()
            };
            Part {
                percent,
                ns_per_key: of(&chunks, |timed| timed.ns_per_key),
                typical_us: Spread::of(of(&singles, |timed| timed.median_ns as f64 / 1e3)).median,
                worst_us: of(&singles, |timed| timed.worst_ns as f64 / 1e3),
            }
        };
        let parts = PARTS.into_iter().filter(|percent| *percent <= up_to).enumerate().map(part).collect();
        let build_ms = chunks.iter().map(|filled| filled.build_ns as f64 / 1e6).collect();
        results.storms.push(Storm {
            store: store.name(),
            keys,
            build_ms: Spread::of(build_ms).median,
            parts,
        });
        if store != Store::Nothing {
            results.memory.push(memory(store, keys, size_of::<Key>(), &chunks));
        }
    }
    Ok(())
}

/// What keys of 1 kB take.
pub(crate) fn long_keys(keys: u32, results: &mut Results) -> Result<(), String> {
    for store in Store::ALL.into_iter().filter(|store| *store != Store::Nothing) {
        let filling = Filling { store, keys, key_len: 1024, up_to: 100, singles: false };
        results.memory.push(memory(store, keys, filling.key_len, &[filling.apart()?]));
    }
    Ok(())
}

fn memory(store: Store, keys: u32, key_len: usize, filled: &[Filled]) -> Memory {
    let bytes = filled.iter().map(|filled| filled.bytes as f64).collect();
    Memory { store: store.name(), keys, key_len, bytes_per_key: Spread::of(bytes).median / f64::from(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filling_survives_its_pipe() {
        let part = Timed { ns_per_key: 2.5, median_ns: 3, worst_ns: 4 };
        let filled = Filled { build_ns: 1, bytes: 20, parts: vec![part, part] };
        assert_eq!(Filled::parse(&filled.to_string()), Some(filled));
        assert_eq!(Filled::parse("1 20 300"), None);
    }
}
