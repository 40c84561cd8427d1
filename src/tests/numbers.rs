//! A table of several policies against plain words: one for each number and key, stepped by the same algorithms.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use ratecell_core::algorithm::{Algorithm, Kernel, Plan};
use ratecell_core::{Generation, Policy, with_kernel};

use crate::memory::Memory;
use crate::table::era::{InForce, Lineage};
use crate::table::numbers::{Named, Numbered, Numbers};
use crate::table::{Extent, Table, WhenFull, spread};

/// Policies that may follow each other.
const KINDS: [[&str; 3]; 6] = [
    ["10/s burst=4", "25/s burst=7", "3/s burst=9"],
    ["fixed_window 4/1s", "fixed_window 2/1s", "fixed_window 9/1s"],
    ["sliding_window 5/1s", "sliding_window 3/1s strict=true", "sliding_window 8/1s"],
    ["fixed_window 3/2s start=first", "fixed_window 6/2s start=first", "fixed_window 2/2s start=first"],
    [
        "token_bucket 4/1s capacity=5 mode=interval",
        "token_bucket 2/1s capacity=9 mode=interval",
        "token_bucket 9/2s capacity=9 mode=interval",
    ],
    ["in_flight 3 hold=1s", "in_flight 5 hold=1s", "in_flight 2 hold=1s"],
];
const NUMBERS: usize = 5;
const KEYS: usize = 8;
const MILLISECOND: u64 = 1_000_000;

#[derive(Clone, Debug)]
enum Step {
    /// After so many milliseconds, or before.
    Ask {
        number: usize,
        key: usize,
        cost: u32,
        later: i64,
    },
    Forget {
        number: usize,
        key: usize,
    },
    /// What comes of each number: it stays, gets another policy of its kind, goes, or comes with another kind.
    Change([u8; NUMBERS]),
}

fn step(most: u32) -> impl Strategy<Value = Step> {
    let (number, key) = (0..NUMBERS, 0..KEYS);
    let later = prop_oneof![8 => 0_i64..200, 1 => -300_i64..0, 1 => 0_i64..4_000];
    prop_oneof![
        30 => (number.clone(), key.clone(), 0..=most, later)
            .prop_map(|(number, key, cost, later)| Step::Ask { number, key, cost, later }),
        1 => (number, key).prop_map(|(number, key)| Step::Forget { number, key }),
        4 => prop::array::uniform5(any::<u8>()).prop_map(Step::Change),
    ]
}

/// The policy of a number, with its kind among [`KINDS`].
type Held = Option<(usize, Generation)>;

/// What became of a request by the table, and by its plain word.
struct Asked {
    is_allowed: [bool; 2],
    /// Whether the decisions are equal.
    is_equal: bool,
}

struct Twins {
    in_force: InForce,
    table: Table<7, Numbered>,
    numbers: Arc<Numbers>,
    policies: [Held; NUMBERS],
    lineages: [Vec<Generation>; NUMBERS],
    words: HashMap<(usize, usize), u64>,
    now: u64,
    /// The greatest `now` so far.
    latest: u64,
    /// Of the last change. A clock that steps back before it finds a key that is carried at rest as used until then, and one
    /// that has lost its slot as never seen.
    changed_at: u64,
}

fn policy(kind: usize, which: usize) -> Policy {
    KINDS[kind % KINDS.len()][which % 3].parse().expect("a policy")
}

fn kernel(generation: &Generation) -> Kernel {
    match generation.policy().layers()[0].plan() {
        Plan::Word(kernel) => kernel,
        Plan::Log(_) => unreachable!("no log is among them"),
    }
}

impl Twins {
    fn new(buckets: usize, when_full: WhenFull) -> Self {
        let memory = Memory::private(8).expect("memory");
        let in_force = InForce::in_memory(&memory, 0).expect("a word");
        let policies: [Held; NUMBERS] =
            core::array::from_fn(|number| Some((number, Generation::first(policy(number, 0)))));
        let lineages = policies.clone().map(|held| held.into_iter().map(|(_, first)| first).collect());
        let numbers = Arc::new(numbers(&lineages));
        let judge = Numbered::new(in_force.clone(), 0, &numbers, 1);
        let table = Table::made_in(buckets, when_full, Memory::private, judge).expect("a table");
        let (words, now) = (HashMap::new(), 10_000 * MILLISECOND);
        Self { in_force, table, numbers, policies, lineages, words, now, latest: now, changed_at: 0 }
    }

    fn handle(&self, number: usize) -> Table<7, Numbered> {
        let generation = self.in_force.number();
        self.table.in_era(Numbered::new(self.in_force.clone(), generation, &self.numbers, number + 1))
    }

    /// `None` where the number has no policy. The plain word is charged where the table has charged.
    ///
    /// Where a clock steps back, a key that has lost its slot is charged from the bucket's floor on, and so may get what its
    /// plain word would have given at the latest instant: no more than the clock that runs on, as law 5 has it.
    fn ask(&mut self, number: usize, key: usize, cost: u32, later: i64) -> Option<Asked> {
        self.now = self.now.saturating_add_signed(later * MILLISECOND as i64).max(self.changed_at);
        self.latest = self.latest.max(self.now);
        let (now, latest, table) = (self.now, self.latest, self.handle(number));
        let (_, generation) = self.policies[number].as_ref()?;
        let word = self.words.entry((number, key)).or_default();
        Some(with_kernel!(&kernel(generation), algorithm => {
            let h = spread(key as u64 + 1);
            let tried = table.try_hit(algorithm, h, now, cost);
            let decided = tried.unwrap_or_else(|lookup| table.check(algorithm, h, now, cost, lookup));
            let mut plain = algorithm.step(*word, now, cost);
            let is_equal = decided == plain.decision;
            if decided.is_allowed() && !plain.decision.is_allowed() {
                plain = algorithm.step(*word, latest, cost);
            }
            if decided.is_allowed() {
                *word = plain.charged.unwrap_or(*word);
            }
            let is_allowed = [decided.is_allowed(), plain.decision.is_allowed()];
            Asked { is_allowed, is_equal }
        }))
    }

    fn forget(&mut self, number: usize, key: usize) {
        if self.policies[number].is_some() {
            self.handle(number).forget(spread(key as u64 + 1));
            self.words.remove(&(number, key));
        }
    }

    fn change(&mut self, choices: [u8; NUMBERS]) {
        let generation = self.in_force.number();
        self.changed_at = self.now;
        if generation.is_multiple_of(2) {
            assert!(self.handle(0).sweep(true));
        }
        for (number, choice) in choices.into_iter().enumerate() {
            let which = usize::from(choice);
            let before = self.policies[number].take();
            let after = match (&before, choice % 8) {
                (None, 0..4) => {
                    assert!(self.numbers.vacant().any(|vacant| vacant == number + 1));
                    let kind = which / 8;
                    Some((kind, Generation::first(policy(kind, which)).numbered(generation + 1)))
                }
                (None, _) | (Some(_), 0) => None,
                (Some((kind, held)), 1..4) => {
                    let next = held.followed_by(&policy(*kind, which), self.now).expect("of its kind");
                    Some((*kind, next.map_or(held.clone(), |next| next.numbered(generation + 1))))
                }
                (Some(_), _) => before.clone(),
            };
            for key in 0..KEYS {
                let Some(word) = self.words.get_mut(&(number, key)) else { continue };
                *word = match (&before, &after) {
                    (Some((_, held)), Some((_, next))) if held.number() < next.number() => {
                        held.changed(next, 0, *word)
                    }
                    (Some(_), Some(_)) => *word,
                    _ => 0,
                };
            }
            let lineage = &mut self.lineages[number];
            match &after {
                None => lineage.clear(),
                Some((_, next)) if next.number() == generation + 1 => lineage.push(next.clone()),
                Some(_) => {}
            }
            self.policies[number] = after;
        }
        self.numbers = Arc::new(numbers(&self.lineages));
        assert!(self.in_force.advance(generation));
    }

    fn forgiven(&self) -> u64 {
        let (_, generation) = self
            .policies
            .iter()
            .flatten()
            .next()
            .cloned()
            .unwrap_or_else(|| (0, Generation::first(policy(0, 0))));
        with_kernel!(&kernel(&generation), algorithm => {
            self.handle(0).stats(algorithm, self.now, Extent::All).forgiven
        })
    }
}

fn numbers(lineages: &[Vec<Generation>; NUMBERS]) -> Numbers {
    let named = |lineage: &Vec<Generation>| Named::new(&Lineage::from(lineage.as_slice()), 0);
    [None].into_iter().chain(lineages.iter().map(named)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]

    /// With room for all, each decision is that of the plain word.
    #[test]
    fn each_number_decides_as_its_plain_words(steps in prop::collection::vec(step(3), 1..300)) {
        let mut twins = Twins::new(64, WhenFull::Deny);
        for step in steps {
            match step {
                Step::Ask { number, key, cost, later } => {
                    let asked = twins.ask(number, key, cost, later);
                    prop_assert!(asked.is_none_or(|asked| asked.is_equal), "{number} {key} at {}", twins.now);
                }
                Step::Forget { number, key } => twins.forget(number, key),
                Step::Change(choices) => twins.change(choices),
            }
        }
    }

    /// Where slots go from one number to another, no key gets more than by its own words, or than was counted as forgiven. A
    /// clock that steps back gives no more than one that runs on.
    #[test]
    fn no_key_gets_more_where_numbers_share_slots(
        steps in prop::collection::vec(step(1), 1..600),
        evicts: bool,
        buckets in 1_usize..4,
    ) {
        let mut twins = Twins::new(buckets, if evicts { WhenFull::Evict } else { WhenFull::Deny });
        let mut beyond = 0;
        for step in steps {
            match step {
                Step::Ask { number, key, cost, later } => {
                    if let Some(Asked { is_allowed: [true, false], .. }) = twins.ask(number, key, cost, later) {
                        beyond += u64::from(cost);
                    }
                }
                Step::Forget { number, key } => twins.forget(number, key),
                Step::Change(choices) => twins.change(choices),
            }
            let forgiven = twins.forgiven();
            prop_assert!(beyond <= forgiven, "{beyond} units beyond, {forgiven} forgiven");
            prop_assert!(evicts || forgiven == 0);
        }
    }
}

#[test]
fn newcomers_share_no_cell_of_several_policies() {
    let memory = Memory::private(8).expect("memory");
    let in_force = InForce::in_memory(&memory, 0).expect("a word");
    let judge = Numbered::new(in_force, 0, &Arc::new([].into_iter().collect()), 1);
    let refused = Table::<7, _>::made_in(1, WhenFull::Share, Memory::private, judge).err();
    let text = refused.expect("one policy's").to_string();
    assert!(text.starts_with("when_full: a cell that newcomers share is of one policy"), "{text}");
}

#[test]
fn the_numbers_that_are_in_use_are_not_given() {
    let first = vec![Generation::first(policy(0, 0))];
    let named = Named::new(&Lineage::from(first.as_slice()), 0);
    assert!(named.is_some() && Named::new(&Lineage::from(first.as_slice()), 1).is_none());
    let numbers: Numbers = [None, None, named].into_iter().collect();
    assert_eq!((numbers.vacant().count(), numbers.vacant().take(2).collect()), (4_093, vec![1, 3]));
}
