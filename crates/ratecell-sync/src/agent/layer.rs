//! The layers of a policy whose units are lent.

use ratecell_core::algorithm::{Algorithm, Kernel, Lease, Lend, Plan, WordLayout};
use ratecell_core::{Policy, with_kernel};

use crate::store::{StoreError, StoreErrorKind};

#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) kernel: Kernel,
    pub(crate) lease: Lease,
}

/// The layers of a policy whose units can be lent.
///
/// # Errors
/// The policy has a layer whose units are not lent.
pub(crate) fn layers(policy: &Policy) -> Result<Vec<Layer>, StoreError> {
    let layers = policy.layers().iter().map(|layer| match layer.plan() {
        Plan::Word(kernel) => {
            let lease = with_kernel!(&kernel, algorithm => algorithm.lease());
            lease.map(|lease| Layer { kernel, lease })
        }
        Plan::Log(_) => None,
    });
    layers.collect::<Option<_>>().ok_or_else(|| {
        let text = format!(
            "\"{policy}\" cannot be shared through a store: expected no sliding_log, no in_flight and no tz=caller"
        );
        StoreError::new(StoreErrorKind::Mismatch, text)
    })
}

/// What the words of a policy mean, which all machines of a store must agree on.
pub fn layouts(policy: &Policy) -> Result<Vec<WordLayout>, StoreError> {
    let layout = |layer: &Layer| with_kernel!(&layer.kernel, algorithm => algorithm.packing());
    Ok(layers(policy)?.iter().map(layout).collect())
}
