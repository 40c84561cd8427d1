//! A policy that is changed beside callers, who decide by handles of several generations on one table.
//!
//! Their law: whatever was admitted stands in the words, in units, and no more than one cost a change and caller besides.

use std::sync::{Arc, Mutex};

use super::super::model::{Bound, explore};
use super::hold::cancelled;
use super::live::{Actor, Live, actor, gcra, in_flight};
use super::world::{A, B, C, D, FAR, FAR_TOO};
use crate::table::{Superseded, WhenFull};
use ratecell_core::Request;
use ratecell_core::algorithm::{Gcra, InFlight};

type Rates<const SLOTS: usize> = Live<SLOTS, Gcra>;

/// The instant of all changes, and of nearly all requests.
const AT: u64 = 100;
/// Of every rate.
const BURST: usize = 4;

/// A unit is 10 ticks of a third of an instant.
const FAST: &str = "3/10ns burst=4";
/// A unit is 10 instants.
const SLOW: &str = "1/10ns burst=4";
/// A unit is 5 instants.
const MIDDLE: &str = "1/5ns burst=4";
/// A unit is 30 instants.
const SLOWEST: &str = "1/30ns burst=4";
/// A unit is a quarter of an instant.
const FASTEST: &str = "4/ns burst=4";

/// At home in the last of three buckets, or else in the first.
const LAST: u64 = (3 << 62) | (1 << 32) | 6;
const LAST_TOO: u64 = LAST + 1;

fn rates<const SLOTS: usize>(policies: &[&str], buckets: usize, when_full: WhenFull) -> Rates<SLOTS> {
    Live::of(gcra, policies, AT, buckets, when_full)
}

fn asks<const SLOTS: usize>(key: u64, now: u64) -> Actor<Rates<SLOTS>> {
    actor(move |world: &Rates<SLOTS>| {
        world.ask(key, now);
    })
}

/// A hit by the policy before, and another by the next one, which carries the word. Red: a hit without a look at the tag
/// between its word and its charge.
fn hit_beside_a_carry(name: &str, policies: [&'static str; 2]) {
    explore(name, Bound::Exhaustive, move || {
        let world = rates::<1>(&policies, 1, WhenFull::Deny);
        world.ask(A, AT);
        let changed = actor(|world: &Rates<1>| {
            world.change();
            world.ask(A, AT);
        });
        let world = world.race(vec![asks(A, AT), changed]);
        assert_eq!(world.admitted(A), 3);
        assert!((3..=4).contains(&world.used(AT)), "{} are used of 3 units", world.used(AT));
        world.spend(A, AT);
        assert!(world.admitted(A) <= BURST);
    });
}

#[test]
fn hit_beside_a_carry_to_longer_ticks() {
    hit_beside_a_carry("change::hit_beside_a_carry_to_longer_ticks", [FAST, SLOW]);
}

#[test]
fn hit_beside_a_carry_to_shorter_ticks() {
    hit_beside_a_carry("change::hit_beside_a_carry_to_shorter_ticks", [SLOW, FAST]);
}

/// The same where nothing is used, which the carry leaves as it is. Red: a word of 0 charged by 8 bytes.
#[test]
fn hit_of_a_forgotten_key() {
    explore("change::hit_of_a_forgotten_key", Bound::Exhaustive, || {
        let world = rates::<1>(&[FAST, SLOW], 1, WhenFull::Deny);
        world.ask(A, AT);
        assert!(world.handle().1.forget(A));
        let changed = actor(|world: &Rates<1>| {
            world.change();
            world.look(A, AT);
        });
        let world = world.race(vec![asks(A, AT), changed]);
        assert!((1..=2).contains(&world.used(AT)), "{} are used of 1 unit", world.used(AT));
    });
}

/// A word that is the same number after the carry, of other units. Red: a charge that is believed whatever its generation;
/// whatever the number in force.
fn hit_of_the_same_number(
    name: &str,
    bound: Bound,
    policies: &'static [&'static str],
    change: fn(&Rates<1>),
) {
    explore(name, bound, move || {
        let world: Rates<1> = Live::of(gcra, policies, 10, 1, WhenFull::Deny);
        world.ask(A, 10);
        let changed = actor(move |world: &Rates<1>| {
            change(world);
            world.look(A, 10);
        });
        let hit = actor(|world: &Rates<1>| {
            world.ask_for(A, 10, 2);
        });
        let world = world.race(vec![hit, changed]);
        world.spend(A, 10);
        assert!(world.admitted(A) <= BURST, "{} of {BURST}", world.admitted(A));
    });
}

#[test]
fn hit_of_the_same_number_after_a_change() {
    let name = "change::hit_of_the_same_number_after_a_change";
    hit_of_the_same_number(name, Bound::Exhaustive, &[FAST, SLOWEST], Live::change);
}

#[test]
fn hit_of_the_same_number_after_four() {
    let name = "change::hit_of_the_same_number_after_four";
    hit_of_the_same_number(
        name,
        Bound::Preemptions(1),
        &[FAST, SLOW, MIDDLE, SLOW, SLOWEST],
        Live::change_four_times,
    );
}

/// A has units left by every policy, though not where one reads the ticks of another. Red: denied without a look at the tag
/// and the number in force.
fn denied_by_other_ticks(name: &str, bound: Bound, policies: &'static [&'static str], change: fn(&Rates<1>)) {
    explore(name, bound, move || {
        let world = rates::<1>(policies, 1, WhenFull::Deny);
        world.ask(A, AT);
        let changed = actor(move |world: &Rates<1>| {
            change(world);
            world.look(A, AT);
        });
        let world = world.race(vec![asks(A, AT), changed]);
        assert_eq!(world.admitted(A), 2);
    });
}

#[test]
fn denied_by_other_ticks_after_a_change() {
    let name = "change::denied_by_other_ticks_after_a_change";
    denied_by_other_ticks(name, Bound::Exhaustive, &[SLOW, FAST], Live::change);
}

#[test]
fn denied_by_other_ticks_after_four() {
    let policies = &[SLOW, MIDDLE, SLOW, MIDDLE, FAST];
    let name = "change::denied_by_other_ticks_after_four";
    denied_by_other_ticks(name, Bound::Preemptions(1), policies, Live::change_four_times);
}

/// A is spent. By the next policy it is fresh an instant later, and another home's key takes its slot: the policy before
/// would give A a unit more. Red: an insertion without a look at the number in force after the floor.
#[test]
fn insertion_beside_a_raise() {
    explore("change::insertion_beside_a_raise", Bound::Exhaustive, || {
        let world = rates::<1>(&[SLOW, FASTEST], 3, WhenFull::Deny);
        world.spend(A, AT);
        world.ask(LAST, AT);
        let raised = actor(|world: &Rates<1>| {
            world.change();
            assert!(world.ask(LAST, AT + 1) && world.ask(LAST_TOO, AT + 1));
        });
        let world = world.race(vec![asks(A, AT), raised]);
        assert_eq!(world.admitted(A), BURST);
    });
}

/// B is in use by either policy, though as a word of the next one it would be fresh. Red: judged uncarried.
#[test]
fn judged_as_carried() {
    explore("change::judged_as_carried", Bound::Exhaustive, || {
        let world = rates::<1>(&[SLOW, FAST], 1, WhenFull::Deny);
        world.spend(B, AT);
        let changed = actor(|world: &Rates<1>| {
            world.change();
            world.ask(A, AT);
        });
        let world = world.race(vec![asks(B, AT), changed]);
        assert_eq!((world.admitted(A), world.admitted(B)), (0, BURST));
    });
}

/// B is fresh, unless it is carried a second time. Red: judged without another look at its tag.
#[test]
fn judged_beside_a_carry() {
    explore("change::judged_beside_a_carry", Bound::Exhaustive, || {
        let world = rates::<1>(&[SLOW, FAST], 1, WhenFull::Deny);
        world.ask(B, AT - 40);
        world.change();
        let look = actor(|world: &Rates<1>| world.look(B, AT));
        let world = world.race(vec![asks(A, AT), look]);
        assert_eq!(world.admitted(A), 1);
    });
}

/// B's word is of the next generation, whose bits are those of the one three before: as a word of that it is fresh. Red:
/// judged without another look at the number in force.
#[test]
fn judged_beside_the_next_change() {
    explore("change::judged_beside_the_next_change", Bound::Exhaustive, || {
        let world = rates::<1>(&[FAST, SLOW, MIDDLE, FAST, SLOW], 1, WhenFull::Deny);
        for _ in 0..3 {
            world.change();
        }
        world.spend(B, AT);
        let changed = actor(|world: &Rates<1>| {
            world.change();
            world.look(B, AT);
        });
        let world = world.race(vec![asks(A, AT), changed]);
        assert_eq!(world.admitted(A), 0);
    });
}

/// A takes the slot of a key whose word is of the policy before. Red: the generation of that word kept.
#[test]
fn seizure_beside_a_change() {
    explore("change::seizure_beside_a_change", Bound::Preemptions(2), || {
        let world = rates::<1>(&[FAST, SLOW], 1, WhenFull::Deny);
        world.ask(B, AT - 40);
        let changed = actor(|world: &Rates<1>| {
            world.change();
            world.ask(A, AT);
        });
        let world = world.race(vec![asks(A, AT), changed]);
        assert_eq!(world.admitted(A), 2);
        assert!((2..=3).contains(&world.used(AT)), "{} are used of 2 units", world.used(AT));
    });
}

/// A's reservation of C's slot is voided, while that is carried; three changes later its tag is the same number again. D is
/// fresh for the later request, which takes its slot.
#[test]
fn voided_beside_a_carry() {
    explore("change::voided_beside_a_carry", Bound::RandomOnly, || {
        let world = rates::<2>(&[FAST, SLOW, MIDDLE, FAST, SLOW], 1, WhenFull::Deny);
        assert!(world.ask(D, AT - 40) && world.ask(C, AT - 40) && world.handle().1.forget(C));
        world.change();
        assert!(world.ask(D, AT));
        let later = actor(|world: &Rates<2>| {
            world.ask(A, AT + 10);
            for _ in 0..3 {
                world.change();
            }
            world.look(C, AT + 10);
        });
        let look = actor(|world: &Rates<2>| world.look(C, AT));
        let world = world.race(vec![asks(A, AT), later, look]);
        assert_eq!(world.handle().1.members(A), 1);
    });
}

/// An insertion by a policy whose bits mean another one by now. Red: no header swept.
#[test]
fn insertion_beside_four_changes() {
    explore("change::insertion_beside_four_changes", Bound::Preemptions(2), || {
        let world = rates::<1>(&[FAST, SLOW, MIDDLE, FAST, SLOW], 1, WhenFull::Deny);
        let changed = actor(Rates::<1>::change_four_times);
        let world = world.race(vec![asks(A, AT), changed]);
        assert_eq!((world.admitted(A), world.used(AT)), (1, 1));
    });
}

/// The same of a key that finds room in a bucket before its home. Red: swept bucket by bucket.
#[test]
fn insertion_elsewhere_beside_four_changes() {
    explore("change::insertion_elsewhere_beside_four_changes", Bound::Preemptions(1), || {
        let world = rates::<1>(&[FAST, SLOW, MIDDLE, FAST, SLOW], 2, WhenFull::Deny);
        world.ask(FAR_TOO, AT);
        let changed = actor(Rates::<1>::change_four_times);
        let world = world.race(vec![asks(FAR, AT), changed]);
        assert_eq!((world.admitted(FAR), world.used(AT)), (1, 2));
    });
}

/// Two newcomers on the cell that they share. Red: carried without the generation in the version.
#[test]
fn shared_beside_a_change() {
    explore("change::shared_beside_a_change", Bound::Exhaustive, || {
        let world = rates::<1>(&[FAST, SLOW], 1, WhenFull::Share);
        world.spend(B, AT);
        let changed = actor(|world: &Rates<1>| {
            world.change();
            world.ask(C, AT);
        });
        let world = world.race(vec![asks(A, AT), changed]);
        assert_eq!((world.admitted(A), world.admitted(C), world.used(AT)), (1, 1, 6));
    });
}

/// A reserves a slot by the policy before. By the next one A finds another slot fresh, which comes first. Red: the
/// reservation's name dropped by the carry.
#[test]
fn reserved_beside_a_carry_of_the_shared_cell() {
    explore("change::reserved_beside_a_carry_of_the_shared_cell", Bound::Preemptions(2), || {
        let world: Rates<2> = Live::of(gcra, &[SLOW, FASTEST], 108, 1, WhenFull::Share);
        assert!(world.ask(D, AT) && world.ask(C, AT - 20));
        let changed = actor(|world: &Rates<2>| {
            world.change();
            world.ask(A, 109);
        });
        let world = world.race(vec![asks(A, 108), changed]);
        assert_eq!(world.handle().1.members(A), 1);
    });
}

/// What the policy before gives back is gone from the word, or nothing is. Red: given back in a word of the next one.
#[test]
fn settled_beside_a_change() {
    explore("change::settled_beside_a_change", Bound::Exhaustive, || {
        let world = rates::<1>(&[SLOW, SLOWEST], 1, WhenFull::Deny);
        let (gcra, table) = world.handle();
        let (_, _, holding) = table.reserve(gcra, A, AT, &Request::default().cost(3));
        let holding = holding.expect("room");
        let back = Arc::new(Mutex::new(0));
        let settled = Arc::clone(&back);
        let settle = actor(move |world: &Rates<1>| {
            let (gcra, table) = &world.handles[0];
            if let Ok(Some(_)) = cancelled(table, gcra, holding, 3, || AT) {
                *settled.lock().expect("no panic") = 3;
            }
        });
        let changed = actor(|world: &Rates<1>| {
            world.change();
            assert!(world.ask(A, AT));
        });
        let world = world.race(vec![settle, changed]);
        let back = *back.lock().expect("no panic");
        assert_eq!(world.used(AT), 4 - back);
    });
}

/// When the settle exchanges, the word is the same number as before, of other units. Red: a carry that keeps the void.
#[test]
fn settled_of_the_same_number_after_four() {
    explore("change::settled_of_the_same_number_after_four", Bound::Preemptions(1), || {
        let world = rates::<1>(&[SLOWEST, SLOW, MIDDLE, SLOWEST, SLOW], 1, WhenFull::Deny);
        let (gcra, table) = world.handle();
        let (_, _, holding) = table.reserve(gcra, A, AT, &Request::default());
        let holding = holding.expect("room");
        let settle = actor(move |world: &Rates<1>| {
            let (gcra, table) = &world.handles[0];
            let _ = cancelled(table, gcra, holding, 1, || AT);
        });
        let changed = actor(|world: &Rates<1>| {
            world.change_four_times();
            assert!(world.ask_for(A, AT, 2));
        });
        let world = world.race(vec![settle, changed]);
        world.spend(A, AT);
        // The unit that was reserved may have come back.
        assert!(world.admitted(A) <= BURST, "{} beside it, of {BURST}", world.admitted(A));
    });
}

/// A permit is released, whatever its key's word has become. Red: a release that ends where its carry fails.
#[test]
fn released_beside_a_change() {
    explore("change::released_beside_a_change", Bound::Exhaustive, || {
        let policies = ["in_flight 2 hold=10ns", "in_flight 3 hold=10ns"];
        let world: Live<1, InFlight> = Live::of(in_flight, &policies, AT, 1, WhenFull::Deny);
        let (algorithm, table) = world.handle();
        let (_, _, permit) = table.reserve(algorithm, A, AT, &Request::default());
        let permit = permit.expect("room");
        let release = actor(move |world: &Live<1, InFlight>| {
            let released = loop {
                let (algorithm, table) = world.handle();
                match table.release(algorithm, A, &permit, 1, || AT) {
                    Ok(units) => break units,
                    Err(Superseded) => {}
                }
            };
            assert_eq!(released, 1);
        });
        let changed = actor(|world: &Live<1, InFlight>| {
            world.change();
            assert!(world.ask(A, AT));
        });
        let world = world.race(vec![release, changed]);
        assert_eq!(world.used(AT), 1);
    });
}
