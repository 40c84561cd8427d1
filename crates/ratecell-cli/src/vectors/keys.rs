//! The keys of one section of the vectors: a limiter.

use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use ratecell::{Decision, Limiter, Policy};
use ratecell_vectors::Decides;

/// More keys than any section has: a limiter that evicts is not the one that the vectors describe.
pub(super) const MAX_KEYS: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Keys {
    limiter: Limiter,
    last_now_ns: u64,
}

impl Keys {
    /// Of a limiter whose epoch is so many seconds after 1970, or any.
    pub(crate) fn new(policy: Policy, epoch: Option<i64>) -> Result<Self> {
        let mut builder = Limiter::builder(policy).max_keys(MAX_KEYS);
        if let Some(seconds) = epoch {
            let distance = Duration::from_secs(seconds.unsigned_abs());
            builder = builder.epoch(if seconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance });
        }
        Ok(Self { limiter: builder.build()?, last_now_ns: 0 })
    }
}

impl Decides for Keys {
    fn decide(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision {
        self.last_now_ns = now_ns;
        self.limiter.check_at(key, cost, now_ns)
    }

    fn keys_without_room(&self) -> u64 {
        let stats = self.limiter.stats_at(self.last_now_ns);
        stats.evicted + stats.denied_full + stats.allowed_full + stats.shared
    }
}
