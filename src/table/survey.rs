//! How many keys a table holds: counted, or estimated from a sample.
//!
//! A count reads every bucket, and so makes all of the memory resident, also what no key has touched: which pages
//! those are, nobody says. (`mincore` calls a page that was swapped out or written back as absent as one that never
//! was.) A sample reads the same runs of buckets each time, evenly spread: the key hash is uniform and secret, so
//! which keys are in them is left to chance.

use core::ops::Range;

use super::Table;
use super::counters::Stats;
use super::entries::Entry;
use super::judge::Judge;
use ratecell_core::algorithm::Algorithm;

/// Neighbouring buckets that are looked at together: 16 KiB.
const RUN: usize = 128;
const RUNS: usize = 256;
/// Up to here nothing is left out: a table for 163,840 keys.
const SAMPLE: usize = RUN * RUNS;
const _: () = assert!(super::keys_in(SAMPLE) == 163_840);
/// Standard errors of an estimate that are stated as its error. A normal distribution is beyond four in 1 of 16,000.
const SIGMAS: u128 = 4;

/// What a survey counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Every bucket.
    All,
    /// At most [`SAMPLE`] buckets.
    Sample,
}

/// A number that was counted in a whole table or estimated for it, and by how much that may be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) number: usize,
    pub(crate) error: usize,
}

/// The buckets that a survey of so many looks at: in one run, which is all of them, or in [`RUNS`].
pub(super) fn runs(buckets: usize, extent: Extent) -> impl ExactSizeIterator<Item = Range<usize>> {
    let is_whole = extent == Extent::All || buckets <= SAMPLE;
    let (count, apart, len) = if is_whole { (1, 0, buckets) } else { (RUNS, buckets / RUNS, RUN) };
    (0..count).map(move |run| run * apart..run * apart + len)
}

/// The number of something in so many buckets, by those that were found in each of the [`runs`].
pub(crate) fn count(buckets: usize, found: &[usize]) -> Count {
    match found {
        [all] => Count { number: *all, error: 0 },
        found => estimate(buckets, found.iter().copied()),
    }
}

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// What has happened, and how many keys are not fresh at `now`.
    pub(crate) fn stats<A: Algorithm>(&self, algorithm: &A, now: u64, extent: Extent) -> Stats {
        let live = |run: Range<usize>| {
            let entries = self.entries_in(run.start, run.len());
            let weight = |entry: &Entry<'_, SLOTS>| {
                self.era.weight(algorithm, entry.tag, self.word_in_era(entry.tag, entry.word), now)
            };
            entries.filter(|entry| weight(entry) > 0).count()
        };
        let runs = runs(self.buckets.count(), extent);
        // Nothing is allocated, so that nothing can fail.
        let (mut found, count) = ([0; RUNS], runs.len());
        found.iter_mut().zip(runs).for_each(|(found, run)| *found = live(run));
        self.stats_by(found.get(..count).unwrap_or_default())
    }

    /// What has happened, and how many keys are live by those that were found in each run.
    pub(crate) fn stats_by(&self, found: &[usize]) -> Stats {
        let buckets = self.buckets.count();
        let live = count(buckets, found);
        let slots = buckets * SLOTS;
        Stats {
            slots,
            live: live.number.min(slots),
            live_error: live.error.min(slots),
            bytes: Self::bytes(buckets).unwrap_or(usize::MAX),
            ..self.counters.sum()
        }
    }
}

/// The keys in so many buckets, by those that were found in [`RUNS`] runs of them.
///
/// The variance is that between the runs: whatever makes neighbouring buckets alike is in it. Where few keys are found
/// it says nothing, and the number itself is taken for it, as of a Poisson distribution. The error solves
/// |found - expected| = z sqrt(expected) for the expected number, which gives a bound where none is found, too.
///
/// Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
fn estimate(buckets: usize, found: impl Iterator<Item = usize>) -> Count {
    const RUNS_WIDE: u128 = RUNS as u128;
    let sampled = SAMPLE as u128;
    let all = buckets as u128;
    let (mut sum, mut squares) = (0_u128, 0_u128);
    for found in found {
        let found = found as u128;
        sum += found;
        squares += found * found;
    }
    let variance = ((RUNS_WIDE * squares).saturating_sub(sum * sum) / (RUNS_WIDE - 1)).max(sum);
    // Of the buckets that were not looked at, in the sample's own numbers, times 16 to round less.
    let unseen = all.saturating_sub(sampled);
    let spread = (variance + SIGMAS * SIGMAS / 4) * 256 * SIGMAS * SIGMAS;
    let spread = spread.saturating_mul(unseen) / all.max(1);
    let error = (spread.isqrt() + 1 + 8 * SIGMAS * SIGMAS) * all / (16 * sampled);
    let live = (sum * all + sampled / 2) / sampled;
    let narrow = |number: u128| usize::try_from(number).unwrap_or(usize::MAX);
    Count { number: narrow(live), error: narrow(error + 1) }
}

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::{Lookup, WhenFull};
    use crate::tests::kernels::kernel;
    use ratecell_core::algorithm::Gcra;
    use ratecell_core::algorithm::Kernel;
    use ratecell_core::with_kernel;

    fn gcra() -> Gcra {
        match kernel("1/s") {
            Kernel::Gcra(gcra) => gcra,
            _ => panic!("1/s is another"),
        }
    }

    /// Numbers that look random, the same each time.
    ///
    /// Source: SplitMix64, S. Vigna.
    fn hashes(seed: u64) -> impl Iterator<Item = u64> {
        (0..).map(move |number: u64| {
            let mut mixed = (seed << 32 | number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        })
    }

    fn holding(buckets: usize, hashes: impl Iterator<Item = u64>) -> Table {
        let table = Table::alone(buckets, WhenFull::Deny);
        for h in hashes {
            let decision = table.check(&gcra(), h, 0, 1, Lookup::NotYet);
            assert!(decision.is_allowed(), "expected room for all");
        }
        table
    }

    proptest! {
        #[test]
        fn what_is_counted_is_what_a_walk_finds(
            keys in 0_usize..3_000,
            buckets in 1_usize..800,
            seed: u32,
            now in 0_u64..3_000_000_000,
            number in 0_usize..6,
        ) {
            let table = <Table>::alone(buckets, WhenFull::Evict);
            with_kernel!(&kernel(crate::tests::kernels::FIFTY_EACH[number]), algorithm => {
                for (at, h) in hashes(seed.into()).take(keys).enumerate() {
                    let _ = table.check(algorithm, h, at as u64 * 1_000_000, 1 + (h % 50) as u32, Lookup::NotYet);
                }
                let live = table.entries().filter(|entry| algorithm.fresh_at(entry.word) > now).count();
                for extent in [Extent::All, Extent::Sample] {
                    let stats = table.stats(algorithm, now, extent);
                    prop_assert_eq!((stats.live, stats.live_error), (live, 0));
                }
            });
        }
    }

    /// Tables of which a half to a 16th is looked at, from empty to full.
    #[test]
    fn an_estimate_is_as_near_as_it_says() {
        for (seed, buckets) in [(1, SAMPLE + 1), (2, 2 * SAMPLE), (3, 5 * SAMPLE + 77), (4, 16 * SAMPLE)] {
            let mut taken = 0;
            let table = holding(buckets, core::iter::empty());
            for keys in [0, 1, 10, 100, 1_000, 10_000, buckets, 3 * buckets] {
                for h in hashes(seed).take(keys).skip(taken) {
                    assert!(table.check(&gcra(), h, 0, 1, Lookup::NotYet).is_allowed());
                }
                taken = keys;
                let counted = table.stats(&gcra(), 0, Extent::All);
                let estimated = table.stats(&gcra(), 0, Extent::Sample);
                assert_eq!((counted.live, counted.live_error), (keys, 0));
                let off = estimated.live.abs_diff(keys);
                let error = estimated.live_error;
                assert!(off <= error, "{keys} keys in {buckets} buckets: {estimated:?}");
                // Nor does it say much more than it must.
                assert!(keys > 0 || error < 17 * (buckets / SAMPLE + 1), "{estimated:?}");
                assert!(keys < buckets || error < keys * 3 / 100, "{keys} keys: {estimated:?}");
            }
        }
    }

    /// Four standard errors: of hundreds of estimates none is farther off, and a third are beyond a quarter of it.
    #[test]
    fn the_error_is_four_standard_errors() {
        const BUCKETS: usize = 4 * SAMPLE;
        let expected = 8_000_usize;
        let (mut beyond, mut beyond_a_quarter) = (0, 0);
        for seed in 0..400 {
            let mut found = [0_usize; RUNS];
            for h in hashes(seed).take(expected) {
                // The home alone, in a table of that many buckets.
                let home = ((u128::from(h) * BUCKETS as u128) >> 64) as usize;
                let (run, place) = (home / (BUCKETS / RUNS), home % (BUCKETS / RUNS));
                found[run] += usize::from(place < RUN);
            }
            let Count { number: live, error } = estimate(BUCKETS, found.into_iter());
            let off = live.abs_diff(expected);
            beyond += usize::from(off > error);
            beyond_a_quarter += usize::from(off > error / 4);
        }
        assert_eq!(beyond, 0);
        // A normal distribution has 32 % beyond one standard error.
        assert!((80..160).contains(&beyond_a_quarter), "{beyond_a_quarter} of 400");
    }

    #[test]
    fn no_size_is_too_much() {
        for buckets in [SAMPLE + 1, 1 << 40, usize::MAX / 128] {
            for found in [0, 1, RUN * 7] {
                let Count { number: live, error } = estimate(buckets, core::iter::repeat_n(found, RUNS));
                assert!(live >= found * RUNS && error > 0, "{buckets} buckets: {live}, {error}");
            }
        }
    }
}
