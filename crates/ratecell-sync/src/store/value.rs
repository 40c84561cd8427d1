//! A key's name and value at the store.

use arrayvec::ArrayVec;

use super::error::{StoreError, StoreErrorKind};

/// The most layers that a policy in a store has.
pub const MOST_LAYERS: usize = 8;

/// What the store holds of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The generation of the policy that wrote it, mod 256.
    pub generation: u8,
    /// A word for each layer.
    pub words: ArrayVec<u64, MOST_LAYERS>,
}

/// The bytes of a value: the generation, then the words, each with its most significant byte first.
pub(crate) type Bytes = ArrayVec<u8, { 1 + 8 * MOST_LAYERS }>;

impl Value {
    pub(crate) fn bytes(&self) -> Bytes {
        let words = self.words.iter().flat_map(|word| word.to_be_bytes());
        std::iter::once(self.generation).chain(words).collect()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, StoreError> {
        if let Some((generation, words)) = bytes.split_first() {
            let (words, rest) = words.as_chunks::<8>();
            if rest.is_empty() && (1..=MOST_LAYERS).contains(&words.len()) {
                let words = words.iter().map(|word| u64::from_be_bytes(*word)).collect();
                return Ok(Self { generation: *generation, words });
            }
        }
        let text =
            format!("a value of {} bytes was not written by ratecell: expected 9, 17, … or 65", bytes.len());
        Err(StoreError::new(StoreErrorKind::Mismatch, text))
    }
}

/// The name at the store of the key with the hash `h`.
pub(crate) fn key(name: &str, h: u64) -> Vec<u8> {
    [name.as_bytes(), &h.to_be_bytes()].concat()
}

/// The name of the record.
pub(crate) fn record_key(name: &str) -> Vec<u8> {
    [name.as_bytes(), b"#"].concat()
}

/// A name among the store's own at which nothing ever stands.
pub(crate) fn nothing_key(name: &str) -> Vec<u8> {
    [name.as_bytes(), b"##"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_byte_and_words_from_the_most_significant_byte() {
        let value = Value { generation: 7, words: [1, u64::MAX - 1].into_iter().collect() };
        let bytes = value.bytes();
        assert_eq!(bytes.as_slice(), [7, 0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 255, 255, 255, 254]);
        assert_eq!(Value::parse(&bytes), Ok(value));
        let full = Value { generation: 0, words: (0..MOST_LAYERS as u64).collect() };
        assert_eq!(Value::parse(&full.bytes()), Ok(full));
    }

    #[test]
    fn other_lengths_are_no_values() {
        for length in [0, 1, 8, 10, 16, 73] {
            let error = Value::parse(&vec![0; length]).expect_err("no value");
            assert_eq!(error.kind(), StoreErrorKind::Mismatch);
            assert!(error.to_string().contains(&format!("of {length} bytes")), "{error}");
        }
    }

    #[test]
    fn keys_of_a_name_begin_with_it() {
        assert_eq!(key("api", 0x6162_6364_6566_6768), b"apiabcdefgh");
        assert_eq!(record_key("api"), b"api#");
    }
}
