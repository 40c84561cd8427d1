//! The directory: which sections a region has, and where.
//!
//! | word of an entry | what |
//! | --- | --- |
//! | 0 | the kind in the lower half, the layer in the upper; all zeros: no section |
//! | 1 | the form, of the section's kind |
//! | 2 | the offset in bytes from the region's beginning |
//! | 3 | the length in bytes |
//!
//! An entry says all of where its section is, so a section of a kind that is not known is passed over. A known kind of
//! an unknown form is refused: its bytes would be misread.

use core::ops::Range;

use super::{numbers, packings, policy};
use crate::board::Board;
use crate::error::{RegionError, RegionField};
use crate::names::Names;
use crate::table::parts::{PART_ALIGNMENT, TOTAL_BYTES};
use crate::table::{COUNTER_LINE, Parts, Table};
use ratecell_core::algorithm::WordLayout;

/// Entries of a directory.
const ENTRIES: usize = 64;
/// The words of an entry.
const ENTRY_WORDS: usize = 4;
/// The words of a directory.
pub(super) const WORDS: usize = ENTRIES * ENTRY_WORDS;
/// The bytes of a directory.
pub(super) const BYTES: usize = WORDS * size_of::<u64>();
/// Where it begins: behind the header.
pub(super) const AT: usize = 512;
/// Sections begin at multiples of this.
const ALIGNMENT: usize = PART_ALIGNMENT;
pub(crate) const MAX_LAYERS: usize = 8;

/// The words in which a directory is kept.
pub(super) type Words = [u64; WORDS];

/// What a section is. The numbers are kept in memory and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Packings = 1,
    Policy = 2,
    Table = 3,
    Counters = 4,
    Board = 5,
    Given = 6,
    Numbers = 7,
    Names = 8,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Packings,
        Self::Policy,
        Self::Table,
        Self::Counters,
        Self::Board,
        Self::Given,
        Self::Numbers,
        Self::Names,
    ];

    fn of(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u64 == number)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Packings => "packings",
            Self::Policy => "policy",
            Self::Table => "table",
            Self::Counters => "counters",
            Self::Board => "board",
            Self::Given => "given",
            Self::Numbers => "numbers",
            Self::Names => "names",
        }
    }

    /// The form that is written and read, in a region whose table has one policy or several.
    fn form(self, has_numbers: bool) -> u64 {
        match self {
            Self::Table if has_numbers => 4,
            Self::Table => 3,
            Self::Packings
            | Self::Policy
            | Self::Counters
            | Self::Board
            | Self::Given
            | Self::Numbers
            | Self::Names => 1,
        }
    }

    /// What the length is a multiple of.
    fn unit(self) -> usize {
        match self {
            Self::Packings => packings::BYTES,
            Self::Policy => policy::BYTES,
            Self::Table => <Table>::BUCKET_BYTES,
            Self::Counters => COUNTER_LINE,
            Self::Board => Board::BYTES,
            Self::Given => TOTAL_BYTES,
            Self::Numbers => numbers::BYTES,
            Self::Names => Names::LINE,
        }
    }

    /// Whether a layer has a section of this kind; otherwise there is at most one for all.
    fn is_a_layer_s(self) -> bool {
        matches!(self, Self::Table | Self::Counters | Self::Given)
    }
}

/// An entry, as its words say.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: usize,
    kind: u64,
    layer: u64,
    form: u64,
    offset: u64,
    length: u64,
}

impl Entry {
    fn of_words((number, words): (usize, &[u64; ENTRY_WORDS])) -> Self {
        let [kind_and_layer, form, offset, length] = *words;
        let (kind, layer) = (kind_and_layer & u64::from(u32::MAX), kind_and_layer >> 32);
        Self { number, kind, layer, form, offset, length }
    }

    fn damaged(&self, wrong: &str) -> RegionError {
        let name = Kind::of(self.kind).map_or("a kind that is not known", Kind::name);
        RegionError::Section { section: format!("{} ({name})", self.number), reason: wrong.to_owned() }
    }

    /// The bytes of the section, if they are within the sections of a region of so many bytes.
    fn range(&self, region: usize) -> Result<Range<usize>, RegionError> {
        let place = [self.offset, self.length].map(usize::try_from);
        let range = match place {
            [Ok(offset), Ok(length)] => offset.checked_add(length).map(|end| offset..end),
            _ => None,
        };
        let outside = || {
            let (offset, length) = (self.offset, self.length);
            self.damaged(&format!(
                "{length} bytes from byte {offset} on; expected within bytes {SECTIONS_AT} to {region}"
            ))
        };
        let range = range.filter(|range| range.start >= SECTIONS_AT && range.end <= region);
        let range = range.ok_or_else(outside)?;
        if range.is_empty() {
            return Err(self.damaged("no bytes; expected at least one"));
        }
        if !range.start.is_multiple_of(ALIGNMENT) {
            let offset = range.start;
            return Err(self.damaged(&format!("at byte {offset}; expected a multiple of {ALIGNMENT}")));
        }
        Ok(range)
    }
}

/// Where the first section may begin: after the header and the directory.
pub(super) const SECTIONS_AT: usize = AT + BYTES;

/// Where the sections of a region are, all of them within it and none in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// The bytes of the region.
    pub(crate) bytes: usize,
    pub(super) packings_at: usize,
    pub(super) policy_at: usize,
    /// Of each layer.
    pub(crate) tables: Vec<Parts>,
    /// Where misses are posted, in the region of a machine with a store.
    pub(crate) board_at: Option<usize>,
    /// Where it is said what the numbers mean of a table of several policies.
    pub(super) numbers_at: Option<usize>,
    /// Where denied keys are named, if they are.
    pub(crate) names_at: Option<usize>,
}

/// Which sections a new region is to have.
#[derive(Clone, Debug)]
pub(super) struct Sections {
    /// For each layer, whether it counts what is given back.
    pub(super) counts_given: Vec<bool>,
    pub(super) board: bool,
    /// Whether the table has several policies.
    pub(super) numbers: bool,
    pub(super) names: bool,
}

impl Sections {
    /// Of the layers with these words. With `reservations`, what is given back is counted beside the words that need it.
    pub(super) fn of(packings: &[WordLayout], reservations: bool, board: bool, names: bool) -> Self {
        let counts_given = |words: &WordLayout| reservations && words.counts_what_is_given_back();
        Self { counts_given: packings.iter().map(counts_given).collect(), board, numbers: false, names }
    }

    /// Of one table of several policies, which counts what is given back.
    pub(super) fn of_several_policies(names: bool) -> Self {
        Self { counts_given: vec![true], board: false, numbers: true, names }
    }
}

impl Directory {
    /// The directory of a new region whose layers have that many buckets each; `None` where no memory is so large.
    pub(super) fn new(sections: &Sections, buckets: usize) -> Option<Self> {
        let packings_at = SECTIONS_AT;
        let layers = sections.counts_given.len();
        let packings_end = layers.checked_mul(packings::BYTES)?.checked_add(packings_at)?;
        let policy_at = packings_end.checked_next_multiple_of(ALIGNMENT)?;
        let mut end = policy_at.checked_add(policy::BYTES)?;
        let mut numbers_at = None;
        if sections.numbers {
            let at = end.checked_next_multiple_of(ALIGNMENT)?;
            end = at.checked_add(numbers::BYTES)?;
            numbers_at = Some(at);
        }
        let mut tables = Vec::new();
        for counts_given in &sections.counts_given {
            let (parts, after) = <Table>::parts(end, buckets, *counts_given)?;
            tables.push(parts);
            end = after;
        }
        let mut optional = |is_asked_for: bool, bytes: usize| -> Option<Option<usize>> {
            if !is_asked_for {
                return Some(None);
            }
            let at = end.checked_next_multiple_of(ALIGNMENT)?;
            end = at.checked_add(bytes)?;
            Some(Some(at))
        };
        let board_at = optional(sections.board, Board::BYTES)?;
        let names_at = optional(sections.names, Names::BYTES)?;
        Some(Self { bytes: end, packings_at, policy_at, tables, board_at, numbers_at, names_at })
    }

    pub(crate) fn layers(&self) -> usize {
        self.tables.len()
    }

    /// Of each layer.
    pub(crate) fn buckets(&self) -> usize {
        self.tables.first().map_or(0, |parts| parts.buckets)
    }

    pub(super) fn words(&self) -> Words {
        let has_numbers = self.numbers_at.is_some();
        let entry = |kind: Kind, layer: usize, offset: usize, length: usize| {
            [kind as u64 | (layer as u64) << 32, kind.form(has_numbers), offset as u64, length as u64]
        };
        let packings = self.layers() * packings::BYTES;
        let tables = self.tables.iter().enumerate().flat_map(|(layer, parts)| {
            let (buckets, lines) = (parts.buckets * Kind::Table.unit(), parts.counter_lines * COUNTER_LINE);
            let given =
                parts.given_at.map(|at| entry(Kind::Given, layer, at, parts.buckets * Kind::Given.unit()));
            let table = [
                entry(Kind::Table, layer, parts.buckets_at, buckets),
                entry(Kind::Counters, layer, parts.counters_at, lines),
            ];
            table.into_iter().chain(given)
        });
        let for_all = [
            entry(Kind::Packings, 0, self.packings_at, packings),
            entry(Kind::Policy, 0, self.policy_at, policy::BYTES),
        ];
        let board = self.board_at.map(|at| entry(Kind::Board, 0, at, Board::BYTES));
        let numbers = self.numbers_at.map(|at| entry(Kind::Numbers, 0, at, numbers::BYTES));
        let names = self.names_at.map(|at| entry(Kind::Names, 0, at, Names::BYTES));
        let entries = for_all.into_iter().chain(numbers).chain(tables).chain(board).chain(names);
        let mut words: Words = [0; WORDS];
        for (place, entry) in words.as_chunks_mut().0.iter_mut().zip(entries) {
            *place = entry;
        }
        words
    }

    /// What the words of a directory say, of a region of `bytes`.
    pub(super) fn of_words(words: &Words, bytes: usize) -> Result<Self, RegionError> {
        let entries = words.as_chunks().0.iter().enumerate().filter(|(_, words)| **words != [0; ENTRY_WORDS]);
        let entries: Vec<_> = entries.map(Entry::of_words).collect();
        let mut places = Vec::new();
        for entry in &entries {
            if entry.kind == 0 {
                return Err(entry.damaged("no kind; expected one, or zeros"));
            }
            places.push((entry, entry.range(bytes)?));
        }
        places.sort_by_key(|(_, range)| range.start);
        for pair in places.windows(2) {
            if let [(first, before), (second, after)] = pair
                && before.end > after.start
            {
                let other = first.number;
                return Err(second.damaged(&format!("in section {other}; expected bytes of its own")));
            }
        }
        let packings = Self::only(&entries, Kind::Packings, 0)?;
        let policy = Self::only(&entries, Kind::Policy, 0)?;
        let numbers = Self::optional(&entries, Kind::Numbers, 0)?;
        let most = if numbers.is_some() { 1 } else { MAX_LAYERS };
        let layers = packings.length / packings::BYTES;
        if !(1..=most).contains(&layers) {
            let reason = format!("{layers} layers; expected 1 to {most}");
            return Err(packings.entry.damaged(&reason));
        }
        if let Some(numbers) = &numbers {
            numbers.is_long(numbers::BYTES)?;
        }
        policy.is_long(policy::BYTES)?;
        let board = Self::optional(&entries, Kind::Board, 0)?;
        if let Some(board) = &board {
            board.is_long(Board::BYTES)?;
        }
        let names = Self::optional(&entries, Kind::Names, 0)?;
        if let Some(names) = &names {
            names.is_long(Names::BYTES)?;
        }
        for entry in &entries {
            let Some(kind) = Kind::of(entry.kind) else { continue };
            let layers = if kind.is_a_layer_s() { layers } else { 1 };
            if entry.layer >= layers as u64 {
                let reason = format!("of layer {}; expected one below {layers}, counted from 0", entry.layer);
                return Err(entry.damaged(&reason));
            }
        }
        let mut tables: Vec<Parts> = Vec::new();
        for layer in 0..layers {
            let table = Self::only(&entries, Kind::Table, layer as u64)?;
            let counters = Self::only(&entries, Kind::Counters, layer as u64)?;
            let buckets = table.length / Kind::Table.unit();
            if let Some(first) = tables.first()
                && first.buckets != buckets
            {
                let reason = format!("{buckets} buckets; expected {}, as in layer 0", first.buckets);
                return Err(table.entry.damaged(&reason));
            }
            let given = Self::optional(&entries, Kind::Given, layer as u64)?;
            if let Some(given) = &given {
                given.is_long(buckets * Kind::Given.unit())?;
            }
            tables.push(Parts {
                buckets_at: table.offset,
                buckets,
                counters_at: counters.offset,
                counter_lines: counters.length / COUNTER_LINE,
                given_at: given.map(|given| given.offset),
            });
        }
        let [board_at, numbers_at, names_at] =
            [board, numbers, names].map(|section| section.map(|section| section.offset));
        let (packings_at, policy_at) = (packings.offset, policy.offset);
        Ok(Self { bytes, packings_at, policy_at, tables, board_at, numbers_at, names_at })
    }

    /// The section of that kind and layer, of which there is one. Its range has been checked.
    fn only(entries: &[Entry], kind: Kind, layer: u64) -> Result<Section<'_>, RegionError> {
        let missing = || {
            let of = if kind.is_a_layer_s() {
                format!(" of layer {layer}, counted from 0")
            } else {
                String::new()
            };
            let section = kind.name().to_owned();
            RegionError::Section { section, reason: format!("not there{of}; expected one") }
        };
        Self::optional(entries, kind, layer)?.ok_or_else(missing)
    }

    /// The section of that kind and layer, of which there is at most one. Its range has been checked.
    fn optional(entries: &[Entry], kind: Kind, layer: u64) -> Result<Option<Section<'_>>, RegionError> {
        let mut alike = entries.iter().filter(|entry| entry.kind == kind as u64 && entry.layer == layer);
        let Some(entry) = alike.next() else { return Ok(None) };
        if let Some(second) = alike.next() {
            let reason = format!("there already, as section {}; expected one", entry.number);
            return Err(second.damaged(&reason));
        }
        let form = kind.form(entries.iter().any(|entry| entry.kind == Kind::Numbers as u64));
        if entry.form != form {
            let held = format!("section {} ({}) of form {}", entry.number, kind.name(), entry.form);
            let asked = format!("form {form}");
            return Err(RegionError::Differs { field: RegionField::Layout, held, asked });
        }
        // As the range has been found to be.
        let [Ok(offset), Ok(length)] = [entry.offset, entry.length].map(usize::try_from) else {
            return Err(RegionError::Corrupt);
        };
        if !length.is_multiple_of(kind.unit()) {
            let reason = format!("{length} bytes; expected a multiple of {}", kind.unit());
            return Err(entry.damaged(&reason));
        }
        Ok(Some(Section { entry, offset, length }))
    }
}

/// A section that is the only one of its kind and layer.
struct Section<'e> {
    entry: &'e Entry,
    offset: usize,
    length: usize,
}

impl Section<'_> {
    /// Refuses a section of another length.
    fn is_long(&self, expected: usize) -> Result<(), RegionError> {
        if self.length == expected {
            return Ok(());
        }
        Err(self.entry.damaged(&format!("{} bytes; expected {expected}", self.length)))
    }
}

#[cfg(test)]
mod tests;
