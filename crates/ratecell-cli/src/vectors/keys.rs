//! The keys of one section of the vectors: a limiter.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use ratecell::{Decision, Limiter, Policy, Request, Zone};
use ratecell_vectors::Decides;

/// More keys than any section has: a limiter that evicts is not the one that the vectors describe.
pub(super) const MAX_KEYS: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Keys {
    limiter: Limiter,
    zones: HashMap<String, Zone>,
    last_now_ns: u64,
}

/// A limiter whose epoch is so many seconds after 1970, or any.
pub(super) fn built(policy: Policy, epoch: Option<i64>, max_keys: usize) -> Result<Limiter> {
    let mut builder = Limiter::builder(policy).max_keys(max_keys);
    if let Some(seconds) = epoch {
        let distance = Duration::from_secs(seconds.unsigned_abs());
        builder = builder.epoch(if seconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance });
    }
    Ok(builder.build()?)
}

impl Keys {
    pub(crate) fn new(policy: Policy, epoch: Option<i64>) -> Result<Self> {
        let limiter = built(policy, epoch, MAX_KEYS)?;
        Ok(Self { limiter, zones: HashMap::new(), last_now_ns: 0 })
    }
}

impl Decides for Keys {
    fn decide(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision {
        self.last_now_ns = now_ns;
        self.limiter.check_at(key, cost, now_ns)
    }

    fn decide_in(&mut self, zone: &str, key: &str, cost: u32, now_ns: u64) -> Option<Decision> {
        self.last_now_ns = now_ns;
        if !self.zones.contains_key(zone) {
            self.zones.insert(zone.to_owned(), self.limiter.zone(zone).ok()?);
        }
        let request = Request::new(key).cost(cost).at(now_ns).zone(self.zones.get(zone)?);
        Some(self.limiter.decide(request))
    }

    fn keys_without_room(&self) -> u64 {
        let stats = self.limiter.stats_at(self.last_now_ns);
        stats.evicted + stats.denied_full + stats.allowed_full + stats.shared
    }
}
