//! Which cases meet, over which keys.

use crate::case::{Case, Pace};
use crate::measure::{Series, one_thread, two_processors, two_threads};
use crate::results::{Column, HugePages, Results};
use crate::stores::floor::{self, Floor, Memory, Word};
use crate::stores::{
    Answer, CallerHasher, governor, maps, maps::Map, pingora, ratecell, ratelimit, throttlecrab,
};
use crate::workload::{Key, Order, key, uniform, unseen, zipf};
use crate::{Extent, Only, grouped};

pub(crate) const DIRECT: &str = "One limit for everything";
pub(crate) const LONE: &str = "Uniform keys, each check alone";
pub(crate) const BACK_TO_BACK: &str = "Uniform keys, back to back";
pub(crate) const ZIPF: &str = "Zipf keys, back to back";
pub(crate) const TWO: &str = "Uniform keys, two threads";
pub(crate) const ZIPF_TWO: &str = "Zipf keys, two threads";
pub(crate) const ALGORITHMS: &str = "Each algorithm, 100,000 keys";
pub(crate) const FILLS: &str = "A table as full as that";
pub(crate) const FULLNESS: &str = "1,000 keys by the caller's clock and hash, in a table as full as that";
pub(crate) const NEWCOMERS: &str = "A full table and every request of a new key";
/// What the threads of the tables of two threads take by themselves.
pub(crate) const ALONE: &str = ", one of them alone";

/// The table of one answer.
pub(crate) fn table(title: &str, answer: Answer) -> String {
    format!("{title}, {}", answer.name())
}

/// Cases, and where their results go.
struct Contest<'s> {
    cases: Vec<Case<'s>>,
    answer: Answer,
    baseline: &'static str,
}

impl Contest<'_> {
    fn column(&self, table: &str, name: &str, series: Vec<Series>) -> Column {
        let rows = self.cases.iter().map(|case| case.name).zip(series).collect();
        let (table, name) = (table.to_owned(), name.to_owned());
        Column { table, name, answer: self.answer, rows, baseline: self.baseline, hidden: false }
    }

    fn one(&self, table: &str, name: &str, order: &mut Order, rounds: usize, pace: Pace) -> Column {
        self.column(table, name, one_thread(&self.cases, order, rounds, pace))
    }

    /// Two columns, the second of one of the threads alone; none where there is one processor.
    fn two(&self, table: &str, name: &str, order: &mut Order, rounds: usize) -> Vec<Column> {
        let Some(processors) = two_processors() else { return Vec::new() };
        let series = two_threads(&self.cases, order, rounds, processors);
        let (two, alone) = series.into_iter().map(|together| (together.two, together.alone)).unzip();
        let alone = self.column(&format!("{table}{ALONE}"), name, alone);
        vec![self.column(table, name, two), Column { hidden: true, ..alone }]
    }
}

/// No keys.
pub(crate) fn direct(extent: Extent, only: &Only, results: &mut Results) {
    for answer in Answer::BOTH {
        let table = table(DIRECT, answer);
        if !only.wants(&table) {
            continue;
        }
        let word = Word::default();
        let limit = answer.of_all();
        let (ours, theirs) = (ratecell::Direct::charged(limit), governor::Direct::charged(limit));
        let others = ratelimit::Direct::charged(limit);
        let cases = vec![
            word.load(),
            word.fetch_add(),
            word.exchange(),
            word.own_clock(ours.clock()),
            ours.own_clock(),
            ours.caller_clock(),
            theirs.own_clock(),
            theirs.caller_clock(),
            others.own_clock(),
            others.caller_clock(),
        ];
        let contest = Contest { cases, answer, baseline: governor::DIRECT_OWN_CLOCK };
        let mut keys = uniform(1);
        let columns = &mut results.columns;
        columns.push(contest.one(&table, "1 thread, alone", &mut keys, extent.rounds, Pace::Lone));
        columns.push(contest.one(&table, "1 thread", &mut keys, extent.rounds, Pace::BackToBack));
        columns.extend(contest.two(&table, "2 threads", &mut keys, extent.rounds_of_two));
    }
}

/// A map with all its keys charged once.
fn charged<M: Map<Key>>(map: M, keys: u32) -> M {
    let now = crate::stores::CallerClock::set();
    for key in (0..keys).map(key) {
        map.check(&key, now);
    }
    map
}

/// `keys` that every store holds.
pub(crate) fn keyed(extent: Extent, only: &Only, keys: u32, results: &mut Results) {
    for answer in Answer::BOTH {
        let wanted = [LONE, BACK_TO_BACK, ZIPF, TWO, ZIPF_TWO].map(|title| only.wants(&table(title, answer)));
        if !wanted.contains(&true) {
            continue;
        }
        let limit = answer.of_keys();
        let (ours, ((theirs, papaya, scc), (sharded, locked, sketch, crab))) = std::thread::scope(|scope| {
            // Two at a time, as many as there are processors.
            let ours = scope.spawn(|| ratecell::Keyed::filled(limit, keys));
            let papaya = charged(maps::Papaya::new(limit, keys), keys);
            let scc = charged(maps::Scc::new(limit, keys), keys);
            let sharded = charged(maps::Sharded::new(limit, keys), keys);
            let locked = charged(maps::Locked::new(limit, keys), keys);
            let sketch = pingora::Keyed::filled(limit, keys);
            let crab = throttlecrab::Keyed::filled(limit, keys);
            let theirs = governor::Keyed::filled(limit, keys);
            let ours = ours.join().expect("filling does not panic");
            (ours, ((theirs, papaya, scc), (sharded, locked, sketch, crab)))
        });
        let mut memory = [(); 3].map(|()| Memory::of(ours.bytes()));
        let [load, fetch_add, buckets]: [Floor<'_>; 3] = memory.each_mut().map(Memory::floor);
        results.huge_pages.extend(HugePages::of_this_process(keys, answer));

        let own = floor::own_hash_and_clock(ours.clock());
        let mut cases = vec![load.hash(), load.load(), fetch_add.fetch_add(), buckets.buckets(), own];
        cases.extend(ours.lone());
        cases.extend(ours.batches());
        cases.extend([theirs.own_clock(), theirs.caller_clock(), theirs.caller_hash()]);
        cases.extend(ours.hash_batches());
        cases.extend([theirs.hash_map_own_clock(), theirs.hash_map_caller_hash()]);
        cases.extend([maps::case(maps::PAPAYA, &papaya), maps::case(maps::SCC, &scc)]);
        cases.extend([maps::case(maps::SHARDED, &sharded), maps::case(maps::MUTEX, &locked)]);
        cases.extend([crab.case(), sketch.case()]);

        let contest = Contest { cases, answer, baseline: governor::OWN_CLOCK };
        let name = grouped(keys);
        let one = |title, mut order, pace| {
            contest.one(&table(title, answer), &name, &mut order, extent.rounds, pace)
        };
        let two =
            |title, mut order| contest.two(&table(title, answer), &name, &mut order, extent.rounds_of_two);
        let [lone, back_to_back, skewed, together, skewed_together] = wanted;
        let columns = &mut results.columns;
        columns.extend(lone.then(|| one(LONE, uniform(keys), Pace::Lone)));
        columns.extend(back_to_back.then(|| one(BACK_TO_BACK, uniform(keys), Pace::BackToBack)));
        // Of one key there is one distribution.
        columns.extend((skewed && keys > 1).then(|| one(ZIPF, zipf(keys), Pace::BackToBack)));
        columns.extend(together.then(|| two(TWO, uniform(keys))).into_iter().flatten());
        columns
            .extend((skewed_together && keys > 1).then(|| two(ZIPF_TWO, zipf(keys))).into_iter().flatten());
    }
}

/// A table built for `max_keys` while other numbers of keys are in use.
pub(crate) fn fills(extent: Extent, only: &Only, max_keys: u32, results: &mut Results) {
    for answer in Answer::BOTH {
        let table = table(&format!("{FILLS}, built for {} keys", grouped(max_keys)), answer);
        if !only.wants(&table) {
            continue;
        }
        // A key beyond the capacity is forgotten for another, and starts anew: no request is denied for long.
        let beyond: &[u32] = if answer == Answer::Allowed { &[400] } else { &[] };
        for percent in [50, 75, 100].iter().chain(beyond) {
            let keys = (u64::from(max_keys) * u64::from(*percent) / 100) as u32;
            let limit = answer.of_keys();
            let (single, batched) =
                (ratecell::by_key(limit, max_keys, keys), ratecell::by_key(limit, max_keys, keys));
            let theirs = governor::Pair::filled(limit, keys);
            let mut cases = vec![
                ratecell::own_clock(&single),
                ratecell::batch_by_key::<32>(ratecell::BATCH_32, &batched),
            ];
            cases.extend(theirs.cases());
            let contest = Contest { cases, answer, baseline: governor::OWN_CLOCK };
            let name = format!("{percent} %");
            let order = &mut uniform(keys);
            let mut one = |name: &str, pace| {
                results.columns.push(contest.one(&table, name, order, extent.rounds, pace));
            };
            one(&format!("{name}, alone"), Pace::Lone);
            one(&name, Pace::BackToBack);
        }
    }
}

/// The same few keys in tables of several sizes, beside a lock around a map.
pub(crate) fn fullness(extent: Extent, only: &Only, results: &mut Results) {
    const KEYS: u32 = 1_000;
    for answer in Answer::BOTH {
        let table = table(FULLNESS, answer);
        if !only.wants(&table) {
            continue;
        }
        let (limit, hasher) = (answer.of_keys(), CallerHasher::default());
        let built = |times| ratecell::by_hash(ratecell::policy(limit), &hasher, times * KEYS, KEYS);
        let tables = [
            (ratecell::AS_FULL_AS_ADVERTISED, built(1)),
            (ratecell::HALF_FULL, built(2)),
            (ratecell::EIGHTH_FULL, built(8)),
        ];
        let locked = charged(maps::Locked::new(limit, KEYS), KEYS);
        let ours = tables.iter().map(|(name, limiter)| ratecell::by_caller_hash(name, limiter, &hasher));
        let cases = ours.chain([maps::case(maps::MUTEX, &locked)]).collect();
        let contest = Contest { cases, answer, baseline: maps::MUTEX };
        let mut order = uniform(KEYS);
        let mut one =
            |name, pace| results.columns.push(contest.one(&table, name, &mut order, extent.rounds, pace));
        one("alone", Pace::Lone);
        one("back to back", Pace::BackToBack);
    }
}

/// Newcomers to stores that hold all the keys that a table was built for: first all of them live, then, by a
/// clock set past the limit's interval, all as good as new.
pub(crate) fn newcomers(extent: Extent, only: &Only, keys: u32, results: &mut Results) {
    const HOUR: u64 = 3600 * 1_000_000_000;
    let answer = Answer::Allowed;
    let table = table(&format!("{NEWCOMERS}, built for {} keys", grouped(keys)), answer);
    if !only.wants(&table) {
        return;
    }
    let limit = answer.of_keys();
    let hasher = CallerHasher::default();
    let ours = ratecell::by_hash(ratecell::policy(limit), &hasher, keys, keys);
    let theirs = governor::Pair::filled(limit, keys);
    let order = &mut unseen(keys);
    for (name, ahead) in [("the others live", 0), ("the others expired", HOUR)] {
        let cases = vec![ratecell::ahead(ratecell::CALLER_HASH, &ours, &hasher, ahead), theirs.ahead(ahead)];
        let contest = Contest { cases, answer, baseline: governor::CALLER_HASH };
        results.columns.push(contest.one(&table, name, order, extent.rounds, Pace::BackToBack));
    }
}

/// The policies of each algorithm, with what they are called and by which every key that was charged once is
/// allowed, or denied.
const POLICIES: [(&str, &str, &str); 10] = [
    ("gcra", "gcra 1/10m burst=1000000", "gcra 1/10m"),
    ("token_bucket", "token_bucket 1/10m capacity=1000000", "token_bucket 1/10m capacity=1"),
    (
        "token_bucket, by the interval",
        "token_bucket 1/10m capacity=1000000 mode=interval",
        "token_bucket 1/10m capacity=1 mode=interval",
    ),
    ("leaky_meter", "leaky_meter 1/10m capacity=1000000", "leaky_meter 1/10m capacity=1"),
    ("leaky_queue", "leaky_queue 1/10m queue=1000000", "leaky_queue 1/10m queue=0"),
    ("sliding_window", "sliding_window 1000000/1h", "sliding_window 1/1h"),
    ("sliding_window, strict", "sliding_window 1000000/1h strict=true", "sliding_window 1/1h strict=true"),
    ("sliding_log", "sliding_log 5000/1h", "sliding_log 1/1h"),
    ("fixed_window", "fixed_window 1000000/1d", "fixed_window 1/1d"),
    (
        "two layers: gcra & fixed_window",
        "gcra 1/10m burst=1000000 & fixed_window 1000000/1d",
        "gcra 1/10m & fixed_window 1/1d",
    ),
];

pub(crate) fn algorithms(extent: Extent, only: &Only, results: &mut Results) {
    const KEYS: u32 = 100_000;
    for answer in Answer::BOTH {
        let table = table(ALGORITHMS, answer);
        if !only.wants(&table) {
            continue;
        }
        let hasher = CallerHasher::default();
        let filled = POLICIES.map(|(name, allowed, denied)| {
            let policy = if answer == Answer::Allowed { allowed } else { denied };
            let policy = policy.parse().expect("a policy of the grammar");
            (name, ratecell::by_hash(policy, &hasher, KEYS, KEYS))
        });
        let cases = filled.iter().map(|(name, limiter)| ratecell::by_caller_hash(name, limiter, &hasher));
        let contest = Contest { cases: cases.collect(), answer, baseline: "gcra" };
        let mut order = uniform(KEYS);
        let mut one =
            |name, pace| results.columns.push(contest.one(&table, name, &mut order, extent.rounds, pace));
        one("1 thread, alone", Pace::Lone);
        one("1 thread", Pace::BackToBack);
        results.columns.extend(contest.two(&table, "2 threads", &mut order, extent.rounds_of_two));
    }
}
