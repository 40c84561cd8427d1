//! Limiters of other policies beside one, on the same keys.

use std::sync::Arc;

use super::Limiter;
use super::regime::{Regime, Regimes};
use super::regions::{fit, kernels, packings};
use super::tables::LayerTable;
use crate::error::{BuildError, RegionError, RegionField, of_policy};
use ratecell_core::Policy;

impl Limiter {
    /// Returns another limiter on the same keys, in the same memory, with another policy: for a tier, a location, or a
    /// rate of its own while others go on with theirs. A [change](Self::change) takes the rate away again, and leaves the
    /// burst, capacity or limit.
    ///
    /// The words of both policies must have the same meaning, as for all limiters of a region. In a limiter made by
    /// [`build`](super::LimiterBuilder::build), counts are only as wide as its own limit needs.
    ///
    /// # Errors
    /// As [`LimiterBuilder::attach`](super::LimiterBuilder::attach).
    pub fn with_policy(&self, policy: Policy) -> Result<Self, BuildError> {
        if self.remote.is_some() {
            let reason =
                "a limiter that shares its units with other machines has one policy: expected no other";
            return Err(BuildError::Shared { reason: reason.to_owned() });
        }
        self.in_regime_with(&*self.regimes.reigning()?, policy)
    }

    /// [`with_policy`](Self::with_policy) of a limiter whose first generation may still be to come.
    #[cfg(feature = "rules")]
    pub(crate) fn at_first_with(&self, policy: Policy) -> Result<Self, BuildError> {
        self.in_regime_with(&self.regimes.first, policy)
    }

    fn in_regime_with(&self, regime: &Regime, policy: Policy) -> Result<Self, BuildError> {
        let held = packings(&regime.policy, false)?;
        if policy.layers().len() != held.len() {
            let asked = of_policy(policy.layers().len(), &policy);
            let held = of_policy(held.len(), &regime.policy);
            return Err(RegionError::Differs { field: RegionField::Layers, held, asked }.into());
        }
        let policy = fit(&policy, &held, &regime.policy)?.at_epoch(self.clock.epoch_s())?;
        let tables = regime.layers.iter().filter_map(|layer| match layer {
            LayerTable::Words(_, table) => Some(table.clone()),
            LayerTable::Logs(..) => None,
        });
        let layers = kernels(&policy, false)?.into_iter().zip(tables);
        let layers = layers.map(|(kernel, table)| LayerTable::Words(kernel, table)).collect();
        self.regimes.generations.raise(&policy);
        let lineage = Arc::clone(&regime.lineage);
        let first = Regime { number: regime.number, policy: Arc::new(policy), layers, lineage };
        let regimes = Regimes::new(first, self.regimes.generations.clone());
        let limiter = Self {
            has_other_zone_rules: self.has_other_zone_rules,
            ..Self::of_regimes(regimes, self.clock.clone(), self.secret.clone())
        };
        Ok(limiter.naming(self.names.as_deref().cloned()))
    }
}
