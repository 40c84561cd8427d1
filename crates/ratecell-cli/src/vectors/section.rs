//! One section of the vectors: a limiter and the requests to it.

use anyhow::Result;
use ratecell::{Limiter, Policy};

use super::format::{Answer, Row};

/// More keys than any section has: a limiter that evicts is not the one that the vectors describe.
const MAX_KEYS: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) line: usize,
    /// `None` where the library refused the policy: then no row can pass.
    limiter: Option<Limiter>,
    last_now_ns: u64,
}

impl Section {
    pub(crate) fn new(name: String, line: usize, policy: Option<Policy>) -> Result<Self> {
        let limiter = policy.map(|policy| Limiter::builder(policy).max_keys(MAX_KEYS).build()).transpose()?;
        Ok(Self { name, line, limiter, last_now_ns: 0 })
    }

    /// The limiter's answer to a row's request.
    pub(crate) fn decide(&mut self, row: &Row<'_>) -> Option<Answer> {
        self.last_now_ns = row.now_ns;
        let limiter = self.limiter.as_ref()?;
        Some(limiter.check_at(&*row.key, row.cost, row.now_ns).into())
    }

    /// How many keys did not find room.
    pub(crate) fn keys_without_room(&self) -> u64 {
        self.limiter.as_ref().map_or(0, |limiter| {
            let stats = limiter.stats_at(self.last_now_ns);
            stats.evicted + stats.denied_full + stats.allowed_full + stats.shared
        })
    }
}
