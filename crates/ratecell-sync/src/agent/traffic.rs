//! What goes between the agent, its machine and its store.

use crate::Layered;
use crate::store::Operation;

/// What a caller misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miss {
    /// The key's hash.
    pub h: u64,
    /// Units, all or none.
    pub units: u64,
    /// Fewer than these will do.
    pub fill: bool,
    /// The key is to be forgotten, here and at the store.
    pub forget: bool,
    /// Units of the key's last lease that were not used.
    pub left: u64,
    /// Those of them that can still be used.
    pub usable: u64,
}

/// What to write to the machine's table, after which those who wait for the key ask again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The key's hash.
    pub h: u64,
    /// The key was forgotten: what the table holds of it is erased first.
    pub erases: bool,
    /// For each layer the word of a lease or of a denial, or nothing.
    pub words: Layered<Option<u64>>,
}

impl Effect {
    pub(super) fn of_words(h: u64, words: Layered<Option<u64>>) -> Self {
        Self { h, erases: false, words }
    }

    /// Nothing is written: those who wait for the key ask the table again.
    pub(super) fn again(h: u64) -> Self {
        Self::of_words(h, Layered::new())
    }

    pub(super) fn erasure(h: u64) -> Self {
        Self { h, erases: true, words: Layered::new() }
    }
}

/// A batch that is to be sent to the store.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is asked; nothing, where only the store's clock is.
    pub operations: Vec<Operation>,
    pub(super) visits: Vec<Visit>,
    /// The store's time, or earlier: what the operations were decided by.
    pub(super) at: u64,
    pub(super) sent: u64,
    /// Of the policy that they were decided by.
    pub(super) generation: u64,
}

impl Question {
    /// When it was made, by the machine's clock.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

/// An operation's key, and what it asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) h: u64,
    /// Units that are wanted.
    pub(super) wanted: u64,
    /// Of a swap, the units that it charges.
    pub(super) charged: u64,
    /// Whether the key is carried to the generation in force, and asks for nothing.
    pub(super) is_sweep: bool,
}

/// What the agent has counted since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Units that the store granted.
    pub leased: u64,
    /// Units that were used.
    pub used: u64,
    /// Units that passed unused.
    pub passed: u64,
    /// Operations that were sent to the store.
    pub operations: u64,
    /// Swaps that came after another machine's.
    pub swaps_lost: u64,
    /// Words that were found below what this machine had charged: the store has forgotten.
    pub healed: u64,
    /// Units that were granted by this machine's part of the policy, while the store was away.
    pub local: u64,
}
