//! The requests of a log, kept by client in temporary files.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};

use crate::error::StudyError;
use crate::wish::Wish;

/// Files among which the clients are divided: a replay has the words of one of them for each thread.
pub const PARTITIONS: u32 = 64;

/// Bytes that wait for each file.
const BUFFER_LEN: usize = 8 << 10;

/// Requests that are read at once.
const CHUNK_LEN: usize = 1 << 15;

/// Windows in which requests may still follow, as times step back a little between files of different stamps.
const OPEN_WINDOWS: usize = 4096;

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Since the epoch of the recording.
    pub(crate) now_ns: u64,
    /// Its client's place in the partition.
    pub(crate) place: u32,
    pub(crate) cost: u32,
}

impl Entry {
    const LEN: usize = 16;

    fn to_bytes(self) -> [u8; Self::LEN] {
        let number = u128::from(self.now_ns) << 64 | u128::from(self.place) << 32 | u128::from(self.cost);
        number.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let number = u128::from_le_bytes(bytes);
        Self { now_ns: (number >> 64) as u64, place: (number >> 32) as u32, cost: number as u32 }
    }
}

/// Keeps the requests of a log.
#[derive(Debug)]
pub struct Recorder {
    partitions: Vec<BufWriter<File>>,
    clients: u64,
    first_ns: u64,
    last_ns: u64,
    crowds: Crowds,
    failed: Option<io::Error>,
}

/// What a [`Recorder`] has kept.
#[derive(Debug)]
pub struct Recording {
    /// Locked while they are read, as a file has one position.
    partitions: Vec<Mutex<File>>,
    pub(crate) clients: u32,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
    /// The windows in which all clients together asked for more than a wish protects, in order.
    pub(crate) crowded: Vec<u64>,
}

impl Recorder {
    /// A recorder of the requests that `wish` will be for.
    ///
    /// # Errors
    /// A temporary file cannot be made.
    pub fn new(wish: Wish) -> Result<Self, StudyError> {
        let file = |_| Ok(BufWriter::with_capacity(BUFFER_LEN, tempfile::tempfile()?));
        Ok(Self {
            partitions: (0..PARTITIONS).map(file).collect::<io::Result<_>>()?,
            clients: 0,
            first_ns: u64::MAX,
            last_ns: 0,
            crowds: Crowds::new(wish),
            failed: None,
        })
    }

    /// The next request in the order of time, of the client with this number. Clients are numbered from 0 without gaps.
    /// `now_ns` counts from an epoch that the caller chooses. What goes wrong is returned by [`finish`](Self::finish).
    pub fn push(&mut self, now_ns: u64, client: usize, cost: u32) {
        self.clients = self.clients.max(client as u64 + 1);
        self.first_ns = self.first_ns.min(now_ns);
        self.last_ns = self.last_ns.max(now_ns);
        self.crowds.push(now_ns, cost);
        let (partition, place) = address(client as u32);
        let entry = Entry { now_ns, place, cost };
        if let Err(error) = self.partitions[partition].write_all(&entry.to_bytes()) {
            self.failed.get_or_insert(error);
        }
    }

    /// What was kept.
    ///
    /// # Errors
    /// A temporary file could not be written, or there are more than 2^32 clients.
    pub fn finish(self) -> Result<Recording, StudyError> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let file = |writer: BufWriter<File>| writer.into_inner().map_err(|error| error.into_error());
        let partitions = self.partitions.into_iter().map(|writer| file(writer).map(Mutex::new));
        Ok(Recording {
            partitions: partitions.collect::<io::Result<_>>()?,
            clients: u32::try_from(self.clients).map_err(|_| StudyError::Clients)?,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            crowded: self.crowds.finish(),
        })
    }
}

/// The partition of a client, and its place there.
pub(crate) fn address(client: u32) -> (usize, u32) {
    ((client % PARTITIONS) as usize, client / PARTITIONS)
}

/// The number of the client in a place of a partition.
pub(crate) fn client(partition: usize, place: usize) -> usize {
    place * PARTITIONS as usize + partition
}

impl Recording {
    /// Hands out all requests, each with the number of its client, when it was, and its cost. Those of one client are in
    /// the order of time; those of others may come before or after them.
    ///
    /// # Errors
    /// A temporary file cannot be read.
    pub fn for_each(&self, mut take: impl FnMut(usize, u64, u32)) -> Result<(), StudyError> {
        for partition in 0..self.partitions.len() {
            self.read(partition, |entries| {
                for Entry { now_ns, place, cost } in entries.iter() {
                    take(client(partition, *place as usize), *now_ns, *cost);
                }
                true
            })?;
        }
        Ok(())
    }

    /// How many clients a partition has.
    pub(crate) fn clients_in(&self, partition: usize) -> usize {
        (self.clients as usize).saturating_sub(partition).div_ceil(PARTITIONS as usize)
    }

    /// Hands out the requests of a partition in the order of time, a chunk at a time, until `take` returns false.
    pub(crate) fn read(
        &self,
        partition: usize,
        mut take: impl FnMut(&mut Vec<Entry>) -> bool,
    ) -> io::Result<()> {
        let mut file = self.partitions[partition].lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::with_capacity(CHUNK_LEN * Entry::LEN);
        let mut entries = Vec::with_capacity(CHUNK_LEN);
        loop {
            bytes.clear();
            (&mut *file).take((CHUNK_LEN * Entry::LEN) as u64).read_to_end(&mut bytes)?;
            let (whole, rest) = bytes.as_chunks();
            if !rest.is_empty() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            entries.clear();
            entries.extend(whole.iter().copied().map(Entry::from_bytes));
            if entries.is_empty() || !take(&mut entries) {
                return Ok(());
            }
        }
    }
}

/// Finds the windows in which all clients together ask for more than a wish protects.
#[derive(Debug)]
struct Crowds {
    /// The most units, and the window in nanoseconds.
    protected: Option<(u64, u64)>,
    open: BTreeMap<u64, u64>,
    crowded: Vec<u64>,
}

impl Crowds {
    fn new(wish: Wish) -> Self {
        let protected = match wish {
            Wish::Protect { units, period_ns } => Some((units, period_ns)),
            Wish::DenyNobody | Wish::DenyAtMost { .. } => None,
        };
        Self { protected, open: BTreeMap::new(), crowded: Vec::new() }
    }

    fn push(&mut self, now_ns: u64, cost: u32) {
        let Some((most, period_ns)) = self.protected else { return };
        *self.open.entry(now_ns / period_ns).or_default() += u64::from(cost);
        if self.open.len() > OPEN_WINDOWS {
            self.crowded.extend(self.open.pop_first().and_then(|window| crowded(window, most)));
        }
    }

    fn finish(self) -> Vec<u64> {
        let Some((most, _)) = self.protected else { return Vec::new() };
        let mut all = self.crowded;
        all.extend(self.open.into_iter().filter_map(|window| crowded(window, most)));
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn crowded((window, units): (u64, u64), most: u64) -> Option<u64> {
    (units > most).then_some(window)
}
