//! An insert storm: a store that starts empty and meets no key twice. Each runs in a process of its own, so
//! that the memory it takes can be told from all other.
//!
//! All by the caller's hash, keyed the same in every process: the nth insertion is the same work each time. What
//! it takes in every run is the store's own; what it took in one may be the machine's.

use std::hash::{BuildHasher, Hash};
use std::io::{self, Write};
use std::ops::Range;
use std::process::{Command, Stdio};
use std::time::Duration;

use ::ratecell::Request;
use clap::ValueEnum;
use hdrhistogram::Histogram;
use zerocopy::IntoBytes;

use crate::measure::{Spread, thread_cpu_time};
use crate::results::{Memory, Part, Results, Storm};
use crate::stores::maps::{self, Map};
use crate::stores::{Answer, CallerClock, CallerHasher, governor, pingora, ratecell, throttlecrab};
use crate::workload::{Key, key};

/// Insertions that are timed together, where they are not timed one by one.
const CHUNK: u32 = 1_000;
/// How full the store is when a part of the storm ends, of the keys that it was built for.
const PARTS: [u32; 4] = [50, 75, 100, 400];

/// The stores that can be filled, by the names that the process is asked for. They are told how many keys will
/// come, but for governor by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Nothing,
    Ratecell,
    Governor,
    GovernorSized,
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
pub(crate) const GOVERNOR_SIZED: &str = "governor with a DashMap of that capacity";

impl Store {
    pub(crate) const ALL: &[Self] = &[
        Self::Nothing,
        Self::Ratecell,
        Self::Governor,
        Self::GovernorSized,
        Self::Papaya,
        Self::Scc,
        Self::Sharded,
        Self::Mutex,
        Self::Throttlecrab,
        Self::Pingora,
    ];

    /// Those that the figures are about.
    pub(crate) const FEW: &[Self] = &[Self::Nothing, Self::Ratecell, Self::Governor, Self::GovernorSized];

    fn argument(self) -> String {
        self.to_possible_value().expect("no store is skipped").get_name().to_owned()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => NOTHING,
            Self::Ratecell => RATECELL,
            Self::Governor => GOVERNOR,
            Self::GovernorSized => GOVERNOR_SIZED,
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
    /// Nanoseconds a key in each part.
    parts: Vec<f64>,
    /// Nanoseconds of each insertion; none where they are timed together.
    singles: Vec<u32>,
}

impl Filled {
    /// A line of text, and the singles as they are.
    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        write!(to, "{} {}", self.build_ns, self.bytes)?;
        self.parts.iter().try_for_each(|ns| write!(to, " {ns}"))?;
        writeln!(to)?;
        to.write_all(self.singles.as_bytes())
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (text, singles) = (str::from_utf8(bytes.get(..end)?).ok()?, bytes.get(end + 1..)?);
        let mut words = text.split(' ');
        let (build_ns, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let parts = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let (singles, []) = singles.as_chunks() else { return None };
        let singles = singles.iter().map(|single| u32::from_ne_bytes(*single)).collect();
        Some(Self { build_ns, bytes, parts, singles })
    }
}

/// Resident bytes of this process that are no file's: the pages of the program's code, which come with their first use, are
/// no store's.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = statm.split_whitespace().skip(1).map(|pages| pages.parse().unwrap_or(0));
    let (all, of_files): (u64, u64) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    all.saturating_sub(of_files) * rustix::param::page_size() as u64
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
        // What keys take in the making is taken before.
        drop((0..CHUNK).map(&make).collect::<Vec<_>>());
        let mut filled = Filled::default();
        filled.singles.reserve(if self.singles { self.end_of(self.up_to) as usize } else { 0 });
        let before = resident();
        let (limiter, build) = timed(build);
        filled.build_ns = build.as_nanos() as u64;
        let mut first = 0;
        for percent in self.parts() {
            let end = self.end_of(percent);
            let took = self.part(first..end, &make, |key| insert(&limiter, key), &mut filled.singles);
            filled.parts.push(took.as_nanos() as f64 / f64::from(end - first));
            first = end;
            if percent == 100 {
                filled.bytes = resident().saturating_sub(before);
            }
        }
        filled
    }

    fn parts(self) -> impl Iterator<Item = u32> {
        PARTS.into_iter().filter(move |percent| *percent <= self.up_to)
    }

    /// The keys that have come when a part ends.
    fn end_of(self, percent: u32) -> u32 {
        (u64::from(self.keys) * u64::from(percent) / 100) as u32
    }

    fn part<K>(
        self,
        numbers: Range<u32>,
        make: impl Fn(u32) -> K,
        insert: impl Fn(&K) -> bool,
        singles: &mut Vec<u32>,
    ) -> Duration {
        let (mut total, mut allowed) = (Duration::ZERO, 0);
        for first in numbers.clone().step_by(CHUNK as usize) {
            let chunk: Vec<K> = (first..numbers.end.min(first + CHUNK)).map(&make).collect();
            if self.singles {
                for key in &chunk {
                    let (is_allowed, took) = timed(|| insert(key));
                    allowed += usize::from(is_allowed);
                    total += took;
                    singles.push(took.as_nanos().try_into().unwrap_or(u32::MAX));
                }
            } else {
                let (number, took) = timed(|| chunk.iter().filter(|key| insert(key)).count());
                allowed += number;
                total += took;
            }
        }
        assert_eq!(allowed, numbers.len(), "a new key was refused");
        total
    }

    fn fill<K: Hash + Eq + Clone + AsRef<[u8]> + Send + Sync>(self, make: impl Fn(u32) -> K) -> Filled {
        let (limit, keys) = (Answer::Allowed.of_keys(), self.keys);
        let now = CallerClock::set();
        match self.store {
            Store::Nothing => self.insert_all(make, || (), |(), _| true),
            Store::Ratecell => {
                let build = || (ratecell::limiter(limit, keys), CallerHasher::default());
                self.insert_all(make, build, |(limiter, hasher), key| {
                    limiter.decide(Request::hashed(hasher.hash_one(key)).at(now)).is_allowed()
                })
            }
            Store::Governor => {
                let build = || governor::sharded::<K, CallerHasher>(limit);
                self.insert_all(make, build, |limiter, key| limiter.check_key(key).is_ok())
            }
            Store::GovernorSized => {
                let build = || governor::sized::<K, CallerHasher>(limit, keys);
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

    /// Fills a store in this process, and says on its output what it took.
    pub(crate) fn run(self) -> Result<(), String> {
        let long = |number| -> Box<[u8]> { key(number).repeat(self.key_len / size_of::<Key>()).into() };
        let filled = if self.key_len == size_of::<Key>() { self.fill(key) } else { self.fill(long) };
        filled.write(&mut io::stdout().lock()).map_err(|error| format!("what it took: {error}"))
    }

    /// Fills it in a process of its own.
    fn apart(self) -> Result<Filled, String> {
        let program = std::env::current_exe().map_err(|error| format!("this program's own path: {error}"))?;
        let numbers = [self.keys.to_string(), self.key_len.to_string(), self.up_to.to_string()];
        let mut command = Command::new(program);
        command.arg("fill").arg(self.store.argument()).args(numbers);
        command.args(self.singles.then_some("--singles")).stderr(Stdio::inherit());
        let output = command.output().map_err(|error| format!("a process for {self:?}: {error}"))?;
        let filled = output.status.success().then(|| Filled::read(&output.stdout)).flatten();
        filled.ok_or_else(|| format!("{self:?}: expected numbers ({})", output.status))
    }
}

/// Insertions one by one, over several runs.
#[derive(Default)]
struct Singles {
    /// The least that the nth took in any run.
    least: Vec<u32>,
    /// The most that any took in any run.
    most: Vec<u32>,
}

impl Singles {
    fn add(&mut self, singles: Vec<u32>) {
        if self.least.is_empty() {
            (self.least, self.most) = (singles.clone(), singles);
            return;
        }
        for (at, single) in singles.into_iter().enumerate() {
            self.least[at] = self.least[at].min(single);
            self.most[at] = self.most[at].max(single);
        }
    }

    /// The worst that recurs but for the first one, which loads what of the program's code inserts; µs.
    fn worst_later(&self) -> f64 {
        f64::from(self.least.iter().skip(1).max().copied().unwrap_or_default()) / 1e3
    }

    /// The median of those that recur, the worst of them, and the worst that was seen at all; µs.
    fn of(&self, numbers: Range<usize>) -> [f64; 3] {
        let mut recurring = Histogram::<u64>::new(3).expect("3 significant digits are not too many");
        for single in &self.least[numbers.clone()] {
            // It grows as it must.
            let _ = recurring.record(u64::from(*single));
        }
        let most = |singles: &[u32]| u64::from(singles.iter().max().copied().unwrap_or_default());
        let worst = [most(&self.least[numbers.clone()]), most(&self.most[numbers])];
        let ns = [recurring.value_at_quantile(0.5), worst[0], worst[1]];
        ns.map(|ns| ns as f64 / 1e3)
    }
}

/// A storm's stores, what they are built for, how far beyond they are filled, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) stores: &'static [Store],
    pub(crate) keys: u32,
    /// In percent of the keys: the end of a part.
    pub(crate) up_to: u32,
    pub(crate) rounds: usize,
}

/// How each store is filled: `rounds` times timed by the thousand and `rounds` times one by one.
pub(crate) fn storms(extent: Extent, results: &mut Results) -> Result<(), String> {
    let Extent { stores, keys, up_to, rounds } = extent;
    let mut fillings: Vec<_> = stores.iter().map(|store| (*store, Vec::new(), Singles::default())).collect();
    for _ in 0..rounds {
        for (store, together, singles) in &mut fillings {
            let filling = Filling { store: *store, keys, key_len: size_of::<Key>(), up_to, singles: false };
            together.push(filling.apart()?);
            singles.add(Filling { singles: true, ..filling }.apart()?.singles);
        }
    }
    for (store, together, singles) in fillings {
        let filling = Filling { store, keys, key_len: size_of::<Key>(), up_to, singles: true };
        let mut first = 0;
        let part = |(at, percent): (usize, u32)| {
            let end = filling.end_of(percent) as usize;
            let [median_us, worst_us, worst_once_us] = singles.of(first..end);
            first = end;
            let ns_per_key = together.iter().filter_map(|filled| filled.parts.get(at).copied()).collect();
            Part { percent, ns_per_key, median_us, worst_us, worst_once_us }
        };
        let parts = filling.parts().enumerate().map(part).collect();
        let build_ms = together.iter().map(|filled| filled.build_ns as f64 / 1e6).collect();
        results.storms.push(Storm {
            store: store.name(),
            keys,
            build_ms: Spread::of(build_ms).median,
            parts,
            worst_later_us: singles.worst_later(),
        });
        if store != Store::Nothing {
            results.memory.push(memory(store, keys, size_of::<Key>(), &together));
        }
    }
    Ok(())
}

/// What keys of 1 kB take.
pub(crate) fn long_keys(keys: u32, results: &mut Results) -> Result<(), String> {
    for store in Store::ALL.iter().copied().filter(|store| *store != Store::Nothing) {
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
        let filled = Filled { build_ns: 1, bytes: 20, parts: vec![2.5, 3.0], singles: vec![10, u32::MAX] };
        let mut pipe = Vec::new();
        filled.write(&mut pipe).expect("room");
        assert_eq!(Filled::read(&pipe), Some(filled));
        assert_eq!(Filled::read(b"1 20 2.5"), None);
    }

    #[test]
    fn what_one_run_alone_saw_is_not_the_stores_own() {
        let mut singles = Singles::default();
        singles.add(vec![1_000, 9_000, 1_000]);
        singles.add(vec![1_000, 8_000, 90_000]);
        assert_eq!(singles.of(0..3), [1.0, 8.0, 90.0]);
        assert_eq!(singles.worst_later(), 8.0);
        singles.add(vec![1_000, 1_000, 1_000]);
        singles.least[0] = 2_000;
        assert_eq!(singles.worst_later(), 1.0);
    }
}
