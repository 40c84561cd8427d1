//! Machines that use leases late, at random: all uses, in the order of their decision instants, replayed through the
//! policy itself.

use super::{POLICIES, Random, depth, kernel};
use ratecell_core::Outcome;
use ratecell_core::algorithm::{Algorithm, Answered, GRACE_NS, Kernel, Lease, Lend, Span, Want};
use ratecell_core::with_kernel;

const MACHINES: usize = 3;

/// A machine: the word in its table, and the clock of its last lease.
#[derive(Clone, Copy, Default)]
struct Machine {
    word: u64,
    /// The decision instant at which the lease was charged, and when its answer came, by the machine's clock.
    charged_at: u64,
    arrived: u64,
}

/// A fault that is planted in the machines.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Leases do not drain.
    NoDrain,
    /// Leases last for another period.
    TooLong,
    /// The units of any two leases are added.
    AnyMerge,
}

struct Trace {
    /// Decision instants.
    uses: Vec<u64>,
}

/// The units that the store charges at `now`, by take or by a step, and what they leave.
fn charge<A: Lend>(algorithm: &A, word: &mut u64, now: u64, most: u64) -> u64 {
    if let Some(span) = algorithm.span(*word, now) {
        let mut words = [*word];
        let units = Span::take(&[span], &mut words, Want { most, least: 1, share: 1 }).unwrap_or(0);
        *word = words[0];
        return units;
    }
    let units = algorithm.step(*word, now, 0).decision.remaining().min(most);
    *word = algorithm.step(*word, now, units as u32).charged.unwrap_or(*word);
    units
}

fn trace<A: Lend>(algorithm: &A, lease: Lease, fault: Fault, seed: u64) -> Trace {
    let mut random = Random(seed);
    let mut machines = [Machine::default(); MACHINES];
    let mut store = 0;
    let mut now = 1_000_000_000_000 + random.below(2_000_000_000);
    let mut uses = Vec::new();
    for _ in 0..200 {
        now += if random.below(4) == 0 { random.below(400_000_000) } else { random.below(15_000_000) };
        let machine = &mut machines[random.below(MACHINES as u64) as usize];
        if now < machine.arrived {
            continue;
        }
        let before = machine.word;
        let step = match fault {
            Fault::NoDrain if Lease::left(before) > 0 && Lease::deadline_ns(before) > now => {
                Lease::granted(Lease::deadline_ns(before), Lease::left(before) - 1).into()
            }
            _ => lease.step(before, now, 1).charged,
        };
        if let Some(after) = step {
            machine.word = after;
            uses.push(machine.charged_at + (now - machine.arrived).saturating_sub(GRACE_NS));
            continue;
        }
        let behind = random.below(30_000_000);
        let most = if lease.is_one_by_one() { 1 } else { 1 + random.below(6) };
        let units = charge(algorithm, &mut store, now - behind, most);
        if units == 0 {
            continue;
        }
        let charged_at = algorithm.instant(store, now - behind);
        let arrived = now + random.below(5_000_000);
        let mut lasts = algorithm.lasts_ns(store, units, charged_at);
        if fault == Fault::TooLong {
            lasts += 1_000_000_000;
        }
        let deadline = arrived + lasts + GRACE_NS;
        machine.word = match fault {
            Fault::AnyMerge => Lease::granted(deadline, units + Lease::left(before)),
            _ => Answered::new(lease, Lease::granted(deadline, units)).word(),
        };
        (machine.charged_at, machine.arrived) = (charged_at, arrived);
    }
    Trace { uses }
}

/// The uses of all traces, and how many of them the policy refuses.
fn replayed(kernel: Kernel, fault: Fault, traces: u64) -> (usize, usize) {
    let (mut all, mut refused) = (0, 0);
    with_kernel!(kernel, algorithm => {
        let lease = algorithm.lease().expect("a policy whose units can be lent");
        for seed in 0..traces {
            let mut uses = trace(&algorithm, lease, fault, seed).uses;
            uses.sort_unstable();
            let mut word = 0;
            for at in &uses {
                let step = algorithm.step(word, *at, 1);
                word = step.charged.unwrap_or(word);
                refused += usize::from(step.decision.outcome() != Outcome::Allowed);
            }
            all += uses.len();
        }
    });
    (all, refused)
}

/// The windows that begin with a request begin with a charge at the store, and in a replay with the first use.
fn starts_with_a_request(text: &str) -> bool {
    text.contains("first")
}

#[test]
fn lease_traces() {
    for text in POLICIES {
        let (uses, refused) = replayed(kernel(text), Fault::None, depth(300, 3_000));
        println!("{text}: {uses} uses, {refused} refused");
        assert!(uses > 500, "{text}: too little was used");
        assert!(refused == 0 || starts_with_a_request(text), "{text}: {refused} of {uses} refused");
    }
}

#[test]
fn faults_in_leases_are_seen() {
    for (text, fault) in [
        ("100/s burst=3", Fault::NoDrain),
        ("token_bucket 1/1s capacity=4 mode=interval", Fault::NoDrain),
        ("token_bucket 5/1s capacity=10 mode=interval", Fault::TooLong),
        ("fixed_window 10/1s offset=300ms", Fault::TooLong),
        ("sliding_window 10/1s", Fault::TooLong),
        ("7/3s burst=20", Fault::AnyMerge),
    ] {
        let (uses, refused) = replayed(kernel(text), fault, 300);
        println!("{text}: {uses} uses, {refused} refused");
        assert!(refused > 0, "{text}: the fault was not seen in {uses} uses");
    }
}
