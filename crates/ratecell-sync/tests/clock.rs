//! The store's time as a machine knows it, while both clocks are slewed, messages are slow, and the machine is stopped.

use ratecell_sync::StoreClock;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// Each clock is slewed and drifts by up to so many millionths, so that they run apart by less than 0.2 %.
const MOST_PPM: u64 = 990;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// Of any order of magnitude below `bound`.
    fn spread(&mut self, bound: u64) -> u64 {
        let bits = self.below(u64::from(bound.ilog2()));
        self.below(bound >> bits).max(1)
    }
}

/// A clock whose rate changes.
struct Slewed {
    shows: u64,
    ppm: u64,
}

impl Slewed {
    fn pass(&mut self, truly: u64) {
        // Rounded to the nearest: a clock of whole nanoseconds, which has no drift of its own.
        self.shows += (truly * (1_000_000 - MOST_PPM + self.ppm) + 500_000) / 1_000_000;
    }
}

/// What two clocks show, and what the machine makes of the store's.
struct World {
    random: Random,
    machine: Slewed,
    store: Slewed,
    clock: StoreClock,
    latest: u64,
    most_behind: u64,
}

impl World {
    /// Time passes, in which the clocks are slewed now and then.
    fn pass(&mut self, truly: u64) {
        let mut left = truly;
        while left > 0 {
            let part = left.min(1 + self.random.spread(SECOND));
            self.machine.pass(part);
            self.store.pass(part);
            left -= part;
            match self.random.below(4) {
                0 => self.machine.ppm = self.random.below(2 * MOST_PPM + 1),
                1 => self.store.ppm = self.random.below(2 * MOST_PPM + 1),
                // As far apart as they come.
                2 => (self.machine.ppm, self.store.ppm) = (2 * MOST_PPM, 0),
                _ => (self.machine.ppm, self.store.ppm) = (0, 2 * MOST_PPM),
            }
        }
    }

    fn look(&mut self, rounding: u64) {
        let (now, truth) = (self.machine.shows, self.store.shows);
        let at = self.clock.at(now);
        assert!(at <= truth + rounding, "{at} is ahead of {truth} at {now}");
        assert!(at >= self.latest, "{at} after {}", self.latest);
        self.latest = at;
        // The lag is by the machine's clock, and of a reading in whole microseconds.
        let behind = truth.saturating_sub(at);
        let lag = self.clock.lag_ns(now);
        let said = lag + lag.div_ceil(500) + 1_000 + rounding;
        assert!(behind <= said, "{behind} ns behind at {now}, which says {lag}");
        self.most_behind = self.most_behind.max(behind);
    }
}

#[test]
fn it_is_never_ahead_and_behind_by_a_round_trip_and_its_age() {
    let rounds: u64 = if std::env::var("DEPTH").is_ok_and(|depth| depth == "long") { 20_000 } else { 500 };
    for seed in 0..rounds {
        let mut random = Random(seed);
        let machine = Slewed { shows: SECOND + random.below(1 << 50), ppm: MOST_PPM };
        let store = Slewed { shows: SECOND + random.below(1 << 55), ppm: MOST_PPM };
        let clock = StoreClock::default();
        let mut world = World { random, machine, store, clock, latest: 0, most_behind: 0 };
        for _ in 0..50 {
            let sent = world.machine.shows;
            let way = world.random.spread(SECOND / 2);
            world.pass(way);
            let read = world.store.shows / 1_000 * 1_000;
            let way = world.random.spread(SECOND / 2);
            world.pass(way);
            world.clock.note(read, sent, world.machine.shows);
            // Each part of a pass may round up and down by a nanosecond.
            world.look(64);
            for _ in 0..world.random.below(8) {
                // Sometimes the machine is stopped, or suspended.
                let longest = if world.random.below(10) == 0 { 1_000 * SECOND } else { SECOND };
                let pause = world.random.spread(longest);
                world.pass(pause);
                world.look(64);
            }
        }
        assert!(world.most_behind > 0, "seed {seed}: the clocks agree");
    }
}
