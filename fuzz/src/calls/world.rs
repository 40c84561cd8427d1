//! A limiter, its twin in Rust and their time. Whatever the one answers in C, the other answers too.

use core::ffi::c_void;
use core::ptr;

use ratecell::ffi::ratecell_status::{RATECELL_ALLOWED, RATECELL_DENIED};
use ratecell::ffi::{
    RATECELL_AT, RATECELL_CHARGE, RATECELL_HASHED, RATECELL_WITHIN, ratecell_config, ratecell_decision,
    ratecell_limiter_check_at, ratecell_limiter_decide, ratecell_limiter_decide_batch,
    ratecell_limiter_forget, ratecell_limiter_policy, ratecell_limiter_stats, ratecell_request,
};
use ratecell::{Limiter, Policy, Request, WhenFull};

use super::clocked::Clocked;
use super::create::MaxKeys;
use super::faults::Fault;
use super::{By, Check, Key, Tick};
use crate::laws;
use crate::limiter::CLimiter;
use crate::memory::{Memory, request};
use crate::policies::{Number, PolicyText};
use crate::text::written;

mod several;

pub(super) struct World {
    limiter: CLimiter,
    twin: Limiter,
    /// Those that were before them, on the same keys.
    earlier: Vec<(CLimiter, Limiter)>,
    when_full: WhenFull,
    /// Of calls that read the clock, made by the first of them, of the policy that was the limiter's then.
    clocked: Option<(CLimiter, Policy)>,
    now: u64,
    stepped_back: bool,
    /// The last decision, whose waits the clock may follow.
    last: Option<ratecell_decision>,
}

const WHEN_FULL: [WhenFull; 4] = [WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow];

impl World {
    /// `None` where there is no such policy.
    pub(super) fn new(policy: &PolicyText, max_keys: MaxKeys, when_full: u8) -> Option<Self> {
        let text = policy.to_c();
        let policy: Policy = text.to_str().ok()?.parse().ok()?;
        let number = when_full % 4;
        let (max_keys, when_full) = (max_keys.few(), WHEN_FULL[usize::from(number)]);
        let config = ratecell_config { max_keys, when_full: number.into(), ..ratecell_config::default() };
        let limiter = CLimiter::new(&text, Some(&config)).expect("a limiter of a policy");
        let twin = Limiter::builder(policy).max_keys(max_keys as usize).when_full(when_full).build();
        let twin = twin.expect("a limiter of a policy");
        Some(Self {
            limiter,
            twin,
            earlier: Vec::new(),
            when_full,
            clocked: None,
            now: 0,
            stepped_back: false,
            last: None,
        })
    }

    fn tick(&mut self, tick: Tick) {
        let wait = |wait: fn(&ratecell_decision) -> u64| self.last.as_ref().map_or(0, wait);
        let (from, by) = match tick {
            Tick::On { scale, amount } => (self.now, 10_i64.pow(u32::from(scale) % 17) * i64::from(amount)),
            Tick::ToRetry(by) => (self.now.saturating_add(wait(|last| last.retry_after_ns)), by.into()),
            Tick::ToReset(by) => (self.now.saturating_add(wait(|last| last.reset_after_ns)), by.into()),
            Tick::ToEnd(by) => (self.twin.policy().max_now_ns(), by.into()),
            Tick::ToStart(by) => (0, by.into()),
        };
        let now = from.saturating_add_signed(by);
        self.stepped_back |= now < self.now;
        self.now = now;
    }

    pub(super) fn check(&mut self, check: Check) {
        self.tick(check.tick);
        let cost = if matches!(check.by, By::Peek) { 0 } else { check.cost.cost() };
        let fault = check.fault.among(match check.fault {
            Fault::InputNull | Fault::InputHuge => !matches!(check.by, By::Hash),
            Fault::OutputMisaligned(_) => check.told,
            _ => false,
        });
        if fault.status().is_some() {
            self.call(check, cost, fault);
            self.decide(Check { told: true, ..check }, 0);
            return;
        }
        let denied = self.decide(check, cost).outcome == RATECELL_DENIED as i32;
        if denied && check.retried {
            self.retry(Check { told: true, ..check }, cost);
        }
    }

    /// A call and its twin. At a cost of 0 it shows that nothing was charged that the twin was not.
    fn decide(&mut self, check: Check, cost: u32) -> ratecell_decision {
        let policy = self.twin.policy();
        let twin = laws::in_c(match check.by {
            By::Bytes => self.twin.check_at(check.key.bytes(), cost, self.now),
            By::Hash => self.twin.decide(Request::hashed(check.key.0.into()).cost(cost).at(self.now)),
            By::Peek => self.twin.check_at(check.key.bytes(), 0, self.now),
        });
        laws::assert_lawful(&policy, cost, self.now, &twin);
        let (status, decision) = self.call(check, cost, Fault::None);
        assert_eq!(
            status, twin.outcome,
            "{policy}, {check:?} at {}: expected the status of {twin:?}",
            self.now
        );
        if let Some(decision) = decision {
            assert_eq!(decision, twin, "{policy}, {check:?} at {}: expected the decision of Rust", self.now);
        }
        self.last = Some(twin);
        twin
    }

    /// The call alone, which writes its decision if it is right and is asked to.
    fn call(&self, check: Check, cost: u32, fault: Fault) -> (i32, Option<ratecell_decision>) {
        let bytes = Memory::of(&check.key.bytes());
        let place = Memory::room::<ratecell_decision>(fault.shift());
        let output = if check.told { place.pointer() } else { ptr::null_mut() };
        let limiter = fault.limiter(self.limiter.get());
        let (key, len) = (fault.input(bytes.pointer::<c_void>()), fault.len(bytes.bytes().len()));
        // SAFETY: a limiter, a key of so many bytes, room for a decision or NULL; or what must be refused.
        let status = unsafe {
            match check.by {
                By::Bytes => ratecell_limiter_check_at(limiter, key, len, cost, self.now, output),
                By::Hash => {
                    let mut request = request(ptr::null(), usize::MAX, cost, self.now);
                    request.hash = check.key.0.into();
                    request.flags |= RATECELL_HASHED;
                    ratecell_limiter_decide(limiter, &request, output)
                }
                By::Peek => ratecell_limiter_check_at(limiter, key, len, 0, self.now, output),
            }
        };
        if let Some(expected) = fault.status() {
            assert_eq!(status, expected, "{check:?} with {fault:?}");
        }
        let decided = check.told && fault.status().is_none();
        if !decided {
            place.assert_untouched("a check");
        }
        (status, decided.then(|| place.value(0)))
    }

    /// Follows a denial: refused until it is due, and then allowed. Not of a policy that heals, which may allow
    /// before; nor where newcomers are denied for want of room and one answer hides another: of several
    /// layers, or after a step back.
    fn retry(&mut self, check: Check, cost: u32) {
        let policy = self.twin.policy();
        let several = policy.resolved().count() > 1 || self.stepped_back;
        let hidden = several && self.when_full == WhenFull::Deny || policy.to_string().contains("heal=");
        let Some(denied) = self.last.filter(|_| !hidden) else { return };
        let Some(due) = self.now.checked_add(denied.retry_after_ns) else { return };
        // What no u64 tells is said to be the last that it does.
        if due > policy.max_now_ns().min(u64::MAX - 2) {
            return;
        }
        let denied_at = self.now;
        self.now = due - 1;
        let early = self.decide(check, cost);
        let expected = (RATECELL_DENIED as i32, 1);
        assert_eq!(
            (early.outcome, early.retry_after_ns),
            expected,
            "{check:?} denied at {denied_at}, due at {due}: {early:?}"
        );
        self.now = due;
        let last = self.decide(check, cost);
        assert_eq!(
            last.outcome, RATECELL_ALLOWED as i32,
            "{check:?} denied at {denied_at}, due at {due}: {last:?}"
        );
    }

    pub(super) fn forget(&mut self, key: Key, fault: Fault) {
        let fault = fault.among(matches!(fault, Fault::InputNull | Fault::InputHuge));
        let bytes = Memory::of(&key.bytes());
        let limiter = fault.limiter(self.limiter.get());
        let (input, len) = (fault.input(bytes.pointer::<c_void>()), fault.len(bytes.bytes().len()));
        // SAFETY: a limiter, a key of so many bytes; or what must be refused.
        let status = unsafe { ratecell_limiter_forget(limiter, input, len) };
        let expected = fault.status().unwrap_or_else(|| i32::from(!self.twin.forget(key.bytes())));
        assert_eq!(status, expected, "forget {key:?} with {fault:?}");
        self.decide(Check::peek(key), 0);
    }

    /// The twin decides singly.
    pub(super) fn batch(&mut self, tick: Tick, requests: &[(Key, Number)], fault: Fault) {
        self.tick(tick);
        let keys: Vec<_> = requests.iter().map(|(key, _)| Memory::of(&key.bytes())).collect();
        let mut given: Vec<_> =
            keys.iter().zip(requests).map(|(key, (_, cost))| of(key, cost.cost(), self.now)).collect();
        let fault = fault.among(!given.is_empty() || fault == Fault::InputHuge);
        match (fault, given.last_mut()) {
            (Fault::ElementReserved, Some(last)) => spoil(last),
            (Fault::ElementNull, Some(last)) => (last.key, last.key_len) = (ptr::null(), 1),
            (Fault::ElementHuge, Some(last)) => last.key_len = usize::MAX,
            _ => {}
        }
        // Boxed, so that they end where their memory ends.
        let given = given.into_boxed_slice();
        let place = Memory::new(size_of::<ratecell_decision>() * given.len(), fault.shift());
        let (limiter, output) = (fault.limiter(self.limiter.get()), fault.output(place.pointer()));
        let (input, n) = (fault.input(given.as_ptr()), fault.len(given.len()));
        // SAFETY: a limiter, requests with keys of so many bytes, room for as many decisions; or what must
        // be refused.
        let status = unsafe { ratecell_limiter_decide_batch(limiter, input, n, output) };
        assert_eq!(status, fault.status().unwrap_or(0), "a batch of {} with {fault:?}", given.len());
        if fault.status().is_some() {
            place.assert_untouched("ratecell_limiter_decide_batch");
            for (key, _) in requests {
                self.decide(Check::peek(*key), 0);
            }
            return;
        }
        for (index, (key, cost)) in requests.iter().enumerate() {
            let single = laws::in_c(self.twin.check_at(key.bytes(), cost.cost(), self.now));
            let decision: ratecell_decision = place.value(index);
            assert_eq!(decision, single, "{requests:?} at {}: expected {index} as singly", self.now);
        }
    }

    pub(super) fn stats(&mut self, tick: Tick, size: usize, fault: Fault) {
        self.tick(tick);
        let possible = matches!(fault, Fault::InputHuge | Fault::OutputNull | Fault::OutputMisaligned(_));
        let fault = fault.among(possible);
        let place = Memory::new(size, fault.shift());
        let (limiter, output) = (fault.limiter(self.limiter.get()), fault.output(place.pointer()));
        // SAFETY: a limiter, room for so many bytes of stats; or what must be refused.
        let status =
            unsafe { ratecell_limiter_stats(limiter, RATECELL_AT, self.now, output, fault.len(size)) };
        assert_eq!(status, fault.status().unwrap_or(0), "stats of {size} bytes with {fault:?}");
        if fault.status().is_some() {
            place.assert_untouched("ratecell_limiter_stats");
            return;
        }
        let stats = self.twin.stats_at(self.now);
        laws::assert_possible(&stats, self.when_full);
        let held = [stats.slots, stats.live, stats.bytes].map(|count| count as u64);
        let events = [
            stats.evicted,
            stats.forgiven,
            stats.shared,
            stats.denied_full,
            stats.allowed_full,
            stats.exhausted,
            stats.live_error as u64,
        ];
        let bytes = held.into_iter().chain(events).flat_map(u64::to_ne_bytes).chain(core::iter::repeat(0));
        assert!(
            place.bytes().iter().copied().eq(bytes.take(size)),
            "{size} bytes: expected those of {stats:?}"
        );
    }

    pub(super) fn policy(&self, fault: Fault) {
        let fault = fault.among(false);
        let text = written("ratecell_limiter_policy", |buffer, len| {
            // SAFETY: a limiter, a buffer as `written` has it; or what must be refused.
            unsafe { ratecell_limiter_policy(fault.limiter(self.limiter.get()), buffer, len) }
        });
        let expected = fault.status().map_or_else(|| Ok(self.twin.policy().to_string()), Err);
        assert_eq!(text, expected, "a limiter's policy with {fault:?}");
    }

    pub(super) fn clocked(&mut self, call: Clocked) {
        let (limiter, policy) = self.clocked.get_or_insert_with(|| {
            let policy = Policy::clone(&self.twin.policy());
            let text = std::ffi::CString::new(policy.to_string()).expect("no NUL is printed");
            let config = ratecell_config { max_keys: 1, ..ratecell_config::default() };
            (CLimiter::new(&text, Some(&config)).expect("a limiter of a policy"), policy)
        });
        call.run(limiter, policy);
    }

    /// What was charged by either is the same.
    pub(super) fn finish(mut self) {
        self.stats(Tick::On { scale: 0, amount: 0 }, size_of::<ratecell::ffi::ratecell_stats>(), Fault::None);
    }
}

fn of(key: &Memory, cost: u32, now: u64) -> ratecell_request {
    request(key.pointer::<c_void>(), key.bytes().len(), cost, now)
}

/// Makes a request one that means nothing, in one of the ways that there are.
fn spoil(request: &mut ratecell_request) {
    match request.cost % 4 {
        0 => request.flags |= 1 << 31,
        1 => request.flags |= RATECELL_CHARGE | RATECELL_WITHIN,
        2 => request.zone = ptr::dangling(),
        _ => request.reservation = ptr::dangling_mut(),
    }
}
