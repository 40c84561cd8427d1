//! A region in a file: found or made, by whichever process comes first.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags, fallocate, flock};
use rustix::io::Errno;

use super::access::{READ, USE, refusal};
use super::header::{Head, Header, SECRET, WORDS, Words};
use super::{Medium, Terms, attach, init_zeroed, load, size};
use crate::error::{BuildError, RegionError, RegionField};
use crate::memory::Memory;

/// How long to wait for a process that makes the file: one that has stopped must not stop the others.
const LOCK_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

/// Attaches to the region in the file at `path`, and makes it if the file is absent or holds nothing. Without terms
/// none is made.
///
/// A region that is whole is attached to without a lock, which an agent keeps. It is locked to be made, and to have its clock
/// go on after the machine has started anew; a process killed at either leaves a file of zeros, or a region with
/// the clock it had.
pub(crate) fn open(path: &Path, terms: Option<Terms>) -> Result<(Memory, Header), BuildError> {
    let Some(terms) = terms else {
        let file = regular(to_write().open(path)).map_err(|error| refusal(path, &error, USE))?;
        return find(&file).or_else(|_| {
            let Some(_locked) = Locked::new(&file)? else { return find(&file) };
            find_or_carry_over(&file)
        });
    };
    // Before there is a file: of terms that no file can be made on, none is left.
    let len = size(&terms)?;
    let file = regular(found_or_made(path)).map_err(|error| refusal(path, &error, USE))?;
    if let Ok(found) = find(&file) {
        return Ok(found);
    }
    let Some(_locked) = Locked::new(&file)? else { return find(&file) };
    if is_blank(&file).map_err(|error| RegionError::io("be read", &error))? {
        let reserved = reserve(&file, len);
        reserved.map_err(|error| RegionError::io(&format!("be made {len} bytes long"), &error))?;
        let memory = Memory::of_file(&file, len)?;
        let header = init_zeroed(&memory, terms)?;
        return Ok((memory, header));
    }
    find_or_carry_over(&file)
}

/// What the file at `path` holds, in memory that can only be read. The process needs no right to write the file, and
/// nothing is written. Where the region's clock is not of this boot, or of another time namespace, it goes on by the wall
/// clock, as for the process that opens it next.
pub(crate) fn read(path: &Path) -> Result<(Memory, Header), BuildError> {
    // A pipe without a writer would be waited for.
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let opened = regular(OpenOptions::new().read(true).custom_flags(at_once).open(path));
    let file = opened.map_err(|error| refusal(path, &error, READ))?;
    let (memory, header, words) = look(&file)?;
    let clock = header.clock_of(&words, Medium::File).unwrap_or_else(|_| header.clock.clone());
    Ok((memory, Header { clock, ..header }))
}

/// How a file is opened that is to be used.
fn to_write() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options
}

/// How often a file that others make and remove at the same time is looked for.
const ATTEMPTS: usize = 100;

/// Opens the file at `path`, or makes it. O_CREAT is asked for only where nothing is there: on a file of another user
/// in a sticky directory the kernel refuses it, whatever the file's mode (fs.protected_regular).
fn found_or_made(path: &Path) -> io::Result<File> {
    let mut options = to_write();
    options.mode(0o600);
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for _ in 0..ATTEMPTS {
        match options.clone().open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        // Where a link leads to nothing, O_EXCL would find the link, each time.
        let link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        match options.clone().create(link).create_new(!link).open(path) {
            // Another has made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            made => return made,
        }
    }
    Err(last)
}

/// What is opened, if it is a file: a device may have no end, and a pipe no beginning.
fn regular(opened: io::Result<File>) -> io::Result<File> {
    let file = opened?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// The region in a file, if it is a whole one of this boot.
fn find(file: &File) -> Result<(Memory, Header), BuildError> {
    let memory = Memory::of_file(file, bytes(file)?)?;
    let header = attach(&memory, Medium::File)?;
    Ok((memory, header))
}

/// The region in a file that is locked; its clock goes on here, if it is of another boot.
fn find_or_carry_over(file: &File) -> Result<(Memory, Header), BuildError> {
    match find(file) {
        Err(BuildError::Region(RegionError::Differs { field: RegionField::Boot, .. })) => {
            let memory = Memory::of_file(file, bytes(file)?)?;
            let (header, _) = Header::read(&memory)?;
            // What is left of a lease may have been used since the file was last written to its disk.
            header.drop_leases(&memory);
            header.carry_over(&memory)?;
            Ok((memory, header))
        }
        found => found,
    }
}

/// The region in a file, in memory that can only be read.
fn look(file: &File) -> Result<(Memory, Header, Words), BuildError> {
    let memory = Memory::of_file_to_read(file, bytes(file)?)?;
    let (header, words) = Header::read(&memory)?;
    Ok((memory, header, words))
}

/// The bytes of the region in a file, if all of them are there. Found before anything of the file is mapped: a file that
/// is no region is not touched, and of one that was cut nothing is missing from a mapping.
fn bytes(file: &File) -> Result<usize, RegionError> {
    let Head { bytes, .. } = Head::of_words(&words(file))?;
    let len = file.metadata().map_or(0, |metadata| usize::try_from(metadata.len()).unwrap_or(usize::MAX));
    if bytes > len { Err(RegionError::TooSmall { needed: bytes, len }) } else { Ok(bytes) }
}

/// The words at the start of a file; zeros where it has none.
fn words(file: &File) -> Words {
    let mut start = [0; WORDS * size_of::<u64>()];
    let mut read = 0;
    while let Some(rest) = start.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, read as u64) {
            Ok(0) | Err(_) => break,
            Ok(more) => read += more,
        }
    }
    let mut words: Words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(start.as_chunks().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}

/// Whether a region is one of another version, for ever.
fn is_of_another_layout(error: &BuildError) -> bool {
    matches!(error, BuildError::Region(RegionError::Differs { field: RegionField::Layout, .. }))
}

/// The lock of a file, while this lives. It is given back by name: a mapping keeps what was opened open, and so
/// locked, for as long as the limiter lives.
struct Locked<'f>(&'f File);

impl<'f> Locked<'f> {
    /// `None`: a region can be attached to now, and the lock is another's: an agent keeps it.
    fn new(file: &'f File) -> Result<Option<Self>, BuildError> {
        let started = Instant::now();
        loop {
            let refused = match flock(file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Self(file))),
                Err(error) => error,
            };
            if refused != Errno::WOULDBLOCK {
                return Err(RegionError::io("be locked", &refused.into()).into());
            }
            // What holds the lock makes the region, or has its clock go on; an agent, which keeps it, mends nothing.
            match find(file) {
                Ok(_) => return Ok(None),
                Err(error) if is_of_another_layout(&error) => return Err(error),
                Err(_) if started.elapsed() < LOCK_PATIENCE => sleep(Duration::from_millis(1)),
                Err(BuildError::Region(RegionError::NotARegion)) => return Err(kept(file, refused).into()),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // It is held, so nothing is left to refuse.
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

/// The right to change the policy of the region in a file, while this lives: the lock of the file, which the system gives
/// back if the process is killed.
#[derive(Debug)]
pub(crate) struct ChangeLock(File);

impl ChangeLock {
    /// Waits for those who change it: a change takes as long as a look at the whole region.
    pub(crate) fn new(path: &Path, memory: &Memory) -> Result<Self, BuildError> {
        let of_file = |error: RegionError| BuildError::File { path: path.to_owned(), error };
        // Opened for this alone: a lock is shared by all who have the same opening, so by a process that was forked off.
        let file = regular(to_write().open(path)).map_err(|error| of_file(refusal(path, &error, USE)))?;
        if !is_of(&file, memory) {
            let reason = "another file by now; expected the one that the limiter has opened".to_owned();
            return Err(of_file(RegionError::Section { section: "header".to_owned(), reason }));
        }
        let started = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(Errno::WOULDBLOCK | Errno::INTR) if started.elapsed() < LOCK_PATIENCE => {
                    sleep(Duration::from_millis(1));
                }
                Err(error @ Errno::WOULDBLOCK) => return Err(of_file(kept(&file, error))),
                Err(error) => return Err(of_file(RegionError::io("be locked", &error.into()))),
            }
        }
    }
}

/// The error of a file that another opening of it has kept locked.
fn kept(file: &File, refused: Errno) -> RegionError {
    let (held, patience) = (holder(file), LOCK_PATIENCE.as_secs());
    let holder = held.map_or_else(|| "another process".to_owned(), |process| format!("process {process}"));
    RegionError::io("be locked", &refused.into()).because(&format!(
        "{holder} has kept it locked for {patience} s; expected that it is done with making or changing the limits there, \
         which takes seconds at most: try again, or end it, by which no limit is lost"
    ))
}

/// The process that has locked a file, as far as the system says it: not on every file system, and not across containers.
fn holder(file: &File) -> Option<u32> {
    let file = file.metadata().ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let name = format!("{major:02x}:{minor:02x}:{}", file.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // Such as `1: FLOCK  ADVISORY  WRITE 708 08:01:263 0 EOF`.
    let fields = locks.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let mut held = fields.filter(|fields| fields.get(1) == Some(&"FLOCK") && fields.get(5) == Some(&&*name));
    held.find_map(|fields| fields.get(4)?.parse().ok().filter(|process| *process > 0))
}

impl Drop for ChangeLock {
    fn drop(&mut self) {
        // By name, for a process that was forked off meanwhile. It is held, so nothing is left to refuse.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Whether the region in the file is the one in the memory, by its secret.
fn is_of(file: &File, memory: &Memory) -> bool {
    let secret = |words: &Words| [words[SECRET], words[SECRET + 1]];
    load(memory, 0).is_some_and(|held: Words| secret(&held) == secret(&words(file)))
}

/// The right to be the agent of the machine that a file is of, while this lives: the lock of the file, which the system
/// gives back if the process is killed.
#[cfg(feature = "store")]
#[derive(Debug)]
pub(crate) struct AgentLock(File);

#[cfg(feature = "store")]
impl AgentLock {
    /// How long to wait for the region's maker, or for an agent that is about to end.
    const PATIENCE: Duration = Duration::from_secs(1);

    pub(crate) fn new(path: &Path) -> Result<Self, BuildError> {
        let file = regular(to_write().open(path)).map_err(|error| refusal(path, &error, USE))?;
        let started = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self(file)),
                Err(Errno::WOULDBLOCK) if started.elapsed() < Self::PATIENCE => {
                    sleep(Duration::from_millis(1));
                }
                Err(Errno::WOULDBLOCK) => {
                    let reason = format!(
                        "{}: another agent serves the file: expected no more than one for each file",
                        path.display()
                    );
                    return Err(BuildError::Shared { reason });
                }
                Err(error) => return Err(RegionError::io("be locked", &error.into()).into()),
            }
        }
    }
}

#[cfg(feature = "store")]
impl Drop for AgentLock {
    fn drop(&mut self) {
        // By name: a process that was forked off has the file open, too. It is held, so nothing is left to refuse.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Whether a file holds nothing: no byte, or zeros, as one killed before it wrote a header leaves them.
fn is_blank(mut file: &File) -> io::Result<bool> {
    let mut chunk = [0; 1 << 16];
    file.rewind()?;
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(true),
            read if chunk.iter().take(read).any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}

/// Makes the file so many zeros, for which the file system has set the room aside: were it missing later, a store would
/// kill the process. Where there is no room, it is left empty.
fn reserve(mut file: &File, len: usize) -> io::Result<()> {
    file.set_len(0)?;
    let reserved = match fallocate(file, FallocateFlags::empty(), 0, len as u64) {
        // The file system cannot, or gives up at each signal: by writing them.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INTR) => {
            file.rewind()?;
            io::copy(&mut io::repeat(0).take(len as u64), &mut file).map(|_| ())
        }
        reserved => Ok(reserved?),
    };
    reserved.or_else(|error| file.set_len(0).and(Err(error)))
}

#[cfg(all(test, feature = "store"))]
mod tests;
