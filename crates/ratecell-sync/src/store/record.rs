//! The record: what all machines that share a store agree on. It stands in the store beside the keys, as a region's
//! header stands beside its table.

use ratecell_core::algorithm::WordLayout;

use super::error::{StoreError, StoreErrorKind};
use super::value::MOST_LAYERS;

/// What a machine brings to a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What the bits of each layer's words mean; 1 to 8 layers.
    pub layouts: Vec<WordLayout>,
    /// Of each layer the capacity.
    pub reach: Vec<u32>,
    /// The policy's text.
    pub policy: String,
    /// The operator's number of the configuration.
    pub version: u64,
}

/// What stands in the store, and holds for all machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What the words' times count from: nanoseconds since 1970, of a Monday at 00:00 UTC.
    pub epoch_ns: u64,
    /// The key of the hash by which keys are named.
    pub secret: [u64; 2],
    /// What the bits of each layer's words mean.
    pub layouts: Vec<WordLayout>,
    /// The text of the policy in force.
    pub policy: String,
    /// The operator's number of the configuration in force.
    pub version: u64,
    /// The policy's generation.
    pub generation: u64,
    /// When that generation began, in nanoseconds since the epoch, at least 1; 0 while nobody has said so, and nothing is
    /// granted.
    pub at: u64,
    /// Of each layer the greatest capacity of any policy until now.
    pub reach: Vec<u32>,
    /// The last generation to which every key was carried.
    pub swept: u64,
    /// The generations before, the newest last: at most three, which a value may still be of.
    pub earlier: Vec<Stated>,
}

/// A generation as the record states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// Its number.
    pub generation: u64,
    /// When it began.
    pub at: u64,
    /// Of each layer the greatest capacity of any policy until then.
    pub reach: Vec<u32>,
    /// The policy's text.
    pub policy: String,
}

const MAGIC: [u8; 8] = *b"ratecell";
const FORMAT: u64 = 2;
/// Where the head stands that every batch reads: generation, at, secret.
pub(crate) const HEAD: std::ops::Range<usize> = 16..48;
/// Policies that are kept, the last one in force: a key may be generations behind.
pub(crate) const MOST_POLICIES: usize = 4;
const MONDAY: u64 = 345_600;
const WEEK: u64 = 604_800;

/// The part of the record that each batch reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) generation: u64,
    pub(crate) at: u64,
    pub(crate) secret: [u64; 2],
}

impl Head {
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let head = fields.head()?;
        fields.0.is_empty().then_some(head)
    }
}

impl Terms {
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let layers = self.layouts.len();
        if (1..=MOST_LAYERS).contains(&layers) {
            return Ok(());
        }
        let text =
            format!("a policy of {layers} layers cannot be shared by a store: expected 1 to {MOST_LAYERS}");
        Err(StoreError::new(StoreErrorKind::Mismatch, text))
    }

    /// The first record, by the store's time in microseconds since 1970.
    pub(crate) fn begin(&self, now_us: u64, secret: [u64; 2]) -> Result<Record, StoreError> {
        let now = now_us / 1_000_000;
        let Some(since) = now.checked_sub(MONDAY) else {
            let text = format!("the store's clock shows second {now} of 1970: expected a clock that is set");
            return Err(StoreError::new(StoreErrorKind::Mismatch, text));
        };
        Ok(Record {
            epoch_ns: nanoseconds(now - since % WEEK),
            secret,
            layouts: self.layouts.clone(),
            policy: self.policy.clone(),
            version: self.version,
            generation: 0,
            at: 1,
            reach: self.reach.clone(),
            swept: 0,
            earlier: Vec::new(),
        })
    }

    /// What a machine that brings these terms must know of a store with this `record`; an error where it cannot share it.
    pub(crate) fn compare(&self, record: &Record, shown: &str) -> Result<Vec<String>, StoreError> {
        let Record { layouts, policy, version, .. } = record;
        if layouts != &self.layouts {
            let (theirs, ours) = (list(layouts), list(&self.layouts));
            let text = format!(
                "{shown} is of the policy \"{policy}\", with words of {theirs}: \"{}\" has words of {ours}. Expected the \
                 same algorithms and windows; another policy takes another name",
                self.policy
            );
            return Err(StoreError::new(StoreErrorKind::Mismatch, text));
        }
        // A greater version changes the policy as soon as the machine's agent runs.
        if policy == &self.policy || self.version > *version {
            return Ok(Vec::new());
        }
        Ok(vec![format!(
            "{shown} is under the policy \"{policy}\" of version {version}, which holds: \"{}\" of version {} does not",
            self.policy, self.version
        )])
    }
}

fn nanoseconds(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000_000_000)
}

/// The layouts in words.
pub(crate) fn list(layouts: &[WordLayout]) -> String {
    let one = |layout: &WordLayout| {
        let WordLayout { word, unit, grain, count_bits } = layout;
        format!(
            "{} (unit {unit}, grain {grain}, {count_bits} bits of count)",
            word.escape_ascii().to_string().trim_end()
        )
    };
    layouts.iter().map(one).collect::<Vec<_>>().join(" and ")
}

impl Record {
    /// The generation in force.
    #[must_use]
    pub fn stated(&self) -> Stated {
        let Self { generation, at, reach, policy, .. } = self;
        Stated { generation: *generation, at: *at, reach: reach.clone(), policy: policy.clone() }
    }

    /// When the generation before the one in force began.
    pub(crate) fn at_before(&self) -> u64 {
        self.earlier.last().map_or(1, |stated| stated.at)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Self { generation, at, secret: [first, second], epoch_ns, version, swept, .. } = *self;
        let mut bytes = MAGIC.to_vec();
        let layers = self.layouts.len() as u64;
        bytes.extend(numbers(&[FORMAT, generation, at, first, second, epoch_ns, version, swept, layers]));
        for layout in &self.layouts {
            bytes.extend(layout.word);
            bytes.extend(numbers(&[layout.unit, layout.grain, u64::from(layout.count_bits)]));
        }
        // A list, of which the last is in force.
        bytes.extend(numbers(&[self.earlier.len() as u64 + 1]));
        for Stated { generation, at, reach, policy } in self.earlier.iter().chain([&self.stated()]) {
            bytes.extend(numbers(&[*generation, *at]));
            for reach in (0..self.layouts.len()).map(|layer| reach.get(layer).copied().unwrap_or(0)) {
                bytes.extend(numbers(&[u64::from(reach)]));
            }
            bytes.extend(numbers(&[policy.len() as u64]));
            bytes.extend(policy.as_bytes());
        }
        bytes
    }

    pub(crate) fn parse(bytes: &[u8], shown: &str) -> Result<Self, StoreError> {
        let wrong =
            |text: String| StoreError::new(StoreErrorKind::Mismatch, format!("the record of {shown} {text}"));
        let mut fields = Fields(bytes);
        match (fields.take(8), fields.number()) {
            (Some(magic), Some(FORMAT)) if magic == MAGIC => {}
            (Some(magic), Some(format)) if magic == MAGIC => {
                return Err(wrong(format!("has format {format}: expected {FORMAT}")));
            }
            _ => return Err(wrong("was not written by ratecell".to_owned())),
        }
        let record = fields.record().filter(|_| fields.0.is_empty());
        let Some(record) = record else { return Err(wrong(format!("is damaged, of {} bytes", bytes.len()))) };
        if (record.epoch_ns % nanoseconds(WEEK)) != nanoseconds(MONDAY) {
            return Err(wrong(format!("counts from {} ns: expected a Monday at 00:00 UTC", record.epoch_ns)));
        }
        Ok(record)
    }
}

fn numbers(numbers: &[u64]) -> impl Iterator<Item = u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes())
}

/// What is left to be read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_be_bytes(*first))
    }

    /// A count of at most `most`.
    fn count(&mut self, most: usize) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| (1..=most).contains(count))
    }

    fn head(&mut self) -> Option<Head> {
        Some(Head {
            generation: self.number()?,
            at: self.number()?,
            secret: [self.number()?, self.number()?],
        })
    }

    fn layout(&mut self) -> Option<WordLayout> {
        Some(WordLayout {
            word: self.take(8)?.try_into().ok()?,
            unit: self.number()?,
            grain: self.number()?,
            count_bits: u32::try_from(self.number()?).ok()?,
        })
    }

    fn stated(&mut self, layers: usize) -> Option<Stated> {
        let (generation, at) = (self.number()?, self.number()?);
        let reach = (0..layers).map(|_| u32::try_from(self.number()?).ok()).collect::<Option<Vec<_>>>()?;
        let length = usize::try_from(self.number()?).ok()?;
        let policy = String::from_utf8(self.take(length)?.to_vec()).ok()?;
        Some(Stated { generation, at, reach, policy })
    }

    fn record(&mut self) -> Option<Record> {
        let Head { generation, at, secret } = self.head()?;
        let (epoch_ns, version, swept) = (self.number()?, self.number()?, self.number()?);
        let layers = self.count(MOST_LAYERS)?;
        let layouts = (0..layers).map(|_| self.layout()).collect::<Option<Vec<_>>>()?;
        let policies = self.count(MOST_POLICIES)?;
        let mut earlier = (0..policies).map(|_| self.stated(layers)).collect::<Option<Vec<_>>>()?;
        let last = earlier.pop()?;
        // One after the other, so that a value of each can be carried; and only of the last it may be open since when.
        let since = generation.checked_sub(earlier.len() as u64)?;
        let is_row = (since..).zip(&earlier).all(|(number, one)| one.generation == number && one.at > 0);
        // The head is what batches believe, so the two must agree.
        (is_row && (last.generation, last.at) == (generation, at)).then_some(Record {
            epoch_ns,
            secret,
            layouts,
            policy: last.policy,
            version,
            generation,
            at,
            reach: last.reach,
            swept,
            earlier,
        })
    }
}

#[cfg(test)]
mod tests;
