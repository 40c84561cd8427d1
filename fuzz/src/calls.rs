//! A sequence of calls of the C ABI, as right and as wrong as a caller's may be, on one limiter; its twin is
//! asked the same through Rust.
//!
//! | module | what |
//! | --- | --- |
//! | [`faults`] | what a call is given that it must refuse |
//! | [`create`] | how a limiter is made |
//! | [`world`] | the limiter, its twin and their time, and each call on them |
//! | [`clients`] | the keys of clients, which need no limiter |
//! | [`clocked`] | the calls that read the clock, on a limiter of their own |
//! | [`held`] | reservations, on a limiter of their own |
//! | [`waiting`] | the machine that waits, which calls no limiter |

use arbitrary::Arbitrary;

mod clients;
mod clocked;
mod create;
mod faults;
mod held;
mod waiting;
mod world;

use crate::policies::{Number, PolicyText};
use clients::Clients;
use clocked::Clocked;
use create::{Create, MaxKeys};
use faults::Fault;
use held::Held;
use waiting::Waiting;
use world::World;

/// A limiter and what is asked of it.
#[derive(Arbitrary, Debug)]
pub struct Script {
    policy: PolicyText,
    max_keys: MaxKeys,
    when_full: u8,
    calls: Vec<Call>,
    more: Vec<More>,
}

/// Calls that several limiters may take part in, and others between them.
#[derive(Arbitrary, Debug)]
enum More {
    Call(Call),
    Decide(Check, Manner),
    /// From here on the limiter is another, on the same keys.
    WithPolicy {
        policy: PolicyText,
        fault: Fault,
    },
    Joint {
        tick: Tick,
        claims: Vec<Claim>,
        told: bool,
        fault: Fault,
    },
    Clients(Clients),
    Waiting(Waiting),
    Held(Held),
}

/// What a request says beside its key, its cost and its time.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Manner {
    charge: bool,
    within: Option<Number>,
    next: bool,
}

/// Of the limiter, or of one that was before it.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Claim {
    limiter: u8,
    key: Key,
    cost: Number,
    /// Nanoseconds after the others.
    later: Number,
    manner: Manner,
}

#[derive(Arbitrary, Debug)]
enum Call {
    Check(Check),
    Forget { key: Key, fault: Fault },
    Batch { tick: Tick, requests: Vec<(Key, Number)>, fault: Fault },
    Stats { tick: Tick, size: u8, fault: Fault },
    Policy { fault: Fault },
    New(Create),
    Clocked(Clocked),
}

/// One request.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Check {
    key: Key,
    by: By,
    cost: Number,
    tick: Tick,
    /// Whether the decision is asked for.
    told: bool,
    /// Whether a denial is followed until it is over.
    retried: bool,
    fault: Fault,
}

impl Check {
    fn peek(key: Key) -> Self {
        let (cost, tick) = (Number::default(), Tick::ToRetry(0));
        Self { key, by: By::Peek, cost, tick, told: true, retried: false, fault: Fault::None }
    }
}

/// Which of the calls decides a request.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum By {
    Bytes,
    Hash,
    Peek,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Key(u8);

impl Key {
    /// Of 0 to 32 bytes. Equal for some numbers, where they are none.
    fn bytes(self) -> Vec<u8> {
        vec![self.0; usize::from(self.0) % 33]
    }
}

/// From the time of one call to that of the next.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Tick {
    /// By some power of ten, also back.
    On {
        scale: u8,
        amount: i8,
    },
    /// To about when the last decision said that its request would pass.
    ToRetry(i8),
    /// To about when it said that its key would be as good as never used.
    ToReset(i8),
    /// To about the last time that the policy can decide.
    ToEnd(i8),
    ToStart(u8),
}

impl Script {
    pub fn run(self) {
        if !cfg!(getrandom_backend = "custom") {
            panic!("keys fall at random: expected a build by ci/fuzz.sh");
        }
        let Some(mut world) = World::new(&self.policy, self.max_keys, self.when_full) else { return };
        for call in self.calls {
            call.run(&mut world);
        }
        for more in self.more {
            match more {
                More::Call(call) => call.run(&mut world),
                More::Decide(check, manner) => world.decide_so(check, manner),
                More::WithPolicy { policy, fault } => world.with_policy(&policy, fault),
                More::Joint { tick, claims, told, fault } => world.joint(tick, &claims, told, fault),
                More::Clients(clients) => clients.run(),
                More::Waiting(waiting) => waiting.run(),
                More::Held(held) => held.run(),
            }
        }
        world.finish();
    }
}

impl Call {
    fn run(self, world: &mut World) {
        match self {
            Self::Check(check) => world.check(check),
            Self::Forget { key, fault } => world.forget(key, fault),
            Self::Batch { tick, requests, fault } => world.batch(tick, &requests, fault),
            Self::Stats { tick, size, fault } => world.stats(tick, size.into(), fault),
            Self::Policy { fault } => world.policy(fault),
            Self::New(create) => create.run(),
            Self::Clocked(call) => world.clocked(call),
        }
    }
}
