//! A table under a policy that is changed, with a handle for each generation of it.

use std::sync::{Arc, Mutex};

use super::super::model::Memory;
use super::super::model::checker::thread;
use crate::table::era::{Era, InForce, Lineage};
use crate::table::{Table, WhenFull};
use ratecell_core::algorithm::{Algorithm, Gcra, InFlight, Kernel, Plan};
use ratecell_core::{Generation, Request};

/// A table with a handle for each generation of its policy.
pub(super) struct Live<const SLOTS: usize, A> {
    in_force: InForce,
    /// By its number.
    pub(super) handles: Vec<(A, Table<SLOTS>)>,
    /// Units, by key.
    admitted: Mutex<Vec<(u64, usize)>>,
}

pub(super) type Actor<W> = Box<dyn FnOnce(&W) + Send>;

pub(super) fn actor<W>(work: impl FnOnce(&W) + Send + 'static) -> Actor<W> {
    Box::new(work)
}

pub(super) fn gcra(kernel: Kernel) -> Gcra {
    match kernel {
        Kernel::Gcra(gcra) => gcra,
        other => panic!("{other:?}"),
    }
}

pub(super) fn in_flight(kernel: Kernel) -> InFlight {
    match kernel {
        Kernel::InFlight(in_flight) => in_flight,
        other => panic!("{other:?}"),
    }
}

impl<const SLOTS: usize, K: Algorithm + Copy + Send + Sync + 'static> Live<SLOTS, K> {
    /// With these policies in turn, each from `at` on. The first is in force.
    pub(super) fn of(
        kind: fn(Kernel) -> K,
        policies: &[&str],
        at: u64,
        buckets: usize,
        when_full: WhenFull,
    ) -> Self {
        let memory = Memory::private(size_of::<u64>()).expect("memory");
        let in_force = InForce::in_memory(&memory, 0).expect("a word");
        let era = Era::first(in_force.clone());
        let table = Table::made_in(buckets, when_full, Memory::private, era).expect("a table");
        let table = table.with_totals(Memory::private).expect("totals");
        let mut generations: Vec<Generation> = Vec::new();
        let mut handles = Vec::new();
        for policy in policies {
            let policy = policy.parse().expect("a policy");
            generations.push(match generations.last() {
                None => Generation::first(policy),
                Some(held) => held.followed_by(&policy, at).expect("of one kind").expect("another policy"),
            });
            let lineage: Lineage = generations[generations.len().saturating_sub(4)..].into();
            let kernel = match lineage.last().map(|last| last.policy().layers()[0].plan()) {
                Some(Plan::Word(kernel)) => kind(kernel),
                other => panic!("{other:?}"),
            };
            handles.push((kernel, table.in_era(Era::last_of(in_force.clone(), &lineage, 0))));
        }
        Self { in_force, handles, admitted: Mutex::default() }
    }

    /// The handle of the policy in force. A caller has its instant before.
    pub(super) fn handle(&self) -> &(K, Table<SLOTS>) {
        // A few generations.
        &self.handles[self.in_force.number() as usize]
    }

    pub(super) fn change(&self) {
        self.in_force.advance(self.in_force.number());
    }

    /// Four changes, of which the last has the words swept first.
    pub(super) fn change_four_times(&self) {
        for _ in 0..3 {
            self.change();
        }
        self.handle().1.sweep(false);
        self.change();
    }

    /// Asks for `cost` units, as a limiter does: superseded, by the next handle.
    pub(super) fn ask_for(&self, key: u64, now: u64, cost: u32) -> bool {
        loop {
            let (algorithm, table) = self.handle();
            let tried = table.try_hit(algorithm, key, now, cost);
            let decided = tried.unwrap_or_else(|lookup| table.check(algorithm, key, now, cost, lookup));
            if decided.is_superseded() {
                continue;
            }
            if decided.is_allowed() {
                self.admitted.lock().expect("no panic").push((key, cost as usize));
            }
            return decided.is_allowed();
        }
    }

    pub(super) fn ask(&self, key: u64, now: u64) -> bool {
        self.ask_for(key, now, 1)
    }

    /// Carries the key's word, if it is of an older generation.
    pub(super) fn look(&self, key: u64, now: u64) {
        let (algorithm, table) = self.handle();
        let _ = table.peek(algorithm, key, now, &Request::default().cost(0));
    }

    /// Asks to exhaustion.
    pub(super) fn spend(&self, key: u64, now: u64) {
        while self.ask(key, now) {}
    }

    pub(super) fn admitted(&self, key: u64) -> usize {
        let admitted = self.admitted.lock().expect("no panic");
        admitted.iter().filter(|(of, _)| *of == key).map(|(_, cost)| cost).sum()
    }

    /// The units in all words, by the policy in force.
    pub(super) fn used(&self, now: u64) -> u64 {
        let (algorithm, table) = self.handle();
        table.held(algorithm, now)
    }

    pub(super) fn race(self, actors: Vec<Actor<Self>>) -> Self {
        let world = Arc::new(self);
        let spawn = |act: Actor<Self>| {
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
