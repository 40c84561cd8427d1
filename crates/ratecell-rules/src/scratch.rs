//! The memory of evaluations.

use std::ops::Range;

use crate::buffer::{bytes_of, give_back};
use crate::path::Readings;
use crate::rule::{Mode, Rule};

/// The memory of an evaluation, used again by the next: after some requests it grows no more, and nothing is allocated.
///
/// It may be used with several [`Rules`](crate::Rules) in turn. Each thread has its own.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(crate) host: Vec<u8>,
    pub(crate) readings: Readings,
    /// Rules whose anchor does not look at the path, and all that are found for one reading.
    pub(crate) anchored: Vec<u32>,
    pub(crate) found: Vec<u32>,
    pub(crate) walk: Vec<(u32, usize)>,
    pub(crate) groups: Groups,
    pub(crate) keys: Vec<u8>,
    pub(crate) claims: Vec<Stored>,
}

impl Scratch {
    /// Gives back the memory of each part that has more than `bytes`, where the part grows with a request: with its path, its
    /// host and its keys. What grows with the file alone stays, so that the next request need not make it again.
    pub fn shrink_to(&mut self, bytes: usize) {
        let Self { host, readings, keys, claims, .. } = self;
        give_back(host, bytes);
        give_back(keys, bytes);
        give_back(claims, bytes);
        readings.shrink_to(bytes);
    }

    /// The memory of the parts that grow with a request, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let Self { host, readings, keys, claims, .. } = self;
        bytes_of(host) + bytes_of(keys) + bytes_of(claims) + readings.bytes()
    }
}

/// What has happened to each named group in one reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// Twice the number of the reading in which it last had a match, and 1 more if it has ended.
    marks: Vec<u64>,
    /// The number of this reading. It is above all that came before with this memory.
    pub(crate) reading: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) rule: u32,
    pub(crate) reading: u32,
    pub(crate) policy: Option<usize>,
    pub(crate) cost: u32,
    pub(crate) key: Range<usize>,
}

impl Groups {
    pub(crate) fn make_room(&mut self, count: usize) {
        if self.marks.len() < count {
            self.marks.resize(count, 0);
        }
    }

    /// Whether no rule of this mode applies any more.
    #[inline]
    pub(crate) fn is_over(&self, rule: &Rule) -> bool {
        let Some(group) = &rule.group else { return false };
        let mark = self.marks[group.number as usize];
        mark / 2 == self.reading && (mark % 2 == 1 || rule.mode == Mode::Shadow)
    }

    #[inline]
    pub(crate) fn matched(&mut self, rule: &Rule) {
        let Some(group) = &rule.group else { return };
        self.marks[group.number as usize] = self.reading * 2 + u64::from(rule.mode != Mode::Shadow);
    }
}
