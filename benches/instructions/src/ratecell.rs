//! ratecell's cases.

use std::hash::BuildHasher;
use std::hint::black_box;
use std::time::{Duration, Instant};

use ratecell::{Decision, DirectLimiter, Limiter, Memory, Policy, Request};

use crate::{Answer, BATCH, CallerHasher, Case, FIRST, KEYS, Key, NOW, OTHERS, Requests, both, each, key};

fn policy(answer: Answer) -> Policy {
    let (interval, burst) = answer.limit();
    Policy::gcra(1, interval).burst(burst).build().expect("an interval and a burst that fit a word")
}

fn limiter(answer: Answer, max_keys: u32) -> Limiter {
    let builder = Limiter::builder(policy(answer)).max_keys(max_keys as usize);
    builder.build().expect("memory for the table")
}

/// Every key charged once; no room for more.
fn by_key(answer: Answer) -> Limiter {
    let limiter = limiter(answer, KEYS);
    for key in (0..KEYS).map(key) {
        let _ = limiter.check_at(key, 1, FIRST);
    }
    limiter
}

/// The same by the keys' hashes, and with room for `max_keys`.
fn by_hash(answer: Answer, hasher: &CallerHasher, max_keys: u32) -> Limiter {
    let limiter = limiter(answer, max_keys);
    for key in (0..KEYS).map(key) {
        let _ = limiter.decide(by(hasher.hash_one(key), FIRST));
    }
    limiter
}

/// No slot is empty, and every key in it is in use.
fn crowded(hasher: &CallerHasher) -> Limiter {
    let limiter = limiter(Answer::Allowed, KEYS);
    for key in OTHERS.map(key) {
        let _ = limiter.decide(by(hasher.hash_one(key), FIRST));
    }
    limiter
}

fn by(hash: u64, now: u64) -> Request<'static> {
    Request::hashed(hash).at(now)
}

fn own_hash(answer: Answer, requests: &Requests) -> usize {
    let limiter = by_key(answer);
    each(&requests.known, |key| limiter.check_at(key, 1, NOW).is_allowed())
}

/// In memory that processes share, where denied keys are named.
fn named(answer: Answer, requests: &Requests) -> usize {
    let builder = Limiter::builder(policy(answer)).max_keys(KEYS as usize).names(true);
    let memory = Memory::shared(builder.region_bytes().expect("a size")).expect("memory");
    let limiter = builder.init_zeroed(&memory).expect("a region");
    for key in (0..KEYS).map(key) {
        let _ = limiter.check_at(key, 1, FIRST);
    }
    each(&requests.known, |key| limiter.check_at(key, 1, NOW).is_allowed())
}

fn callers_hash(answer: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(answer, &hasher, KEYS);
    each(&requests.known, |key| limiter.decide(by(hasher.hash_one(key), NOW)).is_allowed())
}

/// With room for as many again.
fn half_full(answer: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(answer, &hasher, 2 * KEYS);
    each(&requests.known, |key| limiter.decide(by(hasher.hash_one(key), NOW)).is_allowed())
}

/// Of the decision all is kept, not the answer alone: a compiler leaves out what nobody reads.
fn whole_decision(answer: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(answer, &hasher, KEYS);
    each(&requests.known, |key| black_box(limiter.decide(by(hasher.hash_one(key), NOW))).is_allowed())
}

/// Asks for [`BATCH`] keys a call.
fn batches(keys: &[Key], check: impl Fn(&[Key], &mut [Decision])) -> usize {
    let mut decisions = [Decision::default(); BATCH];
    let mut allowed = 0;
    for batch in keys.chunks_exact(BATCH) {
        check(black_box(batch), &mut decisions);
        allowed += decisions.iter().filter(|decision| decision.is_allowed()).count();
    }
    allowed
}

fn batch_own_hash(answer: Answer, requests: &Requests) -> usize {
    let limiter = by_key(answer);
    batches(&requests.known, |keys, decisions| {
        let mut requests = [Request::default(); BATCH];
        requests.iter_mut().zip(keys).for_each(|(request, key)| *request = Request::new(key).at(NOW));
        limiter.decide_batch(&requests, decisions);
    })
}

fn batch_callers_hash(answer: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(answer, &hasher, KEYS);
    batches(&requests.known, |keys, decisions| {
        let mut requests = [Request::default(); BATCH];
        requests.iter_mut().zip(keys).for_each(|(request, key)| *request = by(hasher.hash_one(key), NOW));
        limiter.decide_batch(&requests, decisions);
    })
}

/// New keys: those of the second count, less the first, fill the table from half to three quarters.
fn insertion(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(Answer::Allowed, &hasher, 4 * KEYS);
    each(&requests.unseen, |key| limiter.decide(by(hasher.hash_one(key), NOW)).is_allowed())
}

/// New keys, each in the place of one that is in use.
fn eviction(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = crowded(&hasher);
    each(&requests.unseen, |key| limiter.decide(by(hasher.hash_one(key), NOW)).is_allowed())
}

/// Keys that have no cell, and get none: a cost above the burst is never allowed.
fn refused(answer: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(answer, &hasher, KEYS);
    let (_, burst) = answer.limit();
    each(&requests.unseen, |key| limiter.decide(by(hasher.hash_one(key), NOW).cost(burst + 1)).is_allowed())
}

/// The same by a peek.
fn peeked(answer: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(answer, &hasher, KEYS);
    each(&requests.unseen, |key| limiter.decide(by(hasher.hash_one(key), NOW).cost(0)).is_allowed())
}

/// Charged, and remembered.
fn reserved(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(Answer::Allowed, &hasher, KEYS);
    each(&requests.known, |key| {
        let request = by(hasher.hash_one(key), NOW).cost(8);
        black_box(limiter.reserve(request)).is_ok_and(|(decision, _)| decision.is_allowed())
    })
}

/// Charged, remembered, and half of it given back.
fn reserved_and_settled(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(Answer::Allowed, &hasher, KEYS);
    each(&requests.known, |key| {
        let request = by(hasher.hash_one(key), NOW).cost(8);
        let Ok((_, Some(reservation))) = limiter.reserve(request) else { return false };
        limiter.settle_at(reservation, 4, NOW).is_allowed()
    })
}

/// The same by the limiter's own hash, which is computed once for both.
fn own_hash_reserved_and_settled(_: Answer, requests: &Requests) -> usize {
    let limiter = by_key(Answer::Allowed);
    each(&requests.known, |key| {
        let request = Request::new(key).at(NOW).cost(8);
        let Ok((_, Some(reservation))) = limiter.reserve(request) else { return false };
        limiter.settle_at(reservation, 4, NOW).is_allowed()
    })
}

/// By the caller's hash; all of both decisions is kept.
fn whole_reserved_and_settled(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_hash(Answer::Allowed, &hasher, KEYS);
    each(&requests.known, |key| {
        let request = by(hasher.hash_one(key), NOW).cost(8);
        let Ok((decision, Some(reservation))) = limiter.reserve(request) else { return false };
        let _ = black_box(decision);
        black_box(limiter.settle_at(reservation, 4, NOW)).is_allowed()
    })
}

/// Every key charged once in its window.
fn windows(hasher: &CallerHasher) -> Limiter {
    let policy = Policy::fixed_window(100_000_000, Duration::from_secs(3600));
    let policy = policy.build().expect("a limit and a window that fit a word");
    let limiter = Limiter::builder(policy).max_keys(KEYS as usize).build().expect("memory for the table");
    for key in (0..KEYS).map(key) {
        let _ = limiter.decide(by(hasher.hash_one(key), FIRST));
    }
    limiter
}

fn window(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = windows(&hasher);
    each(&requests.known, |key| limiter.decide(by(hasher.hash_one(key), NOW).cost(8)).is_allowed())
}

fn window_reserved_and_settled(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = windows(&hasher);
    each(&requests.known, |key| {
        let request = by(hasher.hash_one(key), NOW).cost(8);
        let Ok((_, Some(reservation))) = limiter.reserve(request) else { return false };
        limiter.settle_at(reservation, 4, NOW).is_allowed()
    })
}

/// The file of leases that `benches/instructions.sh` has an agent fill.
const LEASED_FILE: &str = "RATECELL_LEASED_FILE";
/// Units of a key's lease, and those of which a count uses at most two.
const LEASED_UNITS: u32 = 64;
const USABLE_UNITS: u64 = 16;

/// Has the agent of the file lease units of each key.
pub(crate) fn lease(file: &str) -> Result<(), String> {
    let limiter = Limiter::following().open(file).map_err(|error| error.to_string())?;
    let hasher = CallerHasher::default();
    let hashes: Vec<u64> = (0..KEYS).map(|number| hasher.hash_one(key(number))).collect();
    let end = Instant::now() + Duration::from_secs(100);
    // Fewer than the board of misses has room for.
    for some in hashes.chunks(256) {
        loop {
            let is_without =
                |hash: &&u64| limiter.decide(Request::hashed(**hash).cost(0)).remaining() < USABLE_UNITS;
            let without: Vec<u64> = some.iter().filter(is_without).copied().collect();
            if without.is_empty() {
                break;
            }
            if Instant::now() > end {
                return Err(format!("{file}: expected its agent to lease units of {KEYS} keys in 100 s"));
            }
            for hash in without {
                let _ = limiter.decide(Request::hashed(hash).cost(LEASED_UNITS).without_waiting());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

pub(crate) fn has_leases() -> bool {
    std::env::var_os(LEASED_FILE).is_some()
}

/// The file of leases.
pub(crate) fn leased_file() -> String {
    std::env::var(LEASED_FILE).expect("RATECELL_LEASED_FILE names a file of leases")
}

fn by_lease() -> Limiter {
    Limiter::following().open(leased_file()).expect("a file of leases")
}

/// By the limiter's own clock, which ends its leases: it believes no other.
fn leased(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_lease();
    each(&requests.known, |key| limiter.decide(Request::hashed(hasher.hash_one(key))).is_allowed())
}

fn whole_leased(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_lease();
    each(&requests.known, |key| black_box(limiter.decide(Request::hashed(hasher.hash_one(key)))).is_allowed())
}

/// Without leases, by the limiter's clock.
fn by_own_clock(hasher: &CallerHasher) -> Limiter {
    let limiter = limiter(Answer::Allowed, KEYS);
    for key in (0..KEYS).map(key) {
        let _ = limiter.decide(Request::hashed(hasher.hash_one(key)));
    }
    limiter
}

fn own_clock(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_own_clock(&hasher);
    each(&requests.known, |key| limiter.decide(Request::hashed(hasher.hash_one(key))).is_allowed())
}

fn whole_own_clock(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    let limiter = by_own_clock(&hasher);
    each(&requests.known, |key| black_box(limiter.decide(Request::hashed(hasher.hash_one(key)))).is_allowed())
}

fn direct(answer: Answer, requests: &Requests) -> usize {
    let limiter = DirectLimiter::new(policy(answer));
    let _ = limiter.check_at(1, FIRST);
    each(&requests.known, |_| limiter.check_at(1, black_box(NOW)).is_allowed())
}

pub(crate) fn cases() -> Vec<Case> {
    let pairs = [
        both("ratecell, caller's hash", callers_hash),
        both("ratecell, caller's hash, half full", half_full),
        both("ratecell, caller's hash, all of the decision kept", whole_decision),
        both("ratecell, own hash", own_hash),
        both("ratecell, own hash, denied keys named", named),
        both("ratecell, caller's hash, batch of 32", batch_callers_hash),
        both("ratecell, own hash, batch of 32", batch_own_hash),
        both("ratecell, direct", direct),
    ];
    let (allowed, denied) = (Some(Answer::Allowed), Some(Answer::Denied));
    let unknown = [
        Case { name: "ratecell, caller's hash, new key", answer: allowed, run: insertion },
        Case { name: "ratecell, caller's hash, new key that evicts", answer: allowed, run: eviction },
        Case { name: "ratecell, caller's hash, unknown key, peeked", answer: allowed, run: peeked },
        Case {
            name: "ratecell, caller's hash, unknown key, cost above the burst",
            answer: denied,
            run: refused,
        },
        Case { name: "ratecell, caller's hash, the limiter's clock", answer: allowed, run: own_clock },
        Case {
            name: "ratecell, caller's hash, the limiter's clock, all of the decision kept",
            answer: allowed,
            run: whole_own_clock,
        },
        Case { name: "ratecell, caller's hash, reserved", answer: allowed, run: reserved },
        Case {
            name: "ratecell, caller's hash, reserved and settled",
            answer: allowed,
            run: reserved_and_settled,
        },
        Case {
            name: "ratecell, caller's hash, reserved and settled, all of the decisions kept",
            answer: allowed,
            run: whole_reserved_and_settled,
        },
        Case {
            name: "ratecell, own hash, reserved and settled",
            answer: allowed,
            run: own_hash_reserved_and_settled,
        },
        Case { name: "ratecell, caller's hash, fixed window", answer: allowed, run: window },
        Case {
            name: "ratecell, caller's hash, fixed window, reserved and settled",
            answer: allowed,
            run: window_reserved_and_settled,
        },
    ];
    let leased = [
        Case { name: "ratecell, caller's hash, leased", answer: allowed, run: leased },
        Case {
            name: "ratecell, caller's hash, leased, all of the decision kept",
            answer: allowed,
            run: whole_leased,
        },
    ];
    let leased = leased.into_iter().filter(|_| has_leases());
    pairs.into_iter().flatten().chain(unknown).chain(leased).collect()
}
