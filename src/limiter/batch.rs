//! Many keys at one instant, with the cache misses of some under way while others are decided.

use super::Limiter;
use crate::decision::Decision;

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
        self.decide_batch(keys, |key| self.secret.hash(key.as_ref()), now_ns, decisions);
    }

    /// [`check_batch_at`](Self::check_batch_at) by the caller's own hashes, as
    /// [`check_hash`](Self::check_hash) takes them.
    ///
    /// # Panics
    /// Where `decisions` is not as long as `hashes`.
    pub fn check_hash_batch_at(&self, hashes: &[u64], now_ns: u64, decisions: &mut [Decision]) {
        self.decide_batch(hashes, |hash| super::spread(*hash), now_ns, decisions);
    }

    #[inline]
    fn decide_batch<K>(&self, keys: &[K], hash: impl Fn(&K) -> u64, now: u64, decisions: &mut [Decision]) {
        assert_eq!(keys.len(), decisions.len(), "a batch has one decision for each key");
        let mut hashes = [0; AHEAD];
        for (keys, decisions) in keys.chunks(AHEAD).zip(decisions.chunks_mut(AHEAD)) {
            for (key, h) in keys.iter().zip(&mut hashes) {
                *h = hash(key);
            }
            hashes.iter().take(keys.len()).for_each(|h| self.prefetch(*h));
            for (h, decision) in hashes.iter().zip(decisions) {
                *decision = self.decide(*h, 1, now);
            }
        }
    }
}
