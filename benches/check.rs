//! What a check costs, by the way it is asked: `cargo bench --bench check`.
//!
//! Names read from left to right: `keyed/1000000/deny/caller_clock/lone` is a table of a million keys, all
//! exhausted, asked for one key a call at a time that the caller brings. Every case checks that its decisions
//! were the ones in its name. Decisions follow each other without a pause, so this is throughput.

use std::array;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use ratecell::{Decision, DirectLimiter, Limiter, Policy, Request};

type Key = [u8; 16];

const BATCH: usize = 32;

/// Requests are drawn before the clock starts, at least this many: a shorter list would be learnt by the
/// processor's branch predictor.
const REQUESTS: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allow,
    Deny,
}

impl Answer {
    const BOTH: [Self; 2] = [Self::Allow, Self::Deny];

    fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// A limit by which a key that was charged once always gives this answer, and stays in use.
    fn of_keys(self) -> Policy {
        let policy = match self {
            Self::Allow => Policy::gcra(1, Duration::from_secs(10)).burst(100_000_000),
            Self::Deny => Policy::gcra(1, Duration::from_secs(3600)).burst(1),
        };
        policy.build().expect("an interval and a burst that fit a word")
    }

    /// The same for one limit that takes every request.
    fn of_all(self) -> Policy {
        match self {
            Self::Allow => Policy::gcra(1, Duration::from_nanos(1)).burst(1_000_000_000),
            Self::Deny => Policy::gcra(1, Duration::from_secs(3600)).burst(1),
        }
        .build()
        .expect("an interval and a burst that fit a word")
    }
}

/// Requests for some keys, without end.
struct Requests {
    keys: Vec<Key>,
    next: usize,
    now: u64,
}

impl Requests {
    /// Requests for keys drawn at random, the same in every run; the time begins at `now`.
    fn of(keys: u32, now: u64) -> Self {
        let random = BuildHasherDefault::<DefaultHasher>::default();
        let count = REQUESTS.max((keys as usize).next_multiple_of(BATCH));
        let numbers = (0..count).map(|request| (random.hash_one(request) % u64::from(keys)) as u32);
        Self { keys: numbers.map(key).collect(), next: 0, now }
    }

    /// The next `count` keys, and the caller's time.
    #[inline]
    fn take(&mut self, count: usize) -> (&[Key], u64) {
        let first = if self.next + count <= self.keys.len() { self.next } else { 0 };
        self.next = first + count;
        self.now += 1;
        (&self.keys[first..first + count], self.now)
    }
}

fn key(number: u32) -> Key {
    let mut key = *b"user:ip:00000000";
    for (place, letter) in key[8..].iter_mut().enumerate() {
        *letter = b"0123456789abcdef"[((number >> (4 * place)) & 15) as usize];
    }
    key
}

/// Measures `check`, which says how many of its `decisions` were allowed.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    answer: Answer,
    decisions: usize,
    mut check: impl FnMut() -> usize,
) {
    let (mut allowed, mut asked) = (0, 0);
    group.throughput(Throughput::Elements(decisions as u64));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            allowed += check();
            asked += decisions;
        });
    });
    let others = if answer == Answer::Allow { asked - allowed } else { allowed };
    // A table filled to its advertised capacity finds no room for a key in many thousands, and forgets it.
    assert!(others * 1000 <= asked, "{name}: {others} of {asked} decisions were not to {}", answer.name());
}

fn direct(criterion: &mut Criterion) {
    for answer in Answer::BOTH {
        let mut group = criterion.benchmark_group(format!("direct/{}", answer.name()));
        let limiter = DirectLimiter::new(answer.of_all());
        let _ = limiter.check();
        measure(&mut group, "own_clock/lone", answer, 1, || usize::from(limiter.check().is_allowed()));
        let mut now = limiter.now_ns();
        measure(&mut group, "caller_clock/lone", answer, 1, || {
            now += 1;
            usize::from(limiter.check_at(1, black_box(now)).is_allowed())
        });
    }
}

fn batch<'k>(keys: &'k [Key], request: impl Fn(&'k Key) -> Request<'k>) -> [Request<'k>; BATCH] {
    array::from_fn(|number| request(&keys[number]))
}

fn keyed(criterion: &mut Criterion) {
    for keys in [1_000, 1_000_000] {
        for answer in Answer::BOTH {
            keyed_group(criterion, keys, answer);
        }
    }
}

fn keyed_group(criterion: &mut Criterion, keys: u32, answer: Answer) {
    let limiter = || {
        let builder = Limiter::builder(answer.of_keys()).max_keys(keys as usize);
        builder.build().expect("memory for the table")
    };
    // A key asked for by its hash is another key: each way has a table of its own.
    let (by_key, by_hash) = (limiter(), limiter());
    let random = BuildHasherDefault::<DefaultHasher>::default();
    for number in 0..keys {
        let _ = by_key.check(key(number));
        let _ = by_hash.decide(Request::hashed(random.hash_one(key(number))).cost(1));
    }

    let mut group = criterion.benchmark_group(format!("keyed/{keys}/{}", answer.name()));
    let mut requests = Requests::of(keys, by_key.now_ns());
    measure(&mut group, "own_clock/lone", answer, 1, || {
        let (key, _) = requests.take(1);
        usize::from(by_key.check(key[0]).is_allowed())
    });
    measure(&mut group, "caller_clock/lone", answer, 1, || {
        let (key, now) = requests.take(1);
        usize::from(by_key.check_at(key[0], 1, now).is_allowed())
    });
    let hashes: Vec<u64> = requests.keys.iter().map(|key| random.hash_one(key)).collect();
    let mut hashes = hashes.iter().cycle();
    measure(&mut group, "caller_hash/lone", answer, 1, || {
        let hash = hashes.next().copied().unwrap_or_default();
        usize::from(by_hash.decide(Request::hashed(hash).cost(1).at(requests.now)).is_allowed())
    });
    let mut decisions = [Decision::default(); BATCH];
    let mut allowed = |check: &mut dyn FnMut(&mut [Decision])| {
        check(&mut decisions);
        decisions.iter().filter(|decision| decision.is_allowed()).count()
    };
    measure(&mut group, "own_clock/batch32", answer, BATCH, || {
        allowed(&mut |decisions| {
            let (keys, _) = requests.take(BATCH);
            by_key.decide_batch(&batch(keys, Request::new), decisions);
        })
    });
    measure(&mut group, "caller_clock/batch32", answer, BATCH, || {
        allowed(&mut |decisions| {
            let (keys, now) = requests.take(BATCH);
            by_key.decide_batch(&batch(keys, |key| Request::new(key).at(now)), decisions);
        })
    });
}

criterion_group!(benches, direct, keyed);
criterion_main!(benches);
