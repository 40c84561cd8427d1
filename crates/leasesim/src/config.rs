//! What is simulated.

use crate::random::Random;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

/// A fault that is planted in the machines, beside the agent, to show that the checks see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The units of any two leases are added, until the later end.
    MergeLater,
    /// Units are used after their lease's end.
    PastTheEnd,
    /// Units do not pass before the lease's end.
    NoDrain,
    /// The machine believes that the store's clock shows more than it does.
    ClockAhead,
    /// A change: a key is carried at the instant at which a machine reads the record.
    LateCarry,
    /// A change: a take does not compare the generation.
    NoByte,
    /// A change: what is carried stands under its old generation.
    OldByte,
    /// A change: the batch does not look at the record.
    NoLook,
    /// A change: its instant is read before it is published.
    EarlyInstant,
    /// A change: no key is carried that nobody asks for, and values expire soon.
    NoSweep,
    /// A change: leases are used to their end, by the rate before.
    OldLeases,
    /// A change: leases are used to their end, by the new rate.
    NewRateLeases,
    /// A change: what is left of leases is added to new ones.
    MergedLeases,
    /// A change: a machine that starts changes back to what it was configured with.
    StartChanges,
}

impl Fault {
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("merge-later", Self::MergeLater),
        ("past-the-end", Self::PastTheEnd),
        ("no-drain", Self::NoDrain),
        ("clock-ahead", Self::ClockAhead),
    ];
    pub(crate) const OF_CHANGE: [(&'static str, Self); 10] = [
        ("late-carry", Self::LateCarry),
        ("no-byte", Self::NoByte),
        ("old-byte", Self::OldByte),
        ("no-look", Self::NoLook),
        ("early-instant", Self::EarlyInstant),
        ("no-sweep", Self::NoSweep),
        ("old-leases", Self::OldLeases),
        ("new-rate-leases", Self::NewRateLeases),
        ("merged-leases", Self::MergedLeases),
        ("start-changes", Self::StartChanges),
    ];
}

/// When a machine's callers come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Steady,
    /// Two halves of the machines by turns of so many nanoseconds, each with twice its rate.
    Halves(u64),
    /// A tenth of the time, at random, with ten times its rate.
    Tenth,
}

/// What the store forgets, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forgets {
    Nothing,
    /// Each so many nanoseconds, the last second of its writes; those who are connected notice.
    LastSecond(u64),
    /// Each so many nanoseconds, all; nobody notices.
    All(u64),
}

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) policy: String,
    pub(crate) machines: usize,
    pub(crate) keys: u64,
    /// Requests a second for each key, of all machines together.
    pub(crate) rate: f64,
    /// The machine i has 1/i of the first one's requests.
    pub(crate) is_uneven: bool,
    pub(crate) pattern: Pattern,
    pub(crate) duration: u64,
    /// The median time for a message to go and its answer to come.
    pub(crate) rtt: u64,
    /// A caller's longest wait.
    pub(crate) wait: u64,
    /// The part of messages that is lost, each way.
    pub(crate) loss: f64,
    /// The part of messages that is late by up to two seconds, each way.
    pub(crate) late: f64,
    /// The part of batches that the store does twice.
    pub(crate) twice: f64,
    /// The part of requests that cost more than a unit, or charge as much as there is.
    pub(crate) costly: f64,
    /// The greatest part by which a machine's clock is too fast or too slow, in thousandths.
    pub(crate) drift: f64,
    /// Mean nanoseconds between a machine's stops, each of up to three seconds; 0: none.
    pub(crate) stops: u64,
    /// Between a machine's crashes; 0: none.
    pub(crate) crashes: u64,
    /// Between the times in which a machine does not reach the store, each of up to five seconds; 0: none.
    pub(crate) partitions: u64,
    /// Between the steps of the store's clock, each of up to a second to and fro; 0: none.
    pub(crate) clock_steps: u64,
    pub(crate) forgets: Forgets,
    /// Machines among which the policy is divided while the store is away.
    pub(crate) local: Option<u32>,
    /// Whether what a machine charged is put back where the store forgot it.
    pub(crate) heals: bool,
    pub(crate) fault: Option<Fault>,
    /// When a machine changes the policy, which machine, and to what.
    pub(crate) changes: Vec<(u64, usize, String)>,
    /// A value outlives its words by so much less than it does, in milliseconds.
    pub(crate) expires_earlier_ms: u64,
    pub(crate) seed: u64,
}

/// Policies of all kinds whose units are lent.
const POLICIES: [&str; 23] = [
    "1000/s burst=1000",
    "100/s burst=10",
    "100/s burst=3",
    "7/3s burst=20",
    "1/s burst=1",
    "100/s burst=10 heal=5s",
    "sliding_window 100/1s heal=5s",
    "10/s burst=20",
    "leaky_meter 30/s capacity=8",
    "leaky_queue 50/s queue=6",
    "token_bucket 30/1s capacity=40",
    "token_bucket 50/1s capacity=100 mode=interval",
    "token_bucket 5/100ms capacity=8 mode=interval",
    "token_bucket 30/1s capacity=70 mode=interval_first",
    "fixed_window 100/1s offset=300ms",
    "fixed_window 20/200ms",
    "fixed_window 100/1s start=first",
    "fixed_window 1000/1m",
    "sliding_window 100/1s",
    "sliding_window 40/300ms strict=true",
    "sliding_window 1/1s",
    "100/s burst=50 & fixed_window 300/5s",
    "sliding_window 200/2s & token_bucket 20/200ms capacity=30 mode=interval & 300/s burst=40",
];

impl Config {
    /// One key, machines with equal demand, and nothing that goes wrong.
    pub(crate) fn plain(policy: &str, machines: usize, rate: f64) -> Self {
        Self {
            policy: policy.to_owned(),
            machines,
            keys: 1,
            rate,
            is_uneven: false,
            pattern: Pattern::Steady,
            duration: 20 * SECOND,
            rtt: MS,
            wait: 50 * MS,
            loss: 0.0,
            late: 0.0,
            twice: 0.0,
            costly: 0.0,
            drift: 0.0,
            stops: 0,
            crashes: 0,
            partitions: 0,
            clock_steps: 0,
            forgets: Forgets::Nothing,
            local: None,
            heals: true,
            fault: None,
            changes: Vec::new(),
            expires_earlier_ms: 0,
            seed: 1,
        }
    }

    /// Any configuration whose policy changes.
    pub(crate) fn changing(seed: u64, fault: Option<Fault>) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x9E6C_63D0_985B_1A2B) ^ 0x5555);
        let random = &mut random;
        let kind = random.below(10);
        let policy = |random: &mut Random| {
            let per_second = random.pick(&[2, 5, 20, 100, 400]);
            let burst = random.pick(&[1, 3, 10, 50, 200]);
            match kind {
                0..5 => format!("{per_second}/s burst={burst}"),
                5 | 6 => format!("fixed_window {per_second}/1s"),
                7 => format!("sliding_window {per_second}/1s"),
                8 => format!("token_bucket {per_second}/1s capacity={burst} mode=interval"),
                _ => format!("{per_second}/s burst={burst} & fixed_window {}/2s", 2 * per_second),
            }
        };
        let (first, machines) = (policy(random), random.pick(&[2, 3, 5, 10]));
        let any = Self::any(seed);
        let duration = 6 * SECOND + random.below(8 * SECOND);
        let number = 1 + random.below(5);
        let is_quiet = fault == Some(Fault::NoSweep) || random.chance(0.2);
        let mut changes: Vec<_> = (0..number)
            .map(|_| (random.below(duration), random.below(machines as u64) as usize, policy(random)))
            .collect();
        changes.sort();
        let often = |mean: u64| if is_quiet { 0 } else { mean };
        let rare = |part: f64| if is_quiet { 0.0 } else { part };
        Self {
            machines,
            duration,
            keys: if is_quiet { 20 } else { any.keys },
            rate: if is_quiet { 3.0 } else { random.pick(&[2.0, 20.0, 150.0, 600.0]) },
            changes,
            fault,
            loss: rare(any.loss),
            late: rare(any.late),
            twice: rare(any.twice),
            stops: often(any.stops),
            crashes: often(any.crashes),
            partitions: often(any.partitions),
            rtt: if is_quiet { MS } else { any.rtt },
            clock_steps: 0,
            local: None,
            expires_earlier_ms: if is_quiet { 59_500 } else { 0 },
            policy: first,
            ..any
        }
    }

    /// Any configuration, with faults of the network and the machines.
    pub(crate) fn any(seed: u64) -> Self {
        let mut random = Random::new(seed.wrapping_mul(0x5851_F42D_4C95_7F2D));
        let random = &mut random;
        let policy = random.pick(&POLICIES);
        let machines = random.pick(&[1, 2, 3, 5, 10, 20]);
        let per_second = random.pick(&[2.0, 20.0, 150.0, 400.0, 1_500.0]);
        let keys = random.pick(&[1, 1, 2, 5]);
        let some =
            |random: &mut Random, part: f64| if random.chance(0.5) { random.unit() * part } else { 0.0 };
        let times = |random: &mut Random| {
            if random.chance(0.3) { SECOND / 2 + random.below(5 * SECOND) } else { 0 }
        };
        Self {
            keys,
            is_uneven: random.chance(0.3),
            pattern: random.pick(&[
                Pattern::Steady,
                Pattern::Steady,
                Pattern::Halves(2 * SECOND),
                Pattern::Tenth,
            ]),
            duration: 4 * SECOND + random.below(8 * SECOND),
            rtt: random.pick(&[MS / 10, MS, 10 * MS, 50 * MS]),
            wait: random.pick(&[50, 50, 200]) * MS,
            loss: some(random, 0.05),
            late: some(random, 0.03),
            twice: some(random, 0.05),
            costly: some(random, 0.3),
            drift: some(random, 2.0),
            stops: times(random),
            crashes: times(random),
            partitions: times(random),
            clock_steps: if random.chance(0.1) { SECOND + random.below(5 * SECOND) } else { 0 },
            local: random.chance(0.2).then_some(machines as u32),
            seed,
            ..Self::plain(policy, machines, per_second)
        }
    }
}

impl Fault {
    pub(crate) fn parse(name: &str) -> anyhow::Result<Self> {
        let all = || Self::ALL.iter().chain(&Self::OF_CHANGE);
        let found = all().find(|(known, _)| *known == name);
        let names: Vec<_> = all().map(|(known, _)| *known).collect();
        found
            .map(|(_, fault)| *fault)
            .ok_or_else(|| anyhow::anyhow!("no fault `{name}`: expected {}", names.join(", ")))
    }
}
