//! What is counted of the machine's share in a store.

/// The words for counters; those without a name are zeros.
pub(crate) const COUNTERS: usize = 16;

/// A counter. The numbers are kept in memory and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Units that the store has granted.
    Leased = 0,
    /// Units that were used.
    Used = 1,
    /// Units that passed unused.
    Passed = 2,
    /// Units that were given back to the store.
    GivenBack = 3,
    /// Requests that no lease could answer.
    Misses = 4,
    /// Requests that waited for the agent.
    Waits = 5,
    /// Requests that waited in vain.
    Timeouts = 6,
    /// Operations that were sent to the store.
    Operations = 7,
    /// Swaps that another machine's came before.
    SwapsLost = 8,
    /// No count: by how much the agent's time is behind the store's at most, in nanoseconds.
    Lag = 9,
    /// Words that were found below the end of an own lease: the store has forgotten.
    Healed = 10,
    /// Misses that had no room on the board.
    BoardFull = 11,
    /// Requests that were admitted because the store was away.
    Opened = 12,
    /// Requests that the agent decided by its part of the policy because the store was away.
    Local = 13,
    /// No count: the store's generation that the leases are of, plus 1; 0 before the first.
    Generation = 14,
}

impl Counter {
    /// Each at its number.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 15] = [
        Self::Leased,
        Self::Used,
        Self::Passed,
        Self::GivenBack,
        Self::Misses,
        Self::Waits,
        Self::Timeouts,
        Self::Operations,
        Self::SwapsLost,
        Self::Lag,
        Self::Healed,
        Self::BoardFull,
        Self::Opened,
        Self::Local,
        Self::Generation,
    ];
}
