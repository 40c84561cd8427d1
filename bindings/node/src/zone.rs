//! `Zone`: what a request names, under a policy with tz=caller.

use napi::Result;
use napi_derive::napi;

use crate::errors;

/// A time zone, ready for the requests to limiters of one calendar.
#[napi]
pub struct Zone {
    pub(crate) zone: ratecell::Zone,
}

#[napi]
impl Zone {
    /// Its name.
    #[napi(getter)]
    pub fn name(&self) -> String {
        self.zone.name()
    }
}

/// An error where `limiter` decides no request that names this zone.
pub(crate) fn check(limiter: &ratecell::Limiter, zone: &ratecell::Zone) -> Result<()> {
    let policy = limiter.policy();
    if policy.takes_zone(zone) {
        return Ok(());
    }
    Err(errors::of_value(&if policy.asks_for_zone() {
        format!(
            "zone is {zone} of another calendar than that of `{policy}`: expected one that this limiter made"
        )
    } else {
        format!("zone is {zone}, and `{policy}` takes none: expected a policy with tz=caller")
    }))
}
