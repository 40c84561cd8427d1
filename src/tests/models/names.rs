//! Names: two keys on one line, each denied by its own threads, and one that looks.

use std::sync::Arc;

use super::super::model::checker::thread;
use super::super::model::{Bound, explore, until_dead};
use crate::names::Names;
use crate::table::Secret;

const A: &[u8] = b"a";
/// Its name is cut.
const B: &[u8] = b"b, with so many bytes that not all of them are kept";

/// Names of one line, and how often each key may have been denied.
struct World {
    names: Names,
    secret: Secret,
}

type Actor = Box<dyn FnOnce(&World) + Send>;

fn denies(key: &'static [u8], times: usize) -> Actor {
    Box::new(move |world| (0..times).for_each(|_| world.deny(key)))
}

impl World {
    fn new() -> Self {
        let secret = Secret::of_words([1, 2]);
        Self { names: Names::alone(secret.clone()), secret }
    }

    fn deny(&self, key: &[u8]) {
        self.names.note_in(0, self.secret.hash(key), Some(key));
    }

    /// No key has another's name, nor more denials than it had.
    fn look(&self, most: [u64; 2]) {
        for (_, entry) in self.names.entries() {
            let name = entry.name.as_ref().expect("keys have names").as_bytes();
            let (key, most) = if name == A { (A, most[0]) } else { (B, most[1]) };
            assert!(key.starts_with(name) && entry.hash == self.secret.hash(key), "{name:?} is a stranger's");
            assert!(entry.count() <= most, "{name:?} has {} denials of {most}", entry.count());
        }
    }

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
}

/// Red: a hash that is not bound to its entry, an entry without a seq of its own, and a denial that is counted whoever has the
/// line by now.
#[test]
fn two_keys_on_a_line() {
    explore("names::two_keys_on_a_line", Bound::Preemptions(2), || {
        let world = World::new();
        // One that outlives one denial of another key: of two denials of that one at most is counted as its own.
        world.deny(A);
        let most = [2, 1];
        let looks: Actor = Box::new(move |world| {
            world.deny(A);
            world.look(most);
        });
        let world = world.race(vec![looks, denies(B, 2)]);
        world.look(most);
        assert_eq!(world.names.total(), 4);
    });
}

/// Red: a denial that is not in the total if its line is in other hands.
#[test]
fn all_denials_are_in_the_total() {
    explore("names::all_denials_are_in_the_total", Bound::Preemptions(2), || {
        let world = World::new().race(vec![denies(A, 2), denies(B, 1)]);
        assert_eq!(world.names.total(), 3);
        world.look([2, 1]);
    });
}

/// More changes than a denial makes that nobody is in the way of: the total, the claim, the hash, five words, the end.
const STEPS: usize = 9;

/// A thread that stops for ever after each of its changes: its line is another's after so many denials as a claim outlives.
/// Red: a claim that outlives all.
#[test]
fn dead() {
    for steps in 0..STEPS {
        explore(&format!("names::dead::{steps}"), Bound::Preemptions(1), move || {
            let world = World::new();
            let dies: Actor = Box::new(move |world| {
                until_dead(steps, || world.deny(A));
            });
            let world = world.race(vec![dies, denies(B, 1)]);
            world.look([1, 1]);
            (0..20).for_each(|_| world.deny(B));
            assert!(world.names.entries().any(|(_, entry)| entry.hash == world.secret.hash(B)));
            world.look([1, 21]);
        });
    }
}

/// No denial makes more changes than are modelled.
#[test]
fn all_of_them() {
    explore("names::all_of_them", Bound::Preemptions(0), || {
        let lives: Actor = Box::new(|world| assert_eq!(until_dead(STEPS, || world.deny(A)), Some(())));
        // Shuttle wants another thread.
        World::new().race(vec![lives, denies(A, 0)]);
    });
}
