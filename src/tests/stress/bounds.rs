//! What a key may get while time passes: its bound between any two rounds, and by how much it got more.
//!
//! Also the tests of processes use this file: they see nothing of the crate's inside.

pub(crate) const PERIOD: u64 = 10_000;
pub(crate) const CAPACITY: u64 = 6;
/// How far clocks differ, where they do.
pub(crate) const SKEW: u64 = 3_000;

/// The most that a key may get between two instants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// So many units a period, evenly.
    Rate(u64),
    /// So many units at each multiple of the period.
    Refills(u64),
    /// So many units at each period after some request.
    RefillsFromFirst(u64),
    /// The capacity in each period, which begins so many nanoseconds after its multiple.
    Windows(u64),
    WindowsFromFirst,
    /// The capacity in each two neighbouring windows.
    Pairs,
    /// The capacity in each window, where the one before counts by the part of it that is less than a period ago.
    Sliding {
        rounded_up: bool,
    },
}

/// Every kind of word.
pub(crate) const KINDS: [(&str, Bound); 11] = [
    ("4/10us burst=6", Bound::Rate(4)),
    ("leaky_queue 4/10us queue=4 burst=2", Bound::Rate(4)),
    ("token_bucket 4/10us capacity=6 mode=interval", Bound::Refills(4)),
    ("token_bucket 4/10us capacity=6 mode=interval_first", Bound::RefillsFromFirst(4)),
    ("fixed_window 6/10us", Bound::Windows(0)),
    ("fixed_window 6/10us offset=3us", Bound::Windows(3_000)),
    ("fixed_window 6/10us start=first", Bound::WindowsFromFirst),
    ("calendar_window 6/day tz=UTC", Bound::Windows(0)),
    ("in_flight 6 hold=10us", Bound::Pairs),
    ("sliding_window 6/10us", Bound::Sliding { rounded_up: false }),
    ("sliding_window 6/10us strict=true", Bound::Sliding { rounded_up: true }),
];

/// The nanoseconds that pass for a policy while one passes for its bound: the least window of a calendar is a day.
pub(crate) fn pace(policy: &str) -> u64 {
    const DAY: u64 = 86_400_000_000_000;
    if policy.starts_with("calendar_window") { DAY / PERIOD } else { 1 }
}

/// The instants that clocks show in one round, and the keys that are asked for in it: the others drain. Of two rounds
/// the later one's instants are no earlier.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) from: u64,
    pub(crate) to: u64,
    first_key: u64,
    /// How many keys there are in all.
    all_keys: u64,
    /// How many of them are asked for.
    keys: u64,
}

impl Round {
    /// One of the keys that are asked for.
    pub(crate) fn key(&self, drawn: u64) -> usize {
        ((self.first_key + drawn % self.keys) % self.all_keys) as usize
    }
}

/// So many rounds on so many keys, with clocks so far apart.
pub(crate) fn rounds(count: usize, all_keys: u64, skew: u64, mut random: impl FnMut() -> u64) -> Vec<Round> {
    let mut from = 5 * PERIOD;
    let round = |_| {
        let step = random();
        // To the next window, for a part of a period, and at times until all is fresh.
        from = match step % 16 {
            0..4 => (from / PERIOD + 1) * PERIOD,
            15 => from + 3 * PERIOD,
            _ => from + (step >> 8) % (PERIOD / 3),
        };
        let kind = random();
        let (first_key, keys) = (kind % all_keys, 1 + (kind >> 16) % all_keys);
        Round { from, to: from + skew, first_key, all_keys, keys }
    };
    (0..count).map(round).collect()
}

/// Units that a key was admitted, at instants of the round `first`, and no later than in the round `last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted {
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) units: u64,
}

fn window(instant: u64, offset: u64) -> u64 {
    (instant + PERIOD - offset) / PERIOD
}

impl Bound {
    /// The most between the two instants; `begun` says whether a window may have begun before the first of them.
    fn most(self, least: u64, greatest: u64, begun: bool) -> u64 {
        let span = greatest - least;
        match self {
            Self::Rate(rate) => CAPACITY + span * rate / PERIOD,
            Self::Refills(refill) => CAPACITY + refill * (window(greatest, 0) - window(least, 0)),
            Self::RefillsFromFirst(refill) => CAPACITY + refill * (span / PERIOD + u64::from(begun)),
            Self::Windows(offset) => CAPACITY * (window(greatest, offset) - window(least, offset) + 1),
            Self::WindowsFromFirst => CAPACITY * (span / PERIOD + 1 + u64::from(begun)),
            Self::Pairs => CAPACITY * (window(greatest, 0) - window(least, 0) + 1).div_ceil(2),
            Self::Sliding { .. } => CAPACITY * (window(greatest, 0) - window(least, 0) + 1),
        }
    }

    /// How much more than its bound a key got between any two rounds. What it got is in the order of `first`; no window
    /// of it began before the round `begun`. An even rate bounds what has its instants in an interval, whenever it was
    /// admitted; a window may have ended by another's clock that was ahead.
    pub(crate) fn excess(self, rounds: &[Round], admitted: &[Admitted], begun: usize) -> u64 {
        let mut earlier = admitted.iter().rev().peekable();
        let mut by_last = vec![0; rounds.len()];
        let mut beyond = 0;
        for (from, first) in rounds.iter().enumerate().rev() {
            while let Some(admitted) = earlier.next_if(|admitted| admitted.first == from) {
                let last = if matches!(self, Self::Rate(_)) { admitted.first } else { admitted.last };
                by_last[last] += admitted.units;
            }
            let mut sum = 0_u64;
            for (last, units) in rounds.iter().zip(&by_last).skip(from) {
                sum += units;
                beyond = beyond.max(sum.saturating_sub(self.most(first.from, last.to, from > begun)));
            }
        }
        assert!(earlier.next().is_none(), "not in order: {admitted:?}");
        match self {
            Self::Sliding { rounded_up } => beyond.max(weighted_excess(rounds, admitted, rounded_up)),
            _ => beyond,
        }
    }
}

/// How much a sliding window's estimate exceeded the capacity, of admissions of which the window is certain: no clock
/// has shown another one from the round in which they were asked for to the one in which they were made.
fn weighted_excess(rounds: &[Round], admitted: &[Admitted], rounded_up: bool) -> u64 {
    let certain = |first: usize, last: usize| {
        let at = window(rounds[first].from, 0);
        (at == window(rounds[last].to, 0)).then_some(at)
    };
    let counted = admitted.iter().filter_map(|Admitted { first, last, units }| {
        let at = certain(*first, *last)?;
        Some((at, *last, *units))
    });
    let counted: Vec<_> = counted.collect();
    let beyond = |number: usize| {
        let now = certain(number, number)?;
        let (mut previous, mut current) = (0, 0);
        for (at, _, units) in counted.iter().filter(|(_, last, _)| *last <= number) {
            match now.checked_sub(*at) {
                Some(0) => current += units,
                Some(1) => previous += units,
                _ => {}
            }
        }
        let weight = previous * (PERIOD - rounds[number].to % PERIOD);
        let weight = if rounded_up { weight.div_ceil(PERIOD) } else { weight / PERIOD };
        (current > 0).then(|| (weight + current).saturating_sub(CAPACITY))
    };
    (0..rounds.len()).filter_map(beyond).max().unwrap_or(0)
}
