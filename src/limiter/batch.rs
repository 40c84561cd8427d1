//! Many keys at one instant, with the cache misses of some under way while others are decided.

use super::Limiter;
use ratecell_core::Decision;

/// Keys whose buckets are asked for before the first of them is decided: enough to keep the memory
/// busy, few enough that the lines are still there.
const AHEAD: usize = 32;

impl Limiter {
    /// Decides one unit of each of `keys` now, in their order, with one reading of the clock. The
    /// decisions are those of as many [`check`](Self::check)s at that instant; a key may occur more
    /// than once.
    ///
    /// # Panics
    /// Where `decisions` is not as long as `keys`.
    pub fn check_batch<K: AsRef<[u8]>>(&self, keys: &[K], decisions: &mut [Decision]) {
        self.check_batch_at(keys, self.clock.now(), decisions);
    }

    /// [`check_batch`](Self::check_batch) at `now_ns`.
    ///
    /// # Panics
    /// Where `decisions` is not as long as `keys`.
    pub fn check_batch_at<K: AsRef<[u8]>>(&self, keys: &[K], now_ns: u64, decisions: &mut [Decision]) {
        self.check_batch_n_at(keys, 1, now_ns, decisions);
    }

    /// [`check_batch_at`](Self::check_batch_at) of `cost` units of each of `keys`.
    ///
    /// # Panics
    /// Where `decisions` is not as long as `keys`.
    pub fn check_batch_n_at<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        cost: u32,
        now_ns: u64,
        decisions: &mut [Decision],
    ) {
        assert_eq!(keys.len(), decisions.len(), "a batch has one decision for each key");
        self.decide_batch(keys, |key| (self.hash(key.as_ref()), cost), now_ns, decisions, copy);
    }

    /// [`check_hash_batch_at`](Self::check_hash_batch_at) now, with one reading of the clock.
    ///
    /// # Panics
    /// Where `decisions` is not as long as `hashes`.
    pub fn check_hash_batch(&self, hashes: &[u64], decisions: &mut [Decision]) {
        self.check_hash_batch_at(hashes, self.clock.now(), decisions);
    }

    /// [`check_batch_at`](Self::check_batch_at) by the caller's own hashes, as
    /// [`check_hash`](Self::check_hash) takes them.
    ///
    /// # Panics
    /// Where `decisions` is not as long as `hashes`.
    pub fn check_hash_batch_at(&self, hashes: &[u64], now_ns: u64, decisions: &mut [Decision]) {
        assert_eq!(hashes.len(), decisions.len(), "a batch has one decision for each hash");
        self.decide_batch(hashes, |hash| (super::spread(*hash), 1), now_ns, decisions, copy);
    }

    /// Decides each of `requests`, whose hash and cost `read` tells, and has `write` tell the decision.
    #[inline]
    pub(crate) fn decide_batch<R, D>(
        &self,
        requests: &[R],
        read: impl Fn(&R) -> (u64, u32),
        now: u64,
        decisions: &mut [D],
        write: impl Fn(&mut D, Decision),
    ) {
        let mut ahead = [(0, 0); AHEAD];
        for (requests, decisions) in requests.chunks(AHEAD).zip(decisions.chunks_mut(AHEAD)) {
            for (request, place) in requests.iter().zip(&mut ahead) {
                *place = read(request);
                // Under way while the next is hashed.
                self.prefetch(place.0);
            }
            // One key in five is not at home: for the others no more is fetched than they need.
            for (h, _) in ahead.iter().take(requests.len()) {
                self.layers.iter().for_each(|layer| layer.prefetch_rest(*h));
            }
            for ((h, cost), decision) in ahead.iter().zip(decisions) {
                write(decision, self.decide(*h, *cost, now));
            }
        }
    }
}

#[inline(always)]
fn copy(place: &mut Decision, decision: Decision) {
    *place = decision;
}
