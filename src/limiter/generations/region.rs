//! The generations of a region's policy, which its section records.

use super::{KEPT, latest};
use crate::clock::Clock;
use crate::error::{BuildError, RegionError};
use crate::limiter::regions::{packings, parsed};
use crate::region::{ChangeLock, Header, Record, Records};
use crate::table::era::{InForce, Lineage};
use ratecell_core::Generation;
use ratecell_core::algorithm::{LayoutChoice, WordLayout};

/// How often records are read that are overwritten at the same time.
pub(in crate::limiter) const ATTEMPTS: usize = 100;

/// Those of a region.
#[derive(Clone, Debug)]
pub(in crate::limiter) struct OfRegion {
    records: Records,
    clock: Clock,
    /// What the region's first words mean.
    first_words: Vec<WordLayout>,
    /// Whether its words are leases.
    is_leased: bool,
    /// Whether the memory is only read.
    is_reader: bool,
}

impl OfRegion {
    pub(in crate::limiter) fn new(header: &Header) -> Self {
        Self {
            records: header.records.clone(),
            clock: header.clock.clone(),
            first_words: header.packings.clone(),
            is_leased: header.board.is_some(),
            is_reader: false,
        }
    }

    /// Those of a region that is only looked at.
    pub(in crate::limiter) fn to_read(header: &Header) -> Self {
        Self { is_reader: true, ..Self::new(header) }
    }

    pub(in crate::limiter) fn in_file(self, path: &std::path::Path) -> Self {
        // The process may go to another folder.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self { records: self.records.of_file(&path), ..self }
    }

    pub(in crate::limiter) fn in_force(&self) -> &InForce {
        self.records.in_force()
    }

    pub(in crate::limiter) fn lock(&self) -> Result<Option<ChangeLock>, BuildError> {
        if self.is_leased {
            // Its agent alone changes it, and holds the file's lock as long as it lives.
            return Ok(None);
        }
        self.records.lock()
    }

    pub(in crate::limiter) fn lineage(&self) -> Result<Lineage, BuildError> {
        for _ in 0..ATTEMPTS {
            let number = self.records.number();
            let oldest = number.saturating_sub(KEPT as u64 - 1);
            // The oldest may be overwritten by the next change: then no word is of it any more.
            let first = if number == oldest { None } else { self.generation(oldest)? };
            let others = if number == oldest { oldest..=number } else { oldest + 1..=number };
            let others = others.map(|number| self.generation(number));
            if let Some(others) = others.collect::<Result<Option<Vec<_>>, _>>()? {
                return Ok(first.into_iter().chain(others).collect());
            }
        }
        Err(RegionError::Corrupt.into())
    }

    /// `None` if its record has been overwritten.
    fn generation(&self, number: u64) -> Result<Option<Generation>, BuildError> {
        let Some(Record { text, mut reach, .. }) = self.records.read(number)? else { return Ok(None) };
        let Some(at) = self.instant(number) else { return Ok(None) };
        let policy = parsed(&text)?.at_epoch(self.clock.epoch_s())?.repacked(|_| LayoutChoice::WIDE)?;
        reach.truncate(policy.layers().len());
        // Read after the instant was known: a limiter that was made under this generation has been noted by then.
        let raised = self.records.raised().map(|capacity| u32::try_from(capacity).unwrap_or(u32::MAX));
        let generation = Generation::recorded(&policy, number, reach, at)?.raised(raised);
        if number == 0 && packings(generation.policy(), self.is_leased)? != self.first_words {
            return Err(RegionError::Corrupt.into());
        }
        Ok(Some(if self.is_leased { generation.leased() } else { generation }))
    }

    /// From when on the generation of that number is in force. If the changer died before it wrote that, the first caller
    /// that needs it writes it. `None` if its record has been overwritten.
    pub(in crate::limiter) fn instant(&self, number: u64) -> Option<u64> {
        if let Some(at) = self.records.instant(number) {
            return Some(at);
        }
        let before = self.records.instant(number.checked_sub(1)?)?;
        let at = latest(&self.clock).max(before);
        if self.is_reader {
            return Some(at);
        }
        self.records.set_instant(number, at);
        self.records.instant(number)
    }

    /// Puts `next` in force. An error if another process has changed the policy since: processes that share memory without a
    /// file have no lock for that.
    pub(super) fn put_in_force(&self, next: &Generation, now_ns: Option<u64>) -> Result<(), BuildError> {
        let (number, reach) = (next.number(), next.reach().to_vec());
        let record = Record { number, text: next.policy().to_string(), reach };
        self.put_record_in_force(&record, now_ns.map(|now_ns| now_ns.max(next.at_ns())))
    }

    /// Puts the generation of that record in force, from that instant on. An error if another process has changed the policy
    /// since.
    pub(in crate::limiter) fn put_record_in_force(
        &self,
        record: &Record,
        at_ns: Option<u64>,
    ) -> Result<(), BuildError> {
        let number = record.number;
        self.records.write(record)?;
        if let Some(at_ns) = at_ns {
            // By a clock of the callers', which this process cannot read.
            self.records.set_instant(number, at_ns);
        }
        if !self.in_force().advance(number.wrapping_sub(1)) {
            return Err(RegionError::Corrupt.into());
        }
        let _ = self.instant(number);
        Ok(())
    }

    pub(in crate::limiter) fn raise(&self, capacities: impl Iterator<Item = u64>) {
        self.records.raise(capacities);
    }

    #[cfg(feature = "rules")]
    pub(in crate::limiter) fn records(&self) -> &Records {
        &self.records
    }

    pub(in crate::limiter) fn swept(&self) -> u64 {
        self.records.swept()
    }

    pub(in crate::limiter) fn set_swept(&self, number: u64) {
        self.records.set_swept(number);
    }
}
