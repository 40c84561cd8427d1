//! Many requests in one call: the cache misses of some are under way while others are decided.

use core::borrow::Borrow;

use super::Limiter;
use ratecell_core::{Decision, Request};

/// Keys whose buckets are prefetched before the first of them is decided: enough to keep the memory busy, and few
/// enough that the lines are still in the cache.
const AHEAD: usize = 32;

impl Limiter {
    /// Decides `requests` in their order, and writes the decision of each to the same place of `decisions`.
    ///
    /// The decisions are those of one [`decide`](Self::decide) after another. A key may occur more than once. The clock
    /// is read once for all requests that give no time. A limiter that shares its units with other machines reads it for
    /// each, because the one before may have waited.
    ///
    /// # Panics
    /// If `decisions` is not as long as `requests`.
    pub fn decide_batch(&self, requests: &[Request<'_>], decisions: &mut [Decision]) {
        assert_eq!(requests.len(), decisions.len(), "a batch has one decision for each request");
        self.decide_each(requests, |request| request, decisions, |place, decision| *place = decision);
    }

    /// Decides each of `batch`: `request` makes its request, and `write` writes its decision.
    #[inline]
    pub(crate) fn decide_each<'r, R, Q: Borrow<Request<'r>>, D>(
        &self,
        batch: &'r [R],
        request: impl Fn(&'r R) -> Q,
        decisions: &mut [D],
        write: impl Fn(&mut D, Decision),
    ) {
        let mut now = None;
        let mut ahead = [0; AHEAD];
        for (batch, decisions) in batch.chunks(AHEAD).zip(decisions.chunks_mut(AHEAD)) {
            for (one, h) in batch.iter().zip(&mut ahead) {
                *h = self.hash(request(one).borrow());
                // Under way while the next is hashed.
                self.prefetch(*h);
            }
            // One key in five is not at home; the others need no second bucket.
            for h in ahead.iter().take(batch.len()) {
                self.regimes.first.layers.iter().for_each(|layer| layer.prefetch_rest(*h));
            }
            for ((one, h), decision) in batch.iter().zip(&ahead).zip(decisions) {
                let request = request(one);
                let request = request.borrow();
                if self.remote.is_some() {
                    now = None;
                }
                let now = request.now_ns().unwrap_or_else(|| *now.get_or_insert_with(|| self.clock.now()));
                write(decision, self.decide_at(*h, now, request));
            }
        }
    }
}
