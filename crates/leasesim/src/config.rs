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
}

impl Fault {
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("merge-later", Self::MergeLater),
        ("past-the-end", Self::PastTheEnd),
        ("no-drain", Self::NoDrain),
        ("clock-ahead", Self::ClockAhead),
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
            seed: 1,
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
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        let names: Vec<_> = Self::ALL.iter().map(|(known, _)| *known).collect();
        found
            .map(|(_, fault)| *fault)
            .ok_or_else(|| anyhow::anyhow!("no fault `{name}`: expected {}", names.join(", ")))
    }
}
