//! What several limiters take part in, and charges of what was spent already.

use core::mem;
use core::ptr;

use ratecell::ffi::ratecell_status::RATECELL_EINVAL;
use ratecell::ffi::{
    RATECELL_CHARGE, RATECELL_NEXT, RATECELL_WITHIN, ratecell_claim, ratecell_decide_all, ratecell_decision,
    ratecell_limiter, ratecell_limiter_decide, ratecell_limiter_with_policy, ratecell_request,
};
use ratecell::{BuildError, Decision, Limiter, Policy, Request};

use super::{World, of, spoil};
use crate::calls::faults::Fault;
use crate::calls::{Check, Claim, Manner, Tick};
use crate::laws;
use crate::limiter::CLimiter;
use crate::memory::Memory;
use crate::policies::PolicyText;

/// Limiters that are kept beside the present one.
const EARLIER: usize = 3;

impl Manner {
    /// In C.
    fn mark(self, request: &mut ratecell_request) {
        let flags = [
            (self.charge, RATECELL_CHARGE),
            (self.within.is_some(), RATECELL_WITHIN),
            (self.next, RATECELL_NEXT),
        ];
        request.flags |= flags.into_iter().filter(|(has, _)| *has).map(|(_, flag)| flag).sum::<u32>();
        request.max_delay_ns = self.within.map_or(u64::MAX, |within| within.get());
    }

    /// In Rust.
    fn of(self, request: Request<'_>) -> Request<'_> {
        let request = if self.charge { request.charge() } else { request };
        let request = self.within.map_or(request, |within| request.within_ns(within.get()));
        if self.next { request.with_next() } else { request }
    }

    fn is_meaningless(self) -> bool {
        self.charge && self.within.is_some()
    }
}

impl Claim {
    /// Without what means nothing together: one such claim would be all that is seen.
    fn meaningful(self) -> Self {
        let within = self.manner.within.filter(|_| !self.manner.charge);
        Self { manner: Manner { within, ..self.manner }, ..self }
    }
}

impl World {
    /// A request in a manner of its own, in C and in Rust.
    pub(in crate::calls) fn decide_so(&mut self, check: Check, manner: Manner) {
        self.tick(check.tick);
        let (cost, key) = (check.cost.cost(), check.key.bytes());
        let fault = check.fault.among(match check.fault {
            Fault::InputNull | Fault::InputMisaligned(_) => true,
            Fault::ElementReserved | Fault::ElementNull | Fault::ElementHuge => true,
            Fault::OutputMisaligned(_) => check.told,
            _ => false,
        });
        let bytes = Memory::of(&key);
        let place = Memory::room::<ratecell_decision>(fault.shift());
        let output = if check.told { place.pointer() } else { ptr::null_mut() };
        let limiter = fault.limiter(self.limiter.get());
        let mut given = of(&bytes, cost, self.now);
        manner.mark(&mut given);
        match fault {
            Fault::ElementReserved => spoil(&mut given),
            Fault::ElementNull => (given.key, given.key_len) = (ptr::null(), 1),
            Fault::ElementHuge => given.key_len = usize::MAX,
            _ => {}
        }
        // SAFETY: a limiter, a request with a key of so many bytes, room for a decision or NULL; or what must be refused.
        let status = unsafe { ratecell_limiter_decide(limiter, fault.input(&raw const given), output) };
        let meaningless =
            (manner.is_meaningless() && !fault.is_of_a_pointer()).then_some(RATECELL_EINVAL as i32);
        if let Some(expected) = meaningless.or(fault.status()) {
            assert_eq!(status, expected, "{manner:?}, {check:?} with {fault:?}");
            place.assert_untouched("ratecell_limiter_decide");
            self.decide(Check::peek(check.key), 0);
            return;
        }
        let twin = laws::in_c(self.twin.decide(manner.of(Request::new(&key).cost(cost).at(self.now))));
        assert_eq!(
            status, twin.outcome,
            "{manner:?}, {check:?} at {}: expected the status of {twin:?}",
            self.now
        );
        if manner.within.is_none() {
            // The answer of a charge is of no cost.
            let asked = if manner.charge { 0 } else { cost };
            laws::assert_lawful(&self.twin.policy(), asked, self.now, &twin);
        }
        assert!(manner.next || twin.next_ns == 0, "{twin:?}: expected nothing of what is next");
        if check.told {
            let decision: ratecell_decision = place.value(0);
            assert_eq!(
                decision, twin,
                "{manner:?}, {check:?} at {}: expected the decision of Rust",
                self.now
            );
        }
        self.last = Some(twin);
    }

    pub(in crate::calls) fn with_policy(&mut self, text: &PolicyText, fault: Fault) {
        let text = text.to_c();
        let policy = text.to_str().ok().and_then(|text| text.parse::<Policy>().ok());
        // Of a text that is no policy as well, the contract puts none first.
        let possible = matches!(fault, Fault::InputNull | Fault::OutputNull | Fault::OutputMisaligned(_));
        let fault = if policy.is_some() { fault.among(possible) } else { Fault::None };
        let place = Memory::room::<*mut ratecell_limiter>(fault.shift());
        let (limiter, input) = (fault.limiter(self.limiter.get()), fault.input(text.as_ptr()));
        let made = CLimiter::made(|limiter_place| {
            // SAFETY: a limiter, a text with its NUL, a place for a limiter; or what must be refused.
            let status = unsafe {
                {
                    let output = fault.output(place.pointer());
                    ratecell_limiter_with_policy(limiter, input, ptr::null(), output)
                }
            };
            if status == 0 {
                // SAFETY: a place for a limiter, as `made` has it.
                unsafe { limiter_place.write(place.value(0)) };
            } else {
                place.assert_untouched("ratecell_limiter_with_policy");
            }
            status
        });
        if let Some(expected) = fault.status() {
            assert_eq!(made.err(), Some(expected), "{text:?} with {fault:?}");
            return;
        }
        let Some(policy) = policy else {
            assert!(made.is_err(), "{text:?}: expected no limiter of no policy");
            return;
        };
        match (made, self.twin.with_policy(policy)) {
            (Ok(limiter), Ok(twin)) => {
                let earlier = (mem::replace(&mut self.limiter, limiter), mem::replace(&mut self.twin, twin));
                self.earlier.push(earlier);
                if self.earlier.len() > EARLIER {
                    self.earlier.remove(0);
                }
                // What it says of waiting is of the other's rate.
                self.last = None;
            }
            (Err(status), Err(BuildError::Policy(_))) if (-19..=-10).contains(&status) => {}
            (Err(status), Err(BuildError::Region(_))) if (-50..=-40).contains(&status) => {}
            (made, twin) => panic!("{text:?}: {made:?}: expected what Rust says: {twin:?}"),
        }
    }

    fn pair(&self, number: u8) -> (&CLimiter, &Limiter) {
        match self.earlier.get(usize::from(number) % (self.earlier.len() + 1)) {
            Some((limiter, twin)) => (limiter, twin),
            None => (&self.limiter, &self.twin),
        }
    }

    pub(in crate::calls) fn joint(&mut self, tick: Tick, claims: &[Claim], told: bool, fault: Fault) {
        self.tick(tick);
        // As many as one call takes: 64 layers in all.
        let mut layers = 0;
        let fits = |claim: &&Claim| {
            layers += self.pair(claim.limiter).1.policy().resolved().count();
            layers <= 64
        };
        let claims: Vec<_> = claims.iter().take_while(fits).copied().map(Claim::meaningful).collect();
        let claims = &claims[..];
        let keys: Vec<_> = claims.iter().map(|claim| claim.key.bytes()).collect();
        let inputs: Vec<_> = keys.iter().map(|key| Memory::of(key)).collect();
        let now = |claim: &Claim| self.now.saturating_add(claim.later.get());
        let mut given: Vec<_> = claims
            .iter()
            .zip(&inputs)
            .map(|(claim, input)| {
                let mut request = of(input, claim.cost.cost(), now(claim));
                claim.manner.mark(&mut request);
                ratecell_claim { limiter: self.pair(claim.limiter).0.get(), request }
            })
            .collect();
        let fault = match fault {
            Fault::InputHuge => fault,
            _ if given.is_empty() => Fault::None,
            // Without decisions there is no output to be at fault.
            Fault::OutputNull => Fault::None,
            Fault::OutputMisaligned(_) if !told => Fault::None,
            _ => fault,
        };
        if let Some(last) = given.last_mut() {
            match fault {
                Fault::LimiterNull | Fault::LimiterMisaligned(_) => {
                    last.limiter = fault.limiter(last.limiter);
                }
                Fault::ElementReserved => spoil(&mut last.request),
                Fault::ElementNull => (last.request.key, last.request.key_len) = (ptr::null(), 1),
                Fault::ElementHuge => last.request.key_len = usize::MAX,
                _ => {}
            }
        }
        // Boxed, so that they end where their memory ends.
        let given = given.into_boxed_slice();
        let place = Memory::new(size_of::<ratecell_decision>() * given.len(), fault.shift());
        let output = if told { place.pointer() } else { ptr::null_mut() };
        let (input, n) = (fault.input(given.as_ptr()), fault.len(given.len()));
        // SAFETY: claims on limiters with keys of so many bytes, room for as many decisions or NULL; or what must be
        // refused.
        let status = unsafe { ratecell_decide_all(input, n, output) };
        if fault.status().is_some() || !told {
            place.assert_untouched("ratecell_decide_all");
        }
        if let Some(expected) = fault.status() {
            assert_eq!(status, expected, "{claims:?} with {fault:?}");
        } else {
            let twins: Vec<_> = claims
                .iter()
                .zip(&keys)
                .map(|(claim, key)| ratecell::Claim {
                    limiter: self.pair(claim.limiter).1,
                    request: claim.manner.of(Request::new(key).cost(claim.cost.cost()).at(now(claim))),
                })
                .collect();
            let mut decisions = vec![Decision::default(); twins.len()];
            let outcome = Limiter::decide_all(&twins, &mut decisions) as i32;
            assert_eq!(status, outcome, "{claims:?} at {}: expected the outcome of {decisions:?}", self.now);
            for (index, (claim, decision)) in given.iter().zip(decisions).enumerate() {
                let twin = laws::in_c(decision);
                // One that only another refuses says what it has: at no cost.
                let manner = claims[index].manner;
                let asked =
                    if manner.charge || twin.outcome == 0 && status != 0 { 0 } else { claim.request.cost };
                if manner.within.is_none() {
                    laws::assert_lawful(&twins[index].limiter.policy(), asked, claim.request.now_ns, &twin);
                }
                if told {
                    let decision: ratecell_decision = place.value(index);
                    assert_eq!(decision, twin, "{claims:?} at {}: expected {index} as in Rust", self.now);
                }
            }
        }
        for claim in claims {
            self.decide(Check::peek(claim.key), 0);
        }
    }
}
