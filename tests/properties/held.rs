//! Reservations on a table without room, of several homes, while time passes: whatever the table answers to newcomers, no
//! key gets more than its bound of what was not given back.

#[path = "../../src/tests/stress/bounds.rs"]
mod bounds;
#[path = "../../src/tests/stress/random.rs"]
mod random;

use bounds::{Admitted, Bound, CAPACITY, KINDS, SKEW, pace, rounds};
use random::random;
use ratecell::{Limiter, Policy, Request, Reservation, WhenFull};

const ANSWERS: [WhenFull; 4] = [WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow];
/// More than have room: there are three buckets.
const KEYS: u64 = 40;
const MAX_KEYS: usize = 15;
const ROUNDS: usize = 60;
const REQUESTS: u64 = 30;

/// What is held, and its place among the admissions.
struct Held {
    key: usize,
    place: usize,
    reservation: Reservation,
}

/// What a course came to.
#[derive(Debug, Default)]
struct Seen {
    held: u64,
    given_back: u64,
    /// Units beyond the bounds of their keys, and those that were forgiven.
    beyond: u64,
    forgiven: u64,
}

fn course(policy: &str, bound: Bound, when_full: WhenFull, seed: u64) -> Seen {
    let mut random = random(seed);
    // In every other course clocks differ.
    let skew = seed / 1_000 % 2 * SKEW;
    let steps = rounds(ROUNDS, KEYS, skew, &mut random);
    let pace = pace(policy);
    let policy: Policy = policy.parse().expect("a policy");
    let limiter = Limiter::builder(policy).max_keys(MAX_KEYS).when_full(when_full);
    let limiter = limiter.build().expect("a small table");
    let is_permit = bound == Bound::Pairs;
    let mut admitted: Vec<Vec<Admitted>> = vec![Vec::new(); KEYS as usize];
    let mut held: Vec<Held> = Vec::new();
    let mut seen = Seen::default();
    for (number, step) in steps.iter().enumerate() {
        for _ in 0..REQUESTS {
            let now = (step.from + random() % (skew + 1)) * pace;
            if held.is_empty() || !random().is_multiple_of(3) {
                let (key, cost) = (step.key(random()), 1 + (random() % CAPACITY) as u32);
                let uncharged = limiter.stats_at(now).allowed_full;
                let request =
                    Request::hashed((key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)).cost(cost).at(now);
                let (decision, reservation) = limiter.reserve(request).expect("it can reserve");
                if decision.is_allowed() && limiter.stats_at(now).allowed_full == uncharged {
                    let units = Admitted { first: number, last: number, units: cost.into() };
                    let place = admitted[key].len();
                    admitted[key].push(units);
                    held.extend(reservation.map(|reservation| Held { key, place, reservation }));
                    seen.held += 1;
                }
            } else {
                let place = random() as usize % held.len();
                let Held { key, place, mut reservation } = held.swap_remove(place);
                let units = &mut admitted[key][place].units;
                if is_permit {
                    let uncharged = limiter.stats_at(now).allowed_full;
                    let is_renewed =
                        random().is_multiple_of(4) && limiter.renew_at(&mut reservation, now).is_allowed();
                    if is_renewed && limiter.stats_at(now).allowed_full == uncharged {
                        // It is of the present window from now on.
                        let renewed = Admitted { first: number, last: number, units: *units };
                        *units = 0;
                        let place = admitted[key].len();
                        admitted[key].push(renewed);
                        held.push(Held { key, place, reservation });
                        continue;
                    }
                    *units = 0;
                    seen.given_back += u64::from(limiter.release_at(reservation, now).given_back());
                } else {
                    let actual = random() % (*units + 1);
                    seen.given_back += *units - actual;
                    *units = actual;
                    let _ = limiter.settle_at(reservation, actual as u32, now);
                }
            }
        }
    }
    seen.beyond = admitted.iter().map(|admitted| bound.excess(&steps, admitted, 0)).sum();
    seen.forgiven = limiter.stats_at(steps.last().expect("a round").to * pace).forgiven;
    seen
}

#[test]
fn no_key_gets_more_than_its_bound_of_what_it_keeps() {
    for (kind, (policy, bound)) in KINDS.into_iter().enumerate() {
        for (answer, when_full) in ANSWERS.into_iter().enumerate() {
            let mut all = Seen::default();
            for seed in 0..12 {
                let seed = seed * 1_000 + (kind * ANSWERS.len() + answer) as u64;
                let seen = course(policy, bound, when_full, seed);
                let Seen { beyond, forgiven, .. } = seen;
                assert!(beyond <= forgiven, "{policy}, {when_full:?}, seed {seed}: {seen:?}");
                all.held += seen.held;
                all.given_back += seen.given_back;
            }
            assert!(all.held > 1_000 && all.given_back > 500, "{policy}, {when_full:?}: {all:?}");
        }
    }
}
