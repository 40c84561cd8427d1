//! Several policies over one table, by two callers in one or two slots, while policies change, go and come.
//!
//! A key is decided by the policy of its number alone, whoever takes its slot, judges its word or carries it.

use std::sync::{Arc, Mutex};

use super::super::model::checker::thread;
use super::super::model::{Bound, Memory, explore};
use super::world::{A, B};
use crate::table::era::{InForce, Lineage};
use crate::table::numbers::{Named, Numbered, Numbers};
use crate::table::{Extent, Holding, Table, WhenFull};
use ratecell_core::algorithm::{Algorithm, Kernel, Plan};
use ratecell_core::{Decision, Generation, Request, with_kernel};

/// The numbers of the two policies.
const ONE: usize = 1;
const OTHER: usize = 2;

/// The instant of all changes, and of nearly all requests.
const AT: u64 = 170;

/// A unit is 170 instants, and as many ticks.
const RATE: &str = "1/170ns burst=3";
/// A unit is 170 ticks of a third of an instant.
const FAST: &str = "3/170ns burst=3";
const WINDOW: &str = "fixed_window 2/1000ns";

/// What decides by one number in one generation, if that has a policy.
type Handle<const SLOTS: usize> = Option<(Kernel, Table<SLOTS, Numbered>)>;

/// A table of two policies, with a handle by each for each generation.
struct Mixed<const SLOTS: usize> {
    in_force: InForce,
    /// Of the first generation.
    numbers: Arc<Numbers>,
    /// By generation, and by number less one.
    handles: Vec<[Handle<SLOTS>; 2]>,
    /// Numbers, keys and units.
    admitted: Mutex<Vec<(usize, u64, usize)>>,
}

type Actor<const SLOTS: usize> = Box<dyn FnOnce(&Mixed<SLOTS>) + Send>;

fn actor<const SLOTS: usize>(work: impl FnOnce(&Mixed<SLOTS>) + Send + 'static) -> Actor<SLOTS> {
    Box::new(work)
}

impl<const SLOTS: usize> Mixed<SLOTS> {
    /// In each generation the policies of both numbers; "" where a number has none. The first generation is in force.
    fn of(generations: &[[&str; 2]], buckets: usize, when_full: WhenFull) -> Self {
        let memory = Memory::private(size_of::<u64>()).expect("memory");
        let in_force = InForce::in_memory(&memory, 0).expect("a word");
        let mut lineages: [Vec<Generation>; 2] = [Vec::new(), Vec::new()];
        let mut table: Option<Table<SLOTS, Numbered>> = None;
        let mut first = None;
        let handles = (0..).zip(generations).map(|(generation, texts)| {
            for (lineage, text) in lineages.iter_mut().zip(texts) {
                let Ok(policy) = text.parse() else {
                    lineage.clear();
                    continue;
                };
                match lineage.last().map(|held| held.followed_by(&policy, AT).expect("of one kind")) {
                    None => lineage.push(Generation::first(policy).numbered(generation)),
                    Some(next) => lineage.extend(next.map(|next| next.numbered(generation))),
                }
            }
            let named = |lineage: &Vec<Generation>| Named::new(&Lineage::from(lineage.as_slice()), 0);
            let numbers: Numbers = [None].into_iter().chain(lineages.iter().map(named)).collect();
            let numbers = Arc::new(numbers);
            first.get_or_insert_with(|| Arc::clone(&numbers));
            core::array::from_fn(|number| {
                let Plan::Word(kernel) = lineages[number].last()?.policy().layers()[0].plan() else {
                    return None;
                };
                let judge = Numbered::new(in_force.clone(), generation, &numbers, number + 1);
                let made = || Table::made_in(buckets, when_full, Memory::private, judge.clone());
                let held = table.get_or_insert_with(|| made().expect("a table"));
                Some((kernel, held.in_era(judge)))
            })
        });
        let handles: Vec<_> = handles.collect();
        Self { handles, numbers: first.expect("a generation"), in_force, admitted: Mutex::default() }
    }

    /// Gives a number a policy in the first generation, and a handle by it.
    fn given(&self, number: usize, text: &str) -> (Kernel, Table<SLOTS, Numbered>) {
        let first = Generation::first(text.parse().expect("a policy"));
        let Plan::Word(kernel) = first.policy().layers()[0].plan() else { panic!("{text} has no word") };
        self.numbers.give(number, Named::new(&Lineage::from([first]), 0).expect("a word"));
        let judge = Numbered::new(self.in_force.clone(), 0, &self.numbers, number);
        let (_, held) = self.handles[0].iter().flatten().next().expect("a policy");
        (kernel, held.in_era(judge))
    }

    /// The handle of the generation in force.
    fn handle(&self, number: usize) -> &Handle<SLOTS> {
        // A few generations.
        &self.handles[self.in_force.number() as usize][number - 1]
    }

    fn change(&self) {
        self.in_force.advance(self.in_force.number());
    }

    /// Four changes, of which the last has the words swept first.
    fn change_four_times(&self) {
        for _ in 0..3 {
            self.change();
        }
        let (_, table) = self.handles[3].iter().flatten().next().expect("a policy");
        assert!(table.sweep(false));
        self.change();
    }

    /// Asks for a unit as a limiter does: superseded, by the next handle; without one it is denied.
    fn ask(&self, number: usize, key: u64, now: u64) -> bool {
        loop {
            let Some(handle) = self.handle(number) else { return false };
            let decided = decided(handle, key, now);
            if decided.is_superseded() {
                continue;
            }
            if decided.is_allowed() {
                self.admitted.lock().expect("no panic").push((number, key, 1));
            }
            return decided.is_allowed();
        }
    }

    /// Carries the key's word, if it is of an older generation.
    fn look(&self, number: usize, key: u64, now: u64) {
        if let Some((kernel, table)) = self.handle(number) {
            let request = Request::default().cost(0);
            let _ = with_kernel!(kernel, algorithm => table.peek(algorithm, key, now, &request));
        }
    }

    fn forget(&self, number: usize, key: u64) {
        if let Some((_, table)) = self.handle(number) {
            table.forget(key);
        }
    }

    fn spend(&self, number: usize, key: u64, now: u64) {
        while self.ask(number, key, now) {}
    }

    fn admitted(&self, number: usize, key: u64) -> usize {
        let admitted = self.admitted.lock().expect("no panic");
        let of_key = admitted.iter().filter(|(of, its, _)| (*of, *its) == (number, key));
        of_key.map(|(_, _, units)| units).sum()
    }

    fn race(self, actors: Vec<Actor<SLOTS>>) -> Self {
        let world = Arc::new(self);
        let spawn = |act: Actor<SLOTS>| {
            let world = Arc::clone(&world);
            thread::spawn(move || act(&world))
        };
        let threads: Vec<_> = actors.into_iter().map(spawn).collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        Arc::into_inner(world).expect("all threads have ended")
    }
}

fn decided<const SLOTS: usize>(
    (kernel, table): &(Kernel, Table<SLOTS, Numbered>),
    key: u64,
    now: u64,
) -> Decision {
    with_kernel!(kernel, algorithm => decided_by(algorithm, table, key, now))
}

/// By itself: a checker's threads have small stacks.
fn decided_by<A: Algorithm, const SLOTS: usize>(
    algorithm: &A,
    table: &Table<SLOTS, Numbered>,
    key: u64,
    now: u64,
) -> Decision {
    let tried = table.try_hit(algorithm, key, now, 1);
    tried.unwrap_or_else(|lookup| table.check(algorithm, key, now, 1, lookup))
}

fn asks<const SLOTS: usize>(number: usize, key: u64, now: u64) -> Actor<SLOTS> {
    actor(move |world: &Mixed<SLOTS>| {
        world.ask(number, key, now);
    })
}

/// The window's word is a small number: as a TAT it would be fresh. Red: judged by the newcomer's policy.
#[test]
fn judged_by_its_own_policy() {
    explore("numbers::judged_by_its_own_policy", Bound::Exhaustive, || {
        let world = Mixed::<1>::of(&[[WINDOW, RATE]], 1, WhenFull::Deny);
        world.ask(ONE, A, AT);
        let world = world.race(vec![asks(ONE, A, AT), asks(OTHER, B, AT)]);
        assert_eq!((world.admitted(ONE, A), world.admitted(OTHER, B)), (2, 0));
        world.spend(ONE, A, AT);
        assert_eq!(world.admitted(ONE, A), 2);
    });
}

/// A policy comes with its first key while a caller by the other one judges that key's word. Red: a handle that knows the
/// numbers which were given before it was made.
#[test]
fn a_number_given_beside_a_caller() {
    explore("numbers::a_number_given_beside_a_caller", Bound::Preemptions(2), || {
        let world = Mixed::<1>::of(&[[WINDOW, ""]], 1, WhenFull::Deny);
        let comes = actor(|world: &Mixed<1>| {
            let handle = world.given(OTHER, RATE);
            if decided(&handle, B, AT).is_allowed() {
                world.admitted.lock().expect("no panic").push((OTHER, B, 1));
            }
        });
        let world = world.race(vec![comes, asks(ONE, A, AT)]);
        assert_eq!(world.admitted(ONE, A) + world.admitted(OTHER, B), 1);
        world.spend(ONE, A, AT);
        assert_eq!(world.admitted(ONE, A) > 0, world.admitted(OTHER, B) == 0);
    });
}

/// What the evicted held is counted in its own units. Red: judged by the newcomer's policy.
#[test]
fn evicted_by_another() {
    explore("numbers::evicted_by_another", Bound::Preemptions(3), || {
        let world = Mixed::<1>::of(&[[WINDOW, RATE]], 1, WhenFull::Evict);
        world.spend(ONE, A, AT);
        let world = world.race(vec![asks(ONE, A, AT), asks(OTHER, B, AT)]);
        let (kernel, table) = world.handle(OTHER).as_ref().expect("a policy");
        let forgiven = with_kernel!(kernel, algorithm => table.stats(algorithm, AT, Extent::All)).forgiven;
        assert_eq!(world.admitted(OTHER, B), 1);
        assert!((2..=4).contains(&forgiven), "{forgiven} units are forgiven");
        assert!(world.admitted(ONE, A) as u64 <= 2 + forgiven);
    });
}

/// A has drained at 227 when B takes its slot, and the floor is an instant: A asks by a later clock than that. Red: the
/// floor in ticks, of which A's word has 680.
#[test]
fn a_floor_is_an_instant() {
    explore("numbers::a_floor_is_an_instant", Bound::Preemptions(2), || {
        let world = Mixed::<1>::of(&[[FAST, WINDOW]], 1, WhenFull::Deny);
        world.ask(ONE, A, AT);
        let world = world.race(vec![asks(OTHER, B, 4 * AT), asks(OTHER, B, 4 * AT)]);
        assert_eq!(world.admitted(OTHER, B), 2);
        world.forget(OTHER, B);
        assert!(world.ask(ONE, A, 2 * AT));
    });
}

/// One key by two numbers has two cells. Red: the number left out of the tag.
#[test]
fn a_key_by_two_numbers() {
    explore("numbers::a_key_by_two_numbers", Bound::Preemptions(2), || {
        let world = Mixed::<2>::of(&[[WINDOW, WINDOW]], 1, WhenFull::Deny);
        let spends = |number| {
            actor(move |world: &Mixed<2>| {
                world.spend(number, A, AT);
            })
        };
        let world = world.race(vec![spends(ONE), spends(OTHER)]);
        assert_eq!((world.admitted(ONE, A), world.admitted(OTHER, A)), (2, 2));
    });
}

/// B's word comes to equal the one that A's caller has read. In A's ticks a charge would move B to a later window. Red: a
/// hit by its word alone.
#[test]
fn charged_with_its_tag() {
    /// A's TAT after a unit is 681, which is window 170 with a count of 1 in two bits.
    const TICKS: &str = "1/511ns burst=3";
    const NARROW: &str = "fixed_window 3/1ns";
    explore("numbers::charged_with_its_tag", Bound::Preemptions(2), || {
        let world = Mixed::<1>::of(&[[TICKS, NARROW]], 1, WhenFull::Deny);
        world.ask(ONE, A, AT);
        let takes = actor(|world: &Mixed<1>| {
            world.forget(ONE, A);
            world.ask(OTHER, B, AT);
        });
        let world = world.race(vec![asks(ONE, A, AT), takes]);
        world.spend(OTHER, B, AT);
        assert!([0, 3].contains(&world.admitted(OTHER, B)), "{}", world.admitted(OTHER, B));
    });
}

/// A caller by the first policy of a number stops, and finds a word of the rule that has the number four changes later.
/// Red: a hit without a look at the number in force before its charge.
#[test]
fn hit_of_a_number_given_anew() {
    const TICKS: &str = "1/511ns burst=3";
    const NARROW: &str = "fixed_window 3/1ns";
    explore("numbers::hit_of_a_number_given_anew", Bound::Preemptions(1), || {
        let generations =
            [[TICKS, WINDOW], ["", WINDOW], [NARROW, WINDOW], [NARROW, WINDOW], [NARROW, WINDOW]];
        let world = Mixed::<1>::of(&generations, 1, WhenFull::Deny);
        let old = actor(|world: &Mixed<1>| {
            let first = world.handles[0][0].as_ref().expect("a policy");
            let _ = decided(first, A, AT);
        });
        let anew = actor(|world: &Mixed<1>| {
            world.change_four_times();
            world.ask(ONE, A, AT);
        });
        let world = world.race(vec![old, anew]);
        world.spend(ONE, A, AT);
        assert_eq!(world.admitted(ONE, A), 3);
    });
}

/// The policies of both numbers change. A is in use by its own, though as a word of B's it would be fresh. Red: carried by
/// the caller's own number.
#[test]
fn carried_by_its_own_policy() {
    explore("numbers::carried_by_its_own_policy", Bound::Exhaustive, || {
        let world = Mixed::<1>::of(&[[RATE, WINDOW], [FAST, WINDOW]], 1, WhenFull::Deny);
        world.spend(ONE, A, AT);
        let changed = actor(|world: &Mixed<1>| {
            world.change();
            // Three units at the faster rate.
            world.ask(OTHER, B, 2 * AT - 1);
        });
        let world = world.race(vec![asks(ONE, A, AT), changed]);
        assert_eq!((world.admitted(ONE, A), world.admitted(OTHER, B)), (3, 0));
        assert!(world.ask(OTHER, B, 2 * AT));
    });
}

/// A policy that stays while the other one changes leaves its words, and no charge is made twice. Red: a hit that looks at
/// its tag afterwards.
#[test]
fn hit_beside_a_change_of_another() {
    explore("numbers::hit_beside_a_change_of_another", Bound::Exhaustive, || {
        let world = Mixed::<1>::of(&[[RATE, WINDOW], [RATE, "fixed_window 3/1000ns"]], 1, WhenFull::Deny);
        world.ask(ONE, A, AT);
        let changed = actor(|world: &Mixed<1>| {
            world.change();
            world.look(ONE, A, AT);
        });
        let world = world.race(vec![asks(ONE, A, AT), changed]);
        assert_eq!(world.admitted(ONE, A), 2);
        world.spend(ONE, A, AT);
        assert_eq!(world.admitted(ONE, A), 3);
    });
}

/// A number that was dropped is given to another rule: its keys have used nothing. Red: the way of a word not walked.
#[test]
fn a_number_given_anew() {
    explore("numbers::a_number_given_anew", Bound::Preemptions(2), || {
        let generations = [[RATE, WINDOW], ["", WINDOW], [FAST, WINDOW]];
        let world = Mixed::<1>::of(&generations, 1, WhenFull::Deny);
        world.spend(ONE, A, AT);
        let anew = actor(|world: &Mixed<1>| {
            world.change();
            world.change();
        });
        let world = world.race(vec![asks(OTHER, B, AT), anew]);
        let of_other = world.admitted(OTHER, B);
        assert!(of_other <= 1);
        world.forget(OTHER, B);
        world.spend(ONE, A, AT);
        assert_eq!(world.admitted(ONE, A), 3 + 3);
    });
}

/// What is held of a rule that is gone is not of the rule that has its number. Red: a dead word that keeps its tenure.
#[test]
fn a_permit_of_a_number_given_anew() {
    const PERMITS: &str = "in_flight 1 hold=1000ns";
    explore("numbers::a_permit_of_a_number_given_anew", Bound::Preemptions(2), || {
        let generations = [[PERMITS, WINDOW], ["", WINDOW], ["in_flight 2 hold=1000ns", WINDOW]];
        let world = Mixed::<1>::of(&generations, 1, WhenFull::Deny);
        let held = |world: &Mixed<1>| -> Option<Holding> {
            let Some((Kernel::InFlight(in_flight), table)) = world.handle(ONE) else { return None };
            table.reserve(in_flight, A, AT, &Request::default()).2
        };
        let permit = held(&world).expect("room");
        world.change();
        world.change();
        let release = actor(move |world: &Mixed<1>| {
            let Some((Kernel::InFlight(in_flight), table)) = world.handle(ONE) else { return };
            assert_eq!(table.release(in_flight, A, &permit, 1, || AT), Ok(0));
        });
        let world = world.race(vec![release, actor(move |world| assert!(held(world).is_some()))]);
        assert!(held(&world).is_some() && held(&world).is_none());
    });
}
