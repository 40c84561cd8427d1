//! What a record says of policies: the generations that a value may be of, and the one that is to follow.

use ratecell_core::algorithm::LayoutChoice;
use ratecell_core::{Generation, Policy};

use super::layouts;
use crate::store::{MOST_POLICIES, Record, Stated, StoreError, StoreErrorKind, Terms, list};

impl Terms {
    /// Those of a machine with this policy, whose counts are as wide as can be.
    ///
    /// # Errors
    /// The policy has a layer whose units cannot be shared.
    pub fn new(policy: &Policy, version: u64) -> Result<Self, StoreError> {
        let wide =
            policy.repacked(|_| LayoutChoice::WIDE).map_err(|error| unfit(&policy.to_string(), &error))?;
        Ok(Self {
            layouts: layouts(&wide)?,
            // Capacities are 32-bit parameters.
            reach: policy.layers().iter().map(|layer| layer.capacity() as u32).collect(),
            policy: policy.to_string(),
            version,
        })
    }
}

fn unfit(policy: &str, error: &impl std::fmt::Display) -> StoreError {
    StoreError::new(
        StoreErrorKind::Mismatch,
        format!("\"{policy}\" does not fit the words of the store: {error}"),
    )
}

impl Record {
    /// The generations that a value may be of, the one in force last.
    ///
    /// # Errors
    /// A policy is none, or its words are not as the record says.
    pub fn lineage(&self) -> Result<Vec<Generation>, StoreError> {
        // Instants of the store count from its epoch.
        let epoch = i64::try_from(self.epoch_ns / 1_000_000_000).unwrap_or(i64::MAX);
        let generation = |stated: &Stated| {
            let Stated { generation, at, reach, policy: text } = stated;
            let policy = text.parse::<Policy>().and_then(|policy| policy.at_epoch(epoch));
            let policy = policy.and_then(|policy| policy.repacked(|_| LayoutChoice::WIDE));
            let recorded =
                policy.and_then(|policy| Generation::recorded(&policy, *generation, reach.clone(), *at));
            recorded.map_err(|error| unfit(text, &error))
        };
        let last = self.stated();
        let lineage = self.earlier.iter().chain([&last]).map(generation);
        let lineage = lineage.collect::<Result<Vec<_>, _>>()?;
        let found = lineage.last().map_or(Ok(Vec::new()), |last| layouts(last.policy()))?;
        if found != self.layouts {
            let (theirs, ours) = (list(&self.layouts), list(&found));
            let text = format!("\"{}\" has words of {theirs} in the store, and of {ours} here", self.policy);
            return Err(StoreError::new(StoreErrorKind::Mismatch, text));
        }
        Ok(lineage)
    }

    /// The record in which `next` follows, from an instant on that nobody knows yet.
    ///
    /// # Errors
    /// The policy has a layer whose units cannot be shared.
    pub fn followed_by(&self, next: &Generation) -> Result<Self, StoreError> {
        let mut earlier = self.earlier.clone();
        earlier.push(self.stated());
        let dropped = earlier.len().saturating_sub(MOST_POLICIES - 1);
        earlier.drain(..dropped);
        Ok(Self {
            layouts: layouts(next.policy())?,
            policy: next.policy().to_string(),
            generation: next.number(),
            at: 0,
            reach: next.reach().to_vec(),
            earlier,
            ..self.clone()
        })
    }
}
