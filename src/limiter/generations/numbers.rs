//! The generations of one set of limits in a region whose table has several policies.

use std::sync::Arc;

use crate::error::{BuildError, RegionError};
use crate::limiter::mixed::MixedRegion;
use crate::table::era::{InForce, Lineage};

/// Those of the limits that have these numbers.
#[derive(Clone, Debug)]
pub(in crate::limiter) struct OfNumbers {
    region: Arc<MixedRegion>,
    numbers: Arc<[usize]>,
}

impl OfNumbers {
    pub(in crate::limiter) fn new(region: Arc<MixedRegion>, numbers: Arc<[usize]>) -> Self {
        Self { region, numbers }
    }

    pub(super) fn in_force(&self) -> &InForce {
        self.region.in_force()
    }

    /// # Errors
    /// The region's lists cannot be read, or have other limits by these numbers.
    pub(super) fn lineage(&self) -> Result<Lineage, BuildError> {
        let latest = self.region.latest()?;
        latest.lineage_of(&self.numbers).ok_or_else(|| RegionError::Corrupt.into())
    }
}
