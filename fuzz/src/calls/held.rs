//! Reservations, right ones and any bytes, on a limiter of their own; its twin is asked the same through Rust.

use core::ptr;
use std::ffi::CString;

use arbitrary::Arbitrary;
use ratecell::ffi::ratecell_status::RATECELL_EINVAL;
use ratecell::ffi::{
    RATECELL_CHARGE, RATECELL_RESERVE, RATECELL_WITHIN, ratecell_config, ratecell_decision,
    ratecell_limiter_check_at, ratecell_limiter_decide, ratecell_limiter_forget, ratecell_limiter_release,
    ratecell_limiter_renew, ratecell_limiter_settle, ratecell_request, ratecell_reservation,
};
use ratecell::{Limiter, Policy, Request, Reservation, WhenFull};

use super::Key;
use super::create::MaxKeys;
use super::faults::Fault;
use crate::laws;
use crate::limiter::CLimiter;
use crate::memory::{Memory, request};
use crate::policies::{Number, PolicyText};

#[derive(Arbitrary, Debug)]
pub(super) struct Held {
    policy: PolicyText,
    /// The limit of a layer in flight, and its hold in seconds, beside the others.
    in_flight: Option<(u8, u8)>,
    max_keys: MaxKeys,
    when_full: u8,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// By some power of ten, also back.
    Tick {
        scale: u8,
        amount: i8,
    },
    Check(Key, Number),
    Forget(Key),
    Reserve {
        key: Key,
        cost: Number,
        within: Option<Number>,
        fault: Fault,
    },
    /// Of an earlier reservation, some bytes of which may have been changed.
    Act {
        act: Act,
        which: u8,
        cost: Number,
        changes: Vec<(u16, u8)>,
        fault: Fault,
    },
    /// Of bytes that nobody wrote.
    Any {
        act: Act,
        bytes: Vec<u8>,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Act {
    Settle,
    Release,
    Renew,
}

const BYTES: usize = size_of::<ratecell_reservation>();
/// How many are kept.
const KEPT: usize = 8;

/// The limiter, its twin and their time.
struct Pair {
    limiter: CLimiter,
    twin: Limiter,
    now: u64,
    kept: Vec<[u8; BYTES]>,
}

impl Held {
    pub(super) fn run(self) {
        let Ok(mut text) = self.policy.to_c().into_string() else { return };
        if let Some((limit, hold)) = self.in_flight {
            text += &format!(" & in_flight {limit} hold={hold}s");
        }
        let Ok(policy) = text.parse::<Policy>() else { return };
        let text = CString::new(text).expect("no NUL is in a policy");
        let when_full = [WhenFull::Evict, WhenFull::Share, WhenFull::Deny, WhenFull::Allow];
        let (max_keys, number) = (self.max_keys.few(), self.when_full % 4);
        let config = ratecell_config { max_keys, when_full: number.into(), ..ratecell_config::default() };
        let twin = Limiter::builder(policy).max_keys(max_keys as usize);
        let mut pair = Pair {
            limiter: CLimiter::new(&text, Some(&config)).expect("a limiter of a policy"),
            twin: twin.when_full(when_full[usize::from(number)]).build().expect("a limiter of a policy"),
            now: 0,
            kept: Vec::new(),
        };
        for step in self.steps {
            pair.step(step);
        }
    }
}

impl Pair {
    fn step(&mut self, step: Step) {
        match step {
            Step::Tick { scale, amount } => {
                let by = 10_i64.pow(u32::from(scale) % 17) * i64::from(amount);
                self.now = self.now.saturating_add_signed(by);
            }
            Step::Check(key, cost) => self.check(key, cost.cost()),
            Step::Forget(key) => {
                let bytes = Memory::of(&key.bytes());
                // SAFETY: a limiter, and a key of so many bytes.
                let status = unsafe {
                    ratecell_limiter_forget(self.limiter.get(), bytes.pointer(), bytes.bytes().len())
                };
                assert_eq!(status, i32::from(!self.twin.forget(key.bytes())), "forget {key:?}");
            }
            Step::Reserve { key, cost, within, fault } => self.reserve(key, cost.cost(), within, fault),
            Step::Act { act, which, cost, changes, fault } => {
                let Some(index) = usize::from(which).checked_rem(self.kept.len()) else { return };
                let mut bytes = self.kept[index];
                for (at, change) in &changes {
                    bytes[usize::from(*at) % BYTES] ^= change;
                }
                let after = self.act(act, bytes, cost.cost(), fault);
                if changes.is_empty() {
                    self.kept[index] = after;
                }
            }
            Step::Any { act, bytes } => {
                let mut all = [0; BYTES];
                all.iter_mut().zip(&bytes).for_each(|(place, byte)| *place = *byte);
                self.act(act, all, 0, Fault::None);
            }
        }
    }

    fn check(&self, key: Key, cost: u32) {
        let bytes = Memory::of(&key.bytes());
        let place = Memory::room::<ratecell_decision>(0);
        let (input, len) = (bytes.pointer(), bytes.bytes().len());
        // SAFETY: a limiter, a key of so many bytes, room for a decision.
        let status = unsafe {
            ratecell_limiter_check_at(self.limiter.get(), input, len, cost, self.now, place.pointer())
        };
        let twin = laws::in_c(self.twin.check_at(key.bytes(), cost, self.now));
        assert_eq!((status, place.value(0)), (twin.outcome, twin), "{cost} of {key:?} at {}", self.now);
    }

    fn reserve(&mut self, key: Key, cost: u32, within: Option<Number>, fault: Fault) {
        let fault = fault.among(!matches!(fault, Fault::InputHuge));
        let bytes = Memory::of(&key.bytes());
        let reservation = Memory::room::<ratecell_reservation>(fault.shift());
        let place = Memory::room::<ratecell_decision>(0);
        let mut given = request(bytes.pointer(), bytes.bytes().len(), cost, self.now);
        given.flags |= RATECELL_RESERVE;
        given.reservation = fault.output(reservation.pointer());
        let mut asked = Request::new(bytes.bytes()).cost(cost).at(self.now);
        if let Some(within) = within {
            given.flags |= RATECELL_WITHIN;
            given.max_delay_ns = within.get();
            asked = asked.within_ns(within.get());
        }
        match fault {
            Fault::ElementReserved => given.flags |= RATECELL_CHARGE,
            Fault::ElementNull => (given.key, given.key_len) = (ptr::null(), 1),
            Fault::ElementHuge => given.key_len = usize::MAX,
            _ => {}
        }
        let input = fault.input(&raw const given);
        // SAFETY: a limiter, a request with a key of so many bytes, room for a reservation and a decision; or what must be
        // refused.
        let status =
            unsafe { ratecell_limiter_decide(fault.limiter(self.limiter.get()), input, place.pointer()) };
        if let Some(expected) = fault.status() {
            assert_eq!(status, expected, "reserve {key:?} with {fault:?}");
            reservation.assert_untouched("ratecell_limiter_decide");
            place.assert_untouched("ratecell_limiter_decide");
            return;
        }
        let (decision, twin) = self.twin.reserve(asked).expect("a limiter that reserves");
        let decision = laws::in_c(decision);
        assert_eq!((status, place.value(0)), (decision.outcome, decision), "reserve {cost} of {key:?}");
        let expected = twin.map_or([0; BYTES], |twin| padded(&twin));
        assert_eq!(reservation.bytes(), expected, "{cost} of {key:?} at {}", self.now);
        if decision.outcome == 0 {
            self.kept.push(expected);
            if self.kept.len() > KEPT {
                self.kept.remove(0);
            }
        }
    }

    /// Does something with what these bytes may be, and returns those that they are afterwards.
    fn act(&self, act: Act, bytes: [u8; BYTES], cost: u32, fault: Fault) -> [u8; BYTES] {
        let fault = fault.among(!matches!(fault, Fault::InputHuge | Fault::ElementHuge));
        // The output that may be misaligned is the decision.
        let (reservation, place) = (Memory::of(&bytes), Memory::room::<ratecell_decision>(fault.shift()));
        let mut given: ratecell_request = request(ptr::null(), usize::MAX, cost, self.now);
        given.reservation = reservation.pointer();
        match fault {
            Fault::ElementReserved => given.flags |= RATECELL_CHARGE,
            Fault::ElementNull | Fault::OutputNull => given.reservation = ptr::null_mut(),
            _ => {}
        }
        let (limiter, input) = (fault.limiter(self.limiter.get()), fault.input(&raw const given));
        let function = match act {
            Act::Settle => ratecell_limiter_settle,
            Act::Release => ratecell_limiter_release,
            Act::Renew => ratecell_limiter_renew,
        };
        // SAFETY: a limiter, a request with a reservation's bytes, room for a decision; or what must be refused.
        let status = unsafe { function(limiter, input, place.pointer()) };
        let len = 24 + 40 * usize::from(bytes[12]);
        let twin = bytes.get(..len).and_then(|bytes| Reservation::from_bytes(bytes).ok());
        let (Some(mut twin), None) = (twin, fault.status()) else {
            // Where more is wrong than the pointers, either may be seen first.
            let expected = [fault.status(), Some(RATECELL_EINVAL as i32)];
            assert!(expected.contains(&Some(status)), "{act:?} of {bytes:?} with {fault:?}: {status}");
            place.assert_untouched("what is done with a reservation");
            assert_eq!(reservation.bytes(), bytes, "{act:?}: expected the reservation as it was");
            return bytes;
        };
        let mut after = bytes;
        let decision = match act {
            Act::Settle => self.twin.settle_at(twin, cost, self.now),
            Act::Release => self.twin.release_at(twin, self.now),
            Act::Renew => {
                let decision = self.twin.renew_at(&mut twin, self.now);
                after = padded(&twin);
                decision
            }
        };
        let expected = ratecell_decision { given_back: decision.given_back(), ..laws::in_c(decision) };
        assert_eq!((status, place.value(0)), (expected.outcome, expected), "{act:?} {cost} at {}", self.now);
        assert!(expected.remaining <= expected.limit, "{act:?}: {expected:?}");
        assert_eq!(reservation.bytes(), after, "{act:?}: expected the reservation of Rust");
        after
    }
}

/// As C has it: what it does not need is zeros.
fn padded(reservation: &Reservation) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes.iter_mut().zip(reservation.to_bytes()).for_each(|(place, byte)| *place = byte);
    bytes
}
