//! ratecell's cases through `libratecell.a`, as a C program calls it: all of the decision is written, but where the
//! program asks for the answer alone.

use std::ffi::{CString, c_char, c_void};
use std::hash::BuildHasher;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use crate::{Answer, CallerHasher, Case, FIRST, KEYS, Key, NOW, OTHERS, Requests, both, each, key};

/// `ratecell_decision`, of which only the size matters here.
type Decision = MaybeUninit<[u64; 8]>;

#[repr(C)]
struct Request {
    key: *const c_void,
    key_len: usize,
    hash: u64,
    now_ns: u64,
    max_delay_ns: u64,
    cost: u32,
    flags: u32,
    zone: *const c_void,
    reservation: *mut c_void,
}

const AT: u32 = 1;
const HASHED: u32 = 4;

unsafe extern "C" {
    fn ratecell_limiter_new(policy: *const c_char, config: *const [u64; 6], limiter: *mut *mut c_void)
    -> i32;
    fn ratecell_limiter_open(
        path: *const c_char,
        policy: *const c_char,
        config: *const [u64; 6],
        limiter: *mut *mut c_void,
    ) -> i32;
    fn ratecell_limiter_check_at(
        limiter: *const c_void,
        key: *const c_void,
        key_len: usize,
        cost: u32,
        now_ns: u64,
        decision: *mut Decision,
    ) -> i32;
    fn ratecell_limiter_decide(
        limiter: *const c_void,
        request: *const Request,
        decision: *mut Decision,
    ) -> i32;
}

/// A limiter, and how a key is named to it. It lives as long as the process.
struct Limiter<N> {
    limiter: *const c_void,
    naming: N,
}

/// How a program names a key.
trait Naming: Default {
    /// Whether a unit of the key is allowed.
    fn check(&self, limiter: *const c_void, key: &Key, now: u64) -> bool;
}

/// By its bytes: `ratecell_limiter_check_at`.
#[derive(Default)]
struct Bytes;

/// By the caller's hash: `ratecell_limiter_decide`, with a place for the decision or without.
#[derive(Default)]
struct Hashed<const PLACE: bool>(CallerHasher);

type Whole = Hashed<true>;
type Answered = Hashed<false>;

impl Naming for Bytes {
    #[inline(always)]
    fn check(&self, limiter: *const c_void, key: &Key, now: u64) -> bool {
        let mut decision = Decision::uninit();
        // SAFETY: a limiter, its key with its length, and a place for the decision.
        let status = unsafe {
            ratecell_limiter_check_at(limiter, key.as_ptr().cast(), key.len(), 1, now, &mut decision)
        };
        black_box(&decision);
        status == 0
    }
}

impl<const PLACE: bool> Hashed<PLACE> {
    /// Whether a unit of the key is allowed; without a time, by the limiter's clock.
    #[inline(always)]
    fn decide(&self, limiter: *const c_void, key: &Key, now: Option<u64>) -> bool {
        let request = Request {
            key: null(),
            key_len: 0,
            hash: self.0.hash_one(key),
            now_ns: now.unwrap_or(0),
            max_delay_ns: 0,
            cost: 1,
            flags: if now.is_some() { AT | HASHED } else { HASHED },
            zone: null(),
            reservation: null_mut(),
        };
        let mut decision = Decision::uninit();
        let place = if PLACE { &raw mut decision } else { null_mut() };
        // SAFETY: a limiter, a request by a hash, and a place for the decision or none.
        let status = unsafe { ratecell_limiter_decide(limiter, &request, place) };
        black_box(&decision);
        status == 0
    }
}

impl<const PLACE: bool> Naming for Hashed<PLACE> {
    #[inline(always)]
    fn check(&self, limiter: *const c_void, key: &Key, now: u64) -> bool {
        self.decide(limiter, key, Some(now))
    }
}

impl<N: Naming> Limiter<N> {
    /// With room for `max_keys`, and with `keys` charged once.
    fn charged(answer: Answer, max_keys: u32, keys: impl Iterator<Item = u32>) -> Self {
        let (interval, burst) = answer.limit();
        let policy = format!("gcra 1/{}s burst={burst}", interval.as_secs());
        let policy = CString::new(policy).expect("no NUL");
        let config = [48, u64::from(max_keys), 0, 0, 0, 0];
        let mut limiter = null_mut();
        // SAFETY: a text, a config and a place for the limiter.
        let status = unsafe { ratecell_limiter_new(policy.as_ptr(), &config, &mut limiter) };
        assert_eq!(status, 0, "a limiter of {policy:?}");
        let limiter = Self { limiter, naming: N::default() };
        for key in keys.map(key) {
            let _ = limiter.check(&key, FIRST);
        }
        limiter
    }

    #[inline(always)]
    fn check(&self, key: &Key, now: u64) -> bool {
        self.naming.check(self.limiter, key, now)
    }
}

/// Of keys whose leases are there, by the limiter's own clock.
fn leased<const PLACE: bool>(_: Answer, requests: &Requests) -> usize {
    let file = CString::new(crate::ratecell::leased_file()).expect("no NUL");
    let mut limiter = null_mut();
    // SAFETY: a path, no policy, no config and a place for the limiter.
    let status = unsafe { ratecell_limiter_open(file.as_ptr(), null(), null(), &mut limiter) };
    assert_eq!(status, 0, "a limiter of {file:?}");
    let naming = Hashed::<PLACE>::default();
    each(&requests.known, |key| naming.decide(limiter, key, None))
}

fn known<N: Naming>(answer: Answer, requests: &Requests) -> usize {
    let limiter = Limiter::<N>::charged(answer, KEYS, 0..KEYS);
    each(&requests.known, |key| limiter.check(key, NOW))
}

/// By the limiter's own clock.
fn own_clock(_: Answer, requests: &Requests) -> usize {
    let limiter = Limiter::<Whole>::charged(Answer::Allowed, KEYS, 0..0);
    let decide = |key: &Key| limiter.naming.decide(limiter.limiter, key, None);
    for key in (0..KEYS).map(key) {
        let _ = decide(&key);
    }
    each(&requests.known, decide)
}

/// The second count's, less the first's, fill the table from half to three quarters.
fn insertion<N: Naming>(answer: Answer, requests: &Requests) -> usize {
    let limiter = Limiter::<N>::charged(answer, 4 * KEYS, 0..KEYS);
    each(&requests.unseen, |key| limiter.check(key, NOW))
}

/// Each in the place of a key in use.
fn eviction<N: Naming>(answer: Answer, requests: &Requests) -> usize {
    let limiter = Limiter::<N>::charged(answer, KEYS, OTHERS);
    each(&requests.unseen, |key| limiter.check(key, NOW))
}

pub(crate) fn cases() -> Vec<Case> {
    let pairs = [
        both("ratecell in C, caller's hash", known::<Whole>),
        both("ratecell in C, caller's hash, the answer alone", known::<Answered>),
        both("ratecell in C, own hash", known::<Bytes>),
    ];
    let allowed = |name, run| Case { name, answer: Some(Answer::Allowed), run };
    let others = [
        allowed("ratecell in C, caller's hash, the limiter's clock", own_clock),
        allowed("ratecell in C, caller's hash, new key", insertion::<Whole>),
        allowed("ratecell in C, caller's hash, the answer alone, new key", insertion::<Answered>),
        allowed("ratecell in C, own hash, new key", insertion::<Bytes>),
        allowed("ratecell in C, caller's hash, new key that evicts", eviction::<Whole>),
        allowed("ratecell in C, caller's hash, the answer alone, new key that evicts", eviction::<Answered>),
        allowed("ratecell in C, own hash, new key that evicts", eviction::<Bytes>),
    ];
    let leased = [
        allowed("ratecell in C, caller's hash, leased", leased::<true>),
        allowed("ratecell in C, caller's hash, the answer alone, leased", leased::<false>),
    ];
    let leased = leased.into_iter().filter(|_| crate::ratecell::has_leases());
    pairs.into_iter().flatten().chain(others).chain(leased).collect()
}
