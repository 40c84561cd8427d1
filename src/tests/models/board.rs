//! The board: misses that are posted and taken, and who sleeps and wakes.
//!
//! A checker's futex has no timeout: whoever were not woken would sleep for ever, and the checker says so.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use core::time::Duration;

use super::super::model::checker::thread;
use super::super::model::{AtomicU64, Bound, Ordering, explore, until_dead};
use crate::board::Board;

/// Keys that have one home, on a board of one or two pairs.
const A: u64 = 2;
const B: u64 = 4;
/// What units may be for.
const FORGET: u64 = 1 << 62;
const FILL: u64 = 1 << 63;
const NO_TIMEOUT: Duration = Duration::MAX;

type Misses = Mutex<Vec<(u64, u64)>>;

/// A board, what somebody was about to post on it, what was posted, and what was taken from it.
struct World {
    board: Board,
    tried: Misses,
    posted: Misses,
    taken: Misses,
}

type Actor = Box<dyn FnOnce(&World) + Send>;

fn actor(work: impl FnOnce(&World) + Send + 'static) -> Actor {
    Box::new(work)
}

fn note(misses: &Misses, h: u64, units: u64) {
    misses.lock().expect("no panic").push((h, units));
}

/// Whatever each key's units are for.
fn asked_for(misses: Misses) -> BTreeMap<u64, u64> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for (h, units) in misses.into_inner().expect("no panic") {
        *all.entry(h).or_default() |= units;
    }
    all
}

impl World {
    fn of(pairs: usize) -> Self {
        let [tried, posted, taken] = Default::default();
        Self { board: Board::alone(pairs, 1), tried, posted, taken }
    }

    fn post(&self, h: u64, units: u64) -> bool {
        note(&self.tried, h, units);
        let posted = self.board.post(h, units);
        if posted {
            note(&self.posted, h, units);
        }
        posted
    }

    fn take(&self) {
        self.board.take(|h, units| note(&self.taken, h, units));
    }

    /// How often something has been taken so far.
    fn takes(&self) -> usize {
        self.taken.lock().expect("no panic").len()
    }

    /// Runs the actors at once, each in a thread of its own, and waits for all.
    fn race(self, actors: Vec<Actor>) -> Self {
        let world = Arc::new(self);
        let threads: Vec<_> = actors
            .into_iter()
            .map(|act| {
                let world = Arc::clone(&world);
                thread::spawn(move || act(&world))
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        Arc::into_inner(world).expect("all threads have ended")
    }

    /// What must hold at last, whoever has stopped wherever: what was posted is taken, by its key and with all that it is
    /// for; nothing is taken by a key that was not tried for that key; and there is room for whoever comes.
    fn settle(self) {
        self.take();
        for h in [A, B] {
            assert!(self.post(h, 1), "no room for {h}");
            self.take();
        }
        let Self { tried, posted, taken, .. } = self;
        let [tried, posted, taken] = [tried, posted, taken].map(asked_for);
        for (h, units) in &taken {
            let tried = tried.get(h).copied().unwrap_or(0);
            assert_eq!(units & !tried, 0, "{h} was taken with {units:x}, and tried with {tried:x}");
        }
        for (h, units) in &posted {
            let taken = taken.get(h).copied().unwrap_or(0);
            assert_eq!(units & !taken, 0, "{h} was posted with {units:x}, and taken with {taken:x}");
        }
    }
}

fn posts(h: u64, units: u64) -> Actor {
    actor(move |world| assert!(world.post(h, units), "no room for {h}"))
}

fn takes() -> Actor {
    actor(World::take)
}

/// Red: units that are posted after their h.
#[test]
fn two_misses_of_one_key() {
    explore("board::two_misses_of_one_key", Bound::Preemptions(3), || {
        World::of(2).race(vec![posts(A, FILL | 1), posts(A, FORGET | 1), takes()]).settle();
    });
}

/// Red: a post that does not look whether its exchange was made, and one over whatever is there.
#[test]
fn two_misses_of_two_keys() {
    explore("board::two_misses_of_two_keys", Bound::Preemptions(3), || {
        World::of(2).race(vec![posts(A, FILL | 1), posts(B, FORGET | 1), takes()]).settle();
    });
}

/// The only place goes from one key to another while more is missed of the first. Red: units that are taken before or after
/// their h.
#[test]
fn a_miss_against_the_agent() {
    explore("board::a_miss_against_the_agent", Bound::Preemptions(2), || {
        let world = World::of(1);
        assert!(world.post(A, 1));
        let other = actor(|world| {
            world.post(B, FILL | 1);
        });
        let more = actor(|world| {
            world.post(A, FORGET | 1);
        });
        world.race(vec![more, other, takes()]).settle();
    });
}

/// Two agents take a miss once.
#[test]
fn two_agents() {
    explore("board::two_agents", Bound::Exhaustive, || {
        let world = World::of(1);
        assert!(world.post(A, 1));
        let world = world.race(vec![takes(), takes()]);
        assert_eq!(world.takes(), 1);
        world.settle();
    });
}

/// More changes than a post tries that nobody is in the way of.
const STEPS: usize = 4;

/// A caller and an agent that stop for ever after so many of their changes, beside a caller that lives.
#[test]
fn dead() {
    for steps in 0..STEPS {
        for key in [A, B] {
            explore(&format!("board::dead::{steps}::{key}"), Bound::Preemptions(3), move || {
                let doomed = actor(move |world| {
                    until_dead(steps, || world.post(A, FORGET | 1));
                });
                let agent = actor(move |world| {
                    until_dead(steps, || world.take());
                });
                World::of(2).race(vec![doomed, posts(key, FILL | 1), agent]).settle();
            });
        }
    }
}

/// No post tries more changes than are modelled.
#[test]
fn all_of_them() {
    explore("board::all_of_them", Bound::Preemptions(0), || {
        let lives = actor(|world| {
            assert_eq!(until_dead(STEPS - 1, || world.post(A, 1)), Some(true));
        });
        World::of(2).race(vec![lives, actor(|_| {})]);
    });
}

/// The agent sleeps whenever it has found nothing, until it has taken so many.
fn agent(most: usize) -> Actor {
    actor(move |world| {
        while world.takes() < most {
            world.take();
            if world.takes() < most {
                world.board.sleep(NO_TIMEOUT);
            }
        }
    })
}

/// Red: a caller that looks whether the agent sleeps before it has posted, one that looks by a load, an agent that does not
/// look at the board once more, and one that awakes by a store.
#[test]
fn the_agent_wakes() {
    explore("board::the_agent_wakes", Bound::Exhaustive, || {
        World::of(1).race(vec![posts(A, 1), agent(1)]).settle();
    });
    explore("board::the_agent_wakes_twice", Bound::Preemptions(2), || {
        World::of(2).race(vec![posts(A, 1), posts(B, 1), agent(2)]).settle();
    });
}

/// Callers whose answer is `granted`, and the agent's two steps: to write it, and to count.
fn callers(name: &str, bound: Bound, callers: usize) {
    explore(name, bound, move || {
        let granted = Arc::new(AtomicU64::default());
        let caller = || {
            let granted = Arc::clone(&granted);
            actor(move |world| {
                loop {
                    let ticket = world.board.ticket(A);
                    // Relaxed: the ticket's Acquire is what shows the grant.
                    if granted.load(Ordering::Relaxed) == 1 {
                        break;
                    }
                    world.board.wait(A, ticket, NO_TIMEOUT);
                }
            })
        };
        let mut actors: Vec<_> = (0..callers).map(|_| caller()).collect();
        actors.push(actor(move |world| {
            granted.store(1, Ordering::Relaxed);
            world.board.answered(A);
        }));
        World::of(1).race(actors);
    });
}

/// Red: an answer that is not counted, one that does not wake, and a ticket that does not acquire.
#[test]
fn a_caller_wakes() {
    callers("board::a_caller_wakes", Bound::Exhaustive, 1);
    callers("board::two_callers_wake", Bound::Preemptions(3), 2);
}

/// All of it: a caller misses, posts and waits; the agent sleeps, takes, grants and answers.
#[test]
fn a_miss_is_answered() {
    explore("board::a_miss_is_answered", Bound::Preemptions(3), || {
        let granted = Arc::new(AtomicU64::default());
        let grants = Arc::clone(&granted);
        let caller = actor(move |world| {
            loop {
                let ticket = world.board.ticket(A);
                if granted.load(Ordering::Relaxed) == 1 {
                    break;
                }
                assert!(world.post(A, 1));
                world.board.wait(A, ticket, NO_TIMEOUT);
            }
        });
        let agent = actor(move |world| {
            while world.takes() == 0 {
                world.take();
                if world.takes() == 0 {
                    world.board.sleep(NO_TIMEOUT);
                }
            }
            grants.store(1, Ordering::Relaxed);
            world.board.answered(A);
        });
        World::of(1).race(vec![caller, agent]).settle();
    });
}
