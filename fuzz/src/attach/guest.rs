//! A limiter in a region, and what it answers whatever the region holds.

use core::ffi::CStr;
use core::ptr;

use arbitrary::Arbitrary;
use ratecell::ffi::ratecell_status::RATECELL_ALLOWED;
use ratecell::ffi::{
    RATECELL_AT, RATECELL_CHARGE, RATECELL_HASHED, ratecell_claim, ratecell_decide_all, ratecell_decision,
    ratecell_limiter, ratecell_limiter_check, ratecell_limiter_check_at, ratecell_limiter_decide,
    ratecell_limiter_decide_batch, ratecell_limiter_forget, ratecell_limiter_stats,
    ratecell_limiter_with_policy, ratecell_stats,
};
use ratecell::{Decision, Limiter, Policy};

use super::region::{BEFORE_SECTIONS, Change};
use crate::laws;
use crate::limiter::CLimiter;
use crate::memory::{Memory, request};
use crate::policies::{Number, PolicyText};

#[derive(Arbitrary, Debug)]
pub(super) enum Call {
    Check {
        key: u8,
        cost: Number,
        when: When,
    },
    Hash {
        hash: u64,
        cost: Number,
        when: When,
    },
    Peek {
        key: u8,
        when: When,
    },
    Charge {
        key: u8,
        cost: Number,
        when: When,
    },
    Forget {
        key: u8,
    },
    Batch {
        requests: Vec<(u8, Number)>,
        when: When,
    },
    Joint {
        claims: Vec<(u8, Number, When)>,
    },
    Stats {
        when: When,
    },
    /// By the clock that the region has.
    Clocked {
        key: u8,
        cost: Number,
    },
    /// From here on by another policy.
    Policy(PolicyText),
    /// Another process writes what no limiter would.
    Change(Change),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) enum When {
    Start(u8),
    /// Within days of the start.
    Early(u8, u8),
    /// About the last time that the policy can decide.
    End(i8),
    Any(u64),
}

pub(super) struct Guest<'m> {
    limiter: CLimiter,
    memory: &'m Memory,
    /// A limiter on the same memory, whose policy is packed as the other's is.
    twin: Limiter,
    /// Whether only limiters have written to the memory.
    is_whole: bool,
}

impl<'m> Guest<'m> {
    pub(super) fn new(
        limiter: CLimiter,
        memory: &'m Memory,
        len: usize,
        text: &CStr,
        is_whole: bool,
    ) -> Self {
        let policy: Policy = text.to_str().expect("UTF-8").parse().expect("a policy of a limiter");
        // SAFETY: memory of at least that length, which outlives the guest, and is used by atomics alone.
        let shared = unsafe { ratecell::Memory::from_raw_parts(memory.pointer(), len) }.expect("aligned");
        let twin = Limiter::builder(policy).attach(&shared).expect("as C has attached");
        Self { limiter, memory, twin, is_whole }
    }

    fn time(&self, when: When) -> u64 {
        match when {
            When::Start(by) => by.into(),
            When::Early(count, scale) => u64::from(count) * 10_u64.pow(u32::from(scale) % 14),
            When::End(by) => self.twin.policy().max_now_ns().saturating_add_signed(by.into()),
            When::Any(now) => now,
        }
    }

    fn get(&self) -> *const ratecell_limiter {
        self.limiter.get()
    }

    /// Calls with a place for a decision, and gives what was written there.
    fn told(
        &self,
        cost: u32,
        now: u64,
        call: impl FnOnce(*mut ratecell_decision) -> i32,
    ) -> ratecell_decision {
        let place = Memory::room::<ratecell_decision>(0);
        let status = call(place.pointer());
        let decision: ratecell_decision = place.value(0);
        let policy = self.twin.policy();
        assert_eq!(
            status, decision.outcome,
            "{policy}, {cost} at {now}: expected the outcome to be returned"
        );
        self.assert_lawful(cost, now, &decision);
        decision
    }

    /// In a damaged region a word may be of a generation that nothing is known of: nothing is allowed then. A joint
    /// decision does not say a limit either.
    fn assert_lawful(&self, cost: u32, now: u64, decision: &ratecell_decision) {
        let policy = self.twin.policy();
        let is_unknown = [0, policy.capacity()]
            .map(|limit| laws::in_c(Decision::allowed(limit).never()))
            .contains(decision);
        if self.is_whole || !is_unknown {
            laws::assert_lawful(&policy, cost, now, decision);
        }
    }

    /// What a peek says, in C and in Rust. Nothing is written, except that in a damaged region the key's word may be
    /// of another generation: it is carried to the one in force.
    fn peek(&self, key: u8, now: u64) -> ratecell_decision {
        let stays = if self.is_whole { self.memory.bytes().len() } else { BEFORE_SECTIONS };
        let stays = stays.min(self.memory.bytes().len());
        let before = self.memory.bytes()[..stays].to_vec();
        let decision = self.told(0, now, |place| {
            // SAFETY: a limiter, a key of one byte, room for a decision.
            unsafe { ratecell_limiter_check_at(self.get(), ptr::from_ref(&key).cast(), 1, 0, now, place) }
        });
        let twin = laws::in_c(self.twin.check_at([key], 0, now));
        assert_eq!(decision, twin, "a peek at {key} at {now}: expected the decision of Rust");
        assert!(
            self.memory.bytes()[..stays] == before,
            "a peek at {key} at {now}: expected nothing to be written"
        );
        decision
    }

    pub(super) fn call(&mut self, call: &Call) {
        let limiter = self.get();
        match call {
            Call::Check { key, cost, when } => {
                let (cost, now) = (cost.cost(), self.time(*when));
                let decision = self.told(cost, now, |place| {
                    // SAFETY: as of a peek.
                    unsafe {
                        ratecell_limiter_check_at(limiter, ptr::from_ref(key).cast(), 1, cost, now, place)
                    }
                });
                // Nobody is in between: what is said to remain is there.
                if decision.outcome != RATECELL_ALLOWED as i32 {
                    self.peek(*key, now);
                }
            }
            Call::Hash { hash, cost, when } => {
                let (cost, now) = (cost.cost(), self.time(*when));
                let mut request = request(ptr::null(), 0, cost, now);
                request.hash = *hash;
                request.flags |= RATECELL_HASHED;
                self.told(cost, now, |place| {
                    // SAFETY: a limiter, a request without a key, room for a decision.
                    unsafe { ratecell_limiter_decide(limiter, &request, place) }
                });
            }
            Call::Peek { key, when } => {
                self.peek(*key, self.time(*when));
            }
            Call::Charge { key, cost, when } => {
                let (cost, now) = (cost.cost(), self.time(*when));
                // Its answer is of no cost.
                let mut request = request(ptr::from_ref(key).cast(), 1, cost, now);
                request.flags |= RATECELL_CHARGE;
                self.told(0, now, |place| {
                    // SAFETY: as of a peek.
                    unsafe { ratecell_limiter_decide(limiter, &request, place) }
                });
            }
            Call::Forget { key } => {
                // SAFETY: a limiter, a key of one byte.
                let status = unsafe { ratecell_limiter_forget(limiter, ptr::from_ref(key).cast(), 1) };
                assert!((0..=1).contains(&status), "forget {key}: status {status}");
            }
            Call::Batch { requests, when } => self.batch(requests, self.time(*when)),
            Call::Joint { claims } => self.joint(claims),
            Call::Stats { when } => {
                let (place, now) = (Memory::room::<ratecell_stats>(0), self.time(*when));
                // SAFETY: a limiter, and room for its stats.
                let status = unsafe {
                    ratecell_limiter_stats(limiter, RATECELL_AT, now, place.pointer(), place.bytes().len())
                };
                assert_eq!(status, 0, "ratecell_limiter_stats");
                let stats: ratecell_stats = place.value(0);
                assert!(stats.live <= stats.slots, "{stats:?}: expected no more keys than places");
                let bytes = self.memory.bytes().len() as u64;
                assert!(stats.bytes < bytes, "{stats:?}: expected to be within {bytes} bytes");
            }
            Call::Clocked { key, cost } => {
                let place = Memory::room::<ratecell_decision>(0);
                // SAFETY: as of a peek.
                let status = unsafe {
                    ratecell_limiter_check(
                        limiter,
                        ptr::from_ref(key).cast(),
                        1,
                        cost.cost(),
                        place.pointer(),
                    )
                };
                let decision: ratecell_decision = place.value(0);
                assert_eq!(status, decision.outcome, "{decision:?}: expected the outcome to be returned");
                assert!((0..=3).contains(&status), "{decision:?}: expected a decision");
                assert!(
                    decision.remaining <= decision.limit,
                    "{decision:?}: expected no more than the limit"
                );
            }
            Call::Policy(text) => self.with_policy(text),
            Call::Change(change) => {
                self.is_whole = false;
                change.make(self.memory);
            }
        }
    }

    fn batch(&self, requests: &[(u8, Number)], now: u64) {
        let given: Vec<_> = requests
            .iter()
            .map(|(key, cost)| request(ptr::from_ref(key).cast(), 1, cost.cost(), now))
            .collect();
        let place = Memory::new(size_of::<ratecell_decision>() * given.len(), 0);
        // SAFETY: a limiter, requests with keys of one byte, room for as many decisions.
        let status = unsafe {
            ratecell_limiter_decide_batch(self.get(), given.as_ptr(), given.len(), place.pointer())
        };
        assert_eq!(status, 0, "a batch of {}", given.len());
        for (index, request) in given.iter().enumerate() {
            self.assert_lawful(request.cost, now, &place.value(index));
        }
    }

    fn joint(&self, claims: &[(u8, Number, When)]) {
        let given: Vec<_> = claims
            .iter()
            // As many as one call takes: 64 layers in all.
            .take(64 / self.twin.policy().resolved().count())
            .map(|(key, cost, when)| ratecell_claim {
                limiter: self.get(),
                request: request(ptr::from_ref(key).cast(), 1, cost.cost(), self.time(*when)),
            })
            .collect();
        let place = Memory::new(size_of::<ratecell_decision>() * given.len(), 0);
        // SAFETY: claims on limiters with keys of one byte, room for as many decisions.
        let status = unsafe { ratecell_decide_all(given.as_ptr(), given.len(), place.pointer()) };
        let mut gravest = 0;
        for (index, claim) in given.iter().enumerate() {
            let decision: ratecell_decision = place.value(index);
            gravest = gravest.max(decision.outcome);
            // One that only another refuses says what it has: at no cost.
            let asked = if decision.outcome == 0 && status != 0 { 0 } else { claim.request.cost };
            self.assert_lawful(asked, claim.request.now_ns, &decision);
        }
        assert_eq!(status, gravest, "{claims:?}: expected the gravest outcome");
    }

    fn with_policy(&mut self, text: &PolicyText) {
        let text = text.to_c();
        // SAFETY: a limiter, a text with its NUL, a place for another limiter.
        let other = CLimiter::made(|limiter| unsafe {
            ratecell_limiter_with_policy(self.get(), text.as_ptr(), ptr::null(), limiter)
        });
        let policy = text.to_str().ok().and_then(|text| text.parse::<Policy>().ok());
        let twin = policy.and_then(|policy| self.twin.with_policy(policy).ok());
        assert_eq!(other.is_ok(), twin.is_some(), "{text:?}: {other:?}: expected what Rust says");
        if let (Ok(other), Some(twin)) = (other, twin) {
            (self.limiter, self.twin) = (other, twin);
        }
    }
}
