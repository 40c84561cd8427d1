//! The name of a key in five words, which proves itself: it is believed only beside the hash that it has.
//!
//! | length | words |
//! | --- | --- |
//! | 0 to 40 | the whole key, and zeros: its hash is the hash beside it |
//! | 41 | the first 32 bytes of a longer key, and a keyed hash of them and the hash beside them |
//! | 42 | no name, for a key that was given by its hash: first the complement of the hash beside it, and zeros |

use core::fmt;

use crate::table::Secret;

/// Words of a line that are a name.
pub(super) const WORDS: usize = 5;
/// The bytes of a key that is named whole.
const WHOLE: usize = WORDS * 8;
/// Those that are kept of a longer one.
const CUT: usize = WHOLE - 8;
const IS_CUT: u64 = WHOLE as u64 + 1;
const IS_NONE: u64 = IS_CUT + 1;

/// As a line has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) length: u64,
    pub(super) words: [u64; WORDS],
}

/// The name of a key that was denied: the key, or what is kept of a longer one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyName {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl KeyName {
    /// The bytes of the key. If it [was cut](Self::is_cut), its first 32.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether the key has more bytes: a key of more than 40 is cut. Keys that begin alike may then have the same name.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl fmt::Display for KeyName {
    /// Prints the key as text, with U+FFFD for what is no UTF-8, and an ellipsis behind one that was cut. Characters of
    /// control are printed as they are: escape them before a terminal sees them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.bytes))?;
        f.write_str(if self.is_cut { "…" } else { "" })
    }
}

fn words(bytes: &[u8]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
        *word = u64::from_ne_bytes(padded);
    }
    words
}

/// What a cut name proves itself by.
fn proof(secret: &Secret, hash: u64, words: &[u64; WORDS]) -> u64 {
    let mut bytes = [0; WHOLE];
    let [cut @ .., _] = words;
    let all = core::iter::once(&hash).chain(cut).flat_map(|word| word.to_ne_bytes());
    bytes.iter_mut().zip(all).for_each(|(place, byte)| *place = byte);
    secret.hash(&bytes)
}

impl Name {
    /// Of the key with that hash; `None` of a key that was given by its hash.
    pub(super) fn of(secret: &Secret, hash: u64, key: Option<&[u8]>) -> Self {
        match key {
            Some(key) if key.len() <= WHOLE => Self { length: key.len() as u64, words: words(key) },
            Some(key) => {
                let mut words = words(key.get(..CUT).unwrap_or_default());
                words[WORDS - 1] = proof(secret, hash, &words);
                Self { length: IS_CUT, words }
            }
            None => Self { length: IS_NONE, words: [!hash, 0, 0, 0, 0] },
        }
    }

    /// The name of the key with that hash, which may have none; an error if it is not that key's, whoever wrote it.
    pub(super) fn read(&self, secret: &Secret, hash: u64) -> Result<Option<KeyName>, Stranger> {
        let mut bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let is_proven = match self.length {
            IS_NONE => return if *self == Self::of(secret, hash, None) { Ok(None) } else { Err(Stranger) },
            IS_CUT => {
                bytes.truncate(CUT);
                self.words[WORDS - 1] == proof(secret, hash, &self.words)
            }
            length if length <= WHOLE as u64 => {
                bytes.truncate(length as usize);
                secret.hash(&bytes) == hash
            }
            _ => false,
        };
        if is_proven { Ok(Some(KeyName { bytes, is_cut: self.length == IS_CUT })) } else { Err(Stranger) }
    }
}

/// A name that is not that of the hash beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stranger;

#[cfg(all(test, not(ratecell_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_believed_beside_its_hash_alone() {
        let secret = Secret::random().expect("random bytes");
        for length in 0..100_usize {
            let key: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
            let hash = secret.hash(&key);
            let name = Name::of(&secret, hash, Some(&key));
            let read = name.read(&secret, hash).expect("its own").expect("a name");
            let kept = if length > 40 { 32 } else { length };
            assert_eq!((read.as_bytes(), read.is_cut()), (&key[..kept], length > 40));
            assert_eq!(name.read(&secret, hash ^ 1), Err(Stranger));
            // Each word of another line, and each other length.
            let other =
                Name::of(&secret, !hash, Some(b"another key, which is a little longer than 40 bytes"));
            for word in 0..WORDS {
                let mut mixed = name;
                mixed.words[word] = other.words[word];
                let is_same = mixed == name || (length <= 40 && word * 8 >= length.next_multiple_of(8));
                assert!(is_same || mixed.read(&secret, hash).is_err(), "{length} bytes, word {word}");
            }
            for other in (0..128).filter(|other| *other != name.length) {
                assert!(Name { length: other, ..name }.read(&secret, hash).is_err(), "{length} as {other}");
            }
        }
    }

    #[test]
    fn a_key_given_by_its_hash_has_no_name() {
        let secret = Secret::random().expect("random bytes");
        let name = Name::of(&secret, 7, None);
        assert_eq!((name.read(&secret, 7), name.read(&secret, 8)), (Ok(None), Err(Stranger)));
    }

    #[test]
    fn a_name_is_printed_as_text() {
        let secret = Secret::random().expect("random bytes");
        let printed = |key: &[u8]| {
            let hash = secret.hash(key);
            Name::of(&secret, hash, Some(key))
                .read(&secret, hash)
                .expect("its own")
                .expect("a name")
                .to_string()
        };
        assert_eq!(printed(b"user:42"), "user:42");
        assert_eq!(printed(b"\xffa"), "\u{fffd}a");
        assert_eq!(printed(&[b'x'; 41]), format!("{}…", "x".repeat(32)));
    }
}
