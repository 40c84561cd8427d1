//! One policy after the other over the same words.

use alloc::vec::Vec;
use core::fmt;

use super::Policy;
use crate::algorithm::Plan;
use crate::error::PolicyError;

/// A policy in force, and what its words may hold of the policies before it.
#[derive(Clone, Debug)]
pub struct Generation {
    policy: Policy,
    /// How many changes there were before.
    number: u64,
    /// Of each layer: the greatest capacity of any policy until now, this one included.
    reach: Vec<u32>,
    at: u64,
    /// Whether it has the policy of the one before, whose words are then its own.
    is_repeated: bool,
    /// Whether its words are leases of the policy's units.
    is_leased: bool,
}

/// Why a policy cannot follow the one in force: nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeError {
    /// Its words are of another kind: another number of layers, another algorithm, or another window.
    DifferentTable {
        /// The policy in force.
        held: Policy,
        /// The policy that was to follow it.
        asked: Policy,
    },
    /// It does not fit a word beside what the words may hold.
    Policy(PolicyError),
    /// The instant of the change is past the last one that it can decide at.
    ClockRange {
        /// The instant in nanoseconds since the epoch.
        at_ns: u64,
        /// The last instant of the policy that was to follow.
        max_now_ns: u64,
    },
}

impl ChangeError {
    /// The stable name, as in the published vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::DifferentTable { .. } => "different_table",
            Self::Policy(error) => error.kind().code(),
            Self::ClockRange { .. } => "clock_range",
        }
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DifferentTable { held, asked } => write!(
                f,
                "`{asked}` cannot follow `{held}`: expected as many layers, each of the same algorithm and, of windows, the same window"
            ),
            Self::Policy(error) => write!(f, "the new policy does not fit the words in use: {error}"),
            Self::ClockRange { at_ns, max_now_ns } => write!(
                f,
                "a change at {at_ns}ns: expected at most {max_now_ns}ns, the last instant of the new policy"
            ),
        }
    }
}

impl core::error::Error for ChangeError {}

impl From<PolicyError> for ChangeError {
    fn from(error: PolicyError) -> Self {
        Self::Policy(error)
    }
}

impl Generation {
    /// The first policy of a table.
    #[must_use]
    pub fn first(policy: Policy) -> Self {
        // Capacities are 32-bit parameters.
        let reach = policy.layers().iter().map(|layer| layer.capacity() as u32).collect();
        Self { policy, number: 0, reach, at: 0, is_repeated: false, is_leased: false }
    }

    /// A generation as it was recorded: `policy`, packed for words of the greatest capacities of `reach`, one for each of its
    /// layers, from the instant `at` on.
    ///
    /// # Errors
    /// The policy does not fit such words.
    pub fn recorded(policy: &Policy, number: u64, reach: Vec<u32>, at_ns: u64) -> Result<Self, PolicyError> {
        let policy = policy.reaching(&reach)?;
        Ok(Self { policy, number, reach, at: at_ns, is_repeated: false, is_leased: false })
    }

    /// The generation after this one with the same policy, where policies of other tables change: no word of this one
    /// changes.
    #[must_use]
    pub fn repeated(&self) -> Self {
        Self { number: self.number.saturating_add(1), is_repeated: true, ..self.clone() }
    }

    /// Whether it is the one before, [repeated](Self::repeated): then no word of that has changed.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// The same generation, whose words are leases of its policy's units. A lease of an older one is none: what it holds is
    /// charged by the units of the policy before, and passes.
    #[must_use]
    pub fn leased(self) -> Self {
        Self { is_leased: true, ..self }
    }

    /// The same generation, of which words may hold what policies beside its own allow: of each layer the capacity.
    #[must_use]
    pub fn raised(mut self, capacities: impl IntoIterator<Item = u32>) -> Self {
        for (reach, capacity) in self.reach.iter_mut().zip(capacities) {
            *reach = (*reach).max(capacity);
        }
        self
    }

    /// The same generation, from the instant `at` on.
    #[must_use]
    pub fn since(self, at_ns: u64) -> Self {
        Self { at: at_ns, ..self }
    }

    /// The same generation after so many changes: also those of other policies over the same words count, by which this
    /// one stays.
    #[must_use]
    pub fn numbered(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// How many changes there were before.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Of each layer: the greatest capacity of any policy until now, this one and those [beside](Self::raised) it included.
    #[must_use]
    pub fn reach(&self) -> &[u32] {
        &self.reach
    }

    /// The policy, packed for what its words may hold.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The instant of the change that made it the one in force, in nanoseconds since the epoch; 0 of the first.
    #[must_use]
    pub fn at_ns(&self) -> u64 {
        self.at
    }

    /// The generation after this one, with `policy` from `now` on, or from the instant of the last change if that is later;
    /// `None` if the policy decides as the one in force does, so that nothing changes.
    ///
    /// # Errors
    /// `policy` cannot follow the one in force.
    pub fn followed_by(&self, policy: &Policy, now: u64) -> Result<Option<Self>, ChangeError> {
        let layers = || policy.layers().iter().zip(self.policy.layers());
        let follows = policy.layers().len() == self.policy.layers().len()
            && layers().all(|(layer, held)| layer.plan().may_follow(&held.plan()));
        if !follows {
            return Err(ChangeError::DifferentTable { held: self.policy.clone(), asked: policy.clone() });
        }
        let reach = self.reach.iter().zip(policy.layers());
        // Capacities are 32-bit parameters.
        let reach: Vec<u32> = reach.map(|(reach, layer)| (*reach).max(layer.capacity() as u32)).collect();
        // Instants count from the epoch of the policy in force, and counts are as wide as its own.
        let policy = policy.at_epoch(self.policy.epoch())?.packed_as(&self.policy).reaching(&reach)?;
        let at = now.max(self.at);
        let max_now_ns = policy.max_now_ns();
        if at > max_now_ns {
            return Err(ChangeError::ClockRange { at_ns: at, max_now_ns });
        }
        let plans = |policy: &Policy| policy.layers().iter().map(|layer| layer.plan()).collect::<Vec<_>>();
        // The same policy may be packed otherwise by now, beside one with a greater capacity.
        let alike = policy.layers() == self.policy.layers()
            || (reach == self.reach && plans(&policy) == plans(&self.policy));
        let number = self.number.saturating_add(1);
        let is_leased = self.is_leased;
        Ok((!alike).then_some(Self { policy, number, reach, at, is_repeated: false, is_leased }))
    }

    /// What a word of this generation in the layer of that number becomes in the `next` one. An instant of a log is an
    /// instant.
    #[must_use]
    pub fn changed(&self, next: &Self, layer: usize, word: u64) -> u64 {
        if next.is_repeated {
            return word;
        }
        if next.is_leased {
            return 0;
        }
        let plan = |policy: &Policy| policy.layers().get(layer).map(super::Layer::plan);
        match (plan(&self.policy), plan(&next.policy), self.reach.get(layer)) {
            (Some(Plan::Word(old)), Some(Plan::Word(new)), Some(reach)) => {
                old.changed(&new, word, next.at, *reach).unwrap_or(word)
            }
            _ => word,
        }
    }

    /// Whether the times in the words of the layer of that number are the same under every policy that may follow.
    #[must_use]
    pub fn has_fixed_times(&self, layer: usize) -> bool {
        match self.policy.layers().get(layer).map(super::Layer::plan) {
            Some(Plan::Word(kernel)) => kernel.packing().has_fixed_times(),
            Some(Plan::Log(_)) => true,
            None => false,
        }
    }

    /// Whether what was held of a charge of this generation can be given back in a later one, in the layer of that number.
    /// A place on the axis of a rate or of refills has ended with them; a window has not.
    #[must_use]
    pub fn is_held_in(&self, later: &Self, layer: usize) -> bool {
        let plan = |policy: &Policy| policy.layers().get(layer).map(super::Layer::plan);
        let (old, new) = (plan(&self.policy), plan(&later.policy));
        self.number == later.number
            || match (old, new) {
                (Some(Plan::Word(old)), Some(Plan::Word(new))) => {
                    old.packing().keeps_times_of(&new.packing())
                }
                (Some(Plan::Log(_)), Some(Plan::Log(_))) => true,
                _ => false,
            }
    }
}
