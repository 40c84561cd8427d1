//! A pair as one atomic that names two words, for what sees no assembly: the model checkers, and Miri.
//!
//! Equal pairs have one name, so a compare-and-swap of names is one of pairs, and a checker sees one location with one
//! order of changes: what the processors give 16 aligned bytes that are changed at once. That they do, it does not check.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::Words;
use crate::sync::{AtomicU64, Ordering};

/// Every pair of words that has been in any pair, in the order of their names. Zeros are named by 0.
#[derive(Debug, Default)]
struct Names {
    of: HashMap<Words, u64>,
    words: Vec<Words>,
}

static NAMES: LazyLock<Mutex<Names>> =
    LazyLock::new(|| Mutex::new(Names { of: HashMap::from([((0, 0), 0)]), words: vec![(0, 0)] }));

fn name_of(words: Words) -> u64 {
    let names = &mut *NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    *names.of.entry(words).or_insert_with(|| {
        names.words.push(words);
        names.words.len() as u64 - 1
    })
}

fn named(name: u64) -> Words {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    usize::try_from(name).ok().and_then(|name| names.words.get(name)).copied().unwrap_or_default()
}

/// Two words, loaded one by one, and exchanged together or either alone. Zeros are a pair of zeros.
#[derive(Debug, Default)]
#[repr(C, align(16))]
pub(crate) struct Pair {
    name: AtomicU64,
}

impl Pair {
    pub(crate) fn is_supported() -> bool {
        true
    }

    pub(crate) fn first(&self, ordering: Ordering) -> u64 {
        named(self.name.load(ordering)).0
    }

    pub(crate) fn second(&self, ordering: Ordering) -> u64 {
        named(self.name.load(ordering)).1
    }

    /// Changes the first word from exactly `seen.0`, whatever the second one is: it is tried again where that alone is
    /// another than `seen.1`. Where it fails it says what the first word is.
    pub(crate) fn replace_first(
        &self,
        seen: Words,
        to: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<(), u64> {
        let mut second = seen.1;
        loop {
            let (from, to) = (name_of((seen.0, second)), name_of((to, second)));
            match self.name.compare_exchange(from, to, success, failure).map_err(named) {
                Ok(_) => return Ok(()),
                Err((first, found)) if first == seen.0 => second = found,
                Err((first, _)) => return Err(first),
            }
        }
    }

    /// Changes the second word from exactly `seen.1`, whatever the first one is: it is tried again where that alone is
    /// another than `seen.0`.
    pub(crate) fn replace_second(&self, seen: Words, to: u64, success: Ordering, failure: Ordering) -> bool {
        let mut first = seen.0;
        loop {
            let (from, to) = (name_of((first, seen.1)), name_of((first, to)));
            match self.name.compare_exchange(from, to, success, failure).map_err(named) {
                Ok(_) => return true,
                Err((found, second)) if second == seen.1 => first = found,
                Err(_) => return false,
            }
        }
    }

    /// Changes both words from exactly `from`, at once.
    pub(crate) fn replace(&self, from: Words, to: Words) -> bool {
        let (from, to) = (name_of(from), name_of(to));
        self.name.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}
