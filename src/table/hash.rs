//! From keys to 64 uniform bits that nobody outside can choose.

use siphasher::sip::SipHasher13;

use crate::error::BuildError;

/// The secret of one table's hash.
#[derive(Clone)]
pub(crate) struct Secret {
    keyed: SipHasher13,
}

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub(crate) fn random() -> Result<Self, BuildError> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(|error| BuildError::NoRandomness { reason: error.to_string() })?;
        Ok(Self { keyed: SipHasher13::new_with_key(&key) })
    }

    /// A secret as [`words`](Self::words) tells it.
    #[cfg(any(target_os = "linux", feature = "store"))]
    pub(crate) fn of_words(words: [u64; 2]) -> Self {
        let mut key = [0; 16];
        for (bytes, word) in key.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        Self { keyed: SipHasher13::new_with_key(&key) }
    }

    /// The secret itself, for those who share a table.
    #[cfg(any(target_os = "linux", feature = "store"))]
    pub(crate) fn words(&self) -> [u64; 2] {
        let (low, high) = self.keyed.keys();
        [low, high].map(u64::from_le)
    }

    /// The hash of a key: SipHash-1-3, a keyed pseudo-random function, so that who chooses keys cannot
    /// choose buckets.
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        self.keyed.hash(key)
    }
}

/// Spreads a hash that a caller brings over all 64 bits: a bijection, so that distinct hashes stay
/// distinct and counters or addresses used as hashes do not crowd one bucket.
///
/// Source of the constant: the golden ratio, Knuth, The Art of Computer Programming, 6.4.
#[inline]
pub(crate) fn spread(hash: u64) -> u64 {
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 32)
}
