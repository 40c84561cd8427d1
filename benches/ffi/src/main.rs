//! What a check costs through C.
//!
//! One process, one thread, the same keys under the same limit: the Rust call, the function of
//! `libratecell.a` and that of `libratecell.so`, each with a table of its own, in turns. Printed: medians over
//! the rounds, the ratio within each round to the Rust call, and the share that was allowed.

use std::ffi::{c_char, c_void};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::time::Instant;

use libloading::Library;
use ratecell::Limiter;

const ROUNDS: usize = 101;
const CHECKS: usize = 100_000;
/// More would measure where the system has put each table.
const KEYS: [usize; 3] = [1, 1_000, 50_000];
const KEY_LEN: usize = 16;

/// `ratecell_decision`, of which only the size matters here.
type Decision = MaybeUninit<[u64; 8]>;
type New = unsafe extern "C" fn(*const c_char, *const [u64; 6], *mut *mut c_void) -> i32;
type CheckAt = unsafe extern "C" fn(*const c_void, *const c_void, usize, u32, u64, *mut Decision) -> i32;

unsafe extern "C" {
    fn ratecell_limiter_new(policy: *const c_char, config: *const [u64; 6], limiter: *mut *mut c_void)
    -> i32;
    fn ratecell_limiter_check_at(
        limiter: *const c_void,
        key: *const c_void,
        key_len: usize,
        cost: u32,
        now_ns: u64,
        decision: *mut Decision,
    ) -> i32;
}

/// A limiter behind C.
struct Foreign {
    limiter: *const c_void,
    check_at: CheckAt,
}

impl Foreign {
    fn new(new: New, check_at: CheckAt, policy: &str, keys: usize) -> Self {
        let policy = std::ffi::CString::new(policy).expect("no NUL");
        let config = [48, keys as u64, 0, 0, 0, 0];
        let mut limiter = null_mut();
        // SAFETY: a text, a config and a place for the limiter, which lives as long as the process.
        assert_eq!(unsafe { new(policy.as_ptr(), &config, &mut limiter) }, 0);
        Self { limiter, check_at }
    }

    #[inline(always)]
    fn is_allowed(&self, key: &[u8; KEY_LEN], now: u64) -> bool {
        let mut decision = Decision::uninit();
        // SAFETY: a limiter, its key with its length, and a place for the decision.
        let status =
            unsafe { (self.check_at)(self.limiter, key.as_ptr().cast(), KEY_LEN, 1, now, &mut decision) };
        black_box(&decision);
        status == 0
    }
}

/// Nanoseconds a check, and how many were allowed.
fn timed(
    keys: &[[u8; KEY_LEN]],
    order: &[usize],
    is_allowed: impl Fn(&[u8; KEY_LEN]) -> bool,
) -> (f64, usize) {
    let start = Instant::now();
    let allowed = order.iter().filter(|at| is_allowed(&keys[**at])).count();
    (start.elapsed().as_nanos() as f64 / order.len() as f64, allowed)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The keys' numbers in no order that a processor could predict: splitmix64.
fn order(keys: usize) -> Vec<usize> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)) as usize
    };
    (0..CHECKS).map(|_| next() % keys).collect()
}

fn main() {
    let shared = std::env::var("SHARED_LIBRARY").unwrap_or_else(|_| env!("SHARED_LIBRARY").to_owned());
    // SAFETY: a library whose loading runs nothing, and two functions of these types in it.
    let (new, check_at) = unsafe {
        let library = Box::leak(Box::new(Library::new(&shared).expect("the shared library")));
        let new: New = *library.get(c"ratecell_limiter_new".to_bytes()).expect("a function");
        let check_at: CheckAt = *library.get(c"ratecell_limiter_check_at".to_bytes()).expect("a function");
        (new, check_at)
    };
    assert!(check_at as usize != ratecell_limiter_check_at as *const () as usize, "two libraries");
    println!("| keys | answer | Rust ns | static ns | ratio | shared ns | ratio | allowed |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for keys in KEYS {
        for (answer, policy) in [("allowed", "1000000/s burst=4000000000"), ("denied", "1/h")] {
            compare(keys, answer, policy, (new, check_at));
        }
    }
}

fn compare(keys: usize, answer: &str, policy: &str, (new, check_at): (New, CheckAt)) {
    let ours = Limiter::builder(policy.parse().expect("a policy")).max_keys(keys).build().expect("memory");
    let in_archive = Foreign::new(ratecell_limiter_new, black_box(ratecell_limiter_check_at), policy, keys);
    let loaded = Foreign::new(new, black_box(check_at), policy, keys);
    let names: Vec<_> = (0..keys).map(|key| (key as u128).to_le_bytes()).collect();
    let now = 1_000_000_000;
    for name in &names {
        let _ = (ours.check_at(name, 1, now), in_archive.is_allowed(name, now), loaded.is_allowed(name, now));
    }
    let order = order(keys);
    let mut rounds = Vec::new();
    let mut allowed = 0;
    for _ in 0..ROUNDS {
        let cases = [
            timed(&names, &order, |key| black_box(ours.check_at(key, 1, now)).is_allowed()),
            timed(&names, &order, |key| in_archive.is_allowed(key, now)),
            timed(&names, &order, |key| loaded.is_allowed(key, now)),
        ];
        allowed += cases.iter().map(|(_, allowed)| allowed).sum::<usize>();
        rounds.push(cases.map(|(ns, _)| ns));
    }
    let ns = |case: usize| median(rounds.iter().map(|round| round[case]).collect());
    let ratio = |case: usize| median(rounds.iter().map(|round| round[case] / round[0]).collect());
    println!(
        "| {keys} | {answer} | {:.1} | {:.1} | {:.2} | {:.1} | {:.2} | {:.3} |",
        ns(0),
        ns(1),
        ratio(1),
        ns(2),
        ratio(2),
        allowed as f64 / (3 * ROUNDS * CHECKS) as f64,
    );
}
