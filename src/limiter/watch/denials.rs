//! Who was denied between two looks, where a region names denied keys.

use core::time::Duration;
use std::collections::HashMap;

use super::{KeyUse, Watch, shown};
use crate::names::{KeyName, Mark, Names};

/// A key that a look has found among those that were denied.
#[derive(Clone, Debug)]
pub(super) struct Denial {
    /// All of its hash.
    pub(super) hash: u64,
    pub(super) name: Option<KeyName>,
    /// Since the look before, at least.
    pub(super) denied: u64,
}

/// What looks have found.
#[derive(Clone, Debug, Default)]
pub(super) struct Denials {
    /// Of each line, as the last look has found it; `None` before the first.
    marks: Option<HashMap<usize, Mark>>,
    /// By what is shown of the hash.
    keys: HashMap<u64, Denial>,
}

impl Denials {
    /// Looks, and returns how many requests were denied since the region was made.
    pub(super) fn look(&mut self, names: &Names) -> u64 {
        let before = self.marks.take();
        let mut marks = HashMap::new();
        self.keys.clear();
        for (line, entry) in names.entries() {
            let denied = before.as_ref().map_or(0, |marks| entry.count_since(marks.get(&line).copied()));
            marks.insert(line, entry.mark());
            let new = Denial { hash: entry.hash, name: None, denied: 0 };
            let key = self.keys.entry(shown(entry.hash)).or_insert(new);
            key.name = key.name.take().or(entry.name);
            key.denied = key.denied.saturating_add(denied);
        }
        self.marks = Some(marks);
        names.total()
    }

    /// What is known of the key of which that is shown.
    pub(super) fn of(&self, shown: u64) -> Option<&Denial> {
        self.keys.get(&shown)
    }

    /// Those that were denied since the look before.
    pub(super) fn recent(&self) -> impl Iterator<Item = &Denial> {
        self.keys.values().filter(|key| key.denied > 0)
    }
}

impl Watch {
    /// A key that was denied. If it has no cell, nothing of its limit is used.
    pub(super) fn denied_key(&self, key: &Denial) -> KeyUse {
        self.key_of_hash(key.hash).unwrap_or_else(|| KeyUse {
            hash: shown(key.hash),
            layer: 0,
            used: 0,
            limit: self.layers.first().map_or(0, |layer| layer.capacity),
            admitted: 0,
            denied: 0,
            retry_after: Some(Duration::ZERO),
        })
    }

    /// The name of the key with that [hash](KeyUse::hash), if the last look has found it among those that were denied.
    #[must_use]
    pub fn name(&self, hash: u64) -> Option<&KeyName> {
        self.denials.of(hash)?.name.as_ref()
    }
}
