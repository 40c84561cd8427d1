//! Counters that outlive the process that counts: words in a file, mapped.

#![expect(unsafe_code, reason = "what a killed process has counted is left in shared memory alone")]

use std::fs::OpenOptions;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Words that processes share.
pub(crate) struct Words(&'static [AtomicU32]);

impl Words {
    /// The words of the file at `path`; zeros, where it is new.
    pub(crate) fn open(path: &Path, len: usize) -> Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.expect("a file for counters");
        let bytes = len * size_of::<AtomicU32>();
        file.set_len(bytes as u64).expect("room for counters");
        let (protection, null) = (ProtFlags::READ | ProtFlags::WRITE, std::ptr::null_mut());
        // SAFETY: a new mapping of a file that is as long; nobody has its words for longer than `self`, which unmaps it.
        Self(unsafe {
            let start = mmap(null, bytes, protection, MapFlags::SHARED, &file, 0).expect("mapped");
            std::slice::from_raw_parts(start.cast(), len)
        })
    }
}

impl Deref for Words {
    type Target = [AtomicU32];

    fn deref(&self) -> &[AtomicU32] {
        self.0
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: what `open` mapped, and nobody has a reference to it any more: each was borrowed from `self`.
        unsafe { munmap(self.0.as_ptr().cast_mut().cast(), size_of_val(self.0)).expect("unmapped") }
    }
}

/// One counter for each process and key, and a gate at which all processes begin at once.
pub(crate) struct Counters {
    words: Words,
    keys: usize,
}

impl Counters {
    pub(crate) fn open(path: &Path, processes: usize, keys: usize) -> Self {
        Self { words: Words::open(path, 1 + processes * keys), keys }
    }

    fn gate(&self) -> &AtomicU32 {
        &self.words[0]
    }

    fn counts(&self) -> &[AtomicU32] {
        &self.words[1..]
    }

    pub(crate) fn open_gate(&self) {
        self.gate().store(1, Ordering::Release);
    }

    pub(crate) fn wait_at_gate(&self) {
        while self.gate().load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
    }

    /// Counts an admission; only `process` itself does.
    pub(crate) fn count(&self, process: usize, key: usize) {
        self.counts()[process * self.keys + key].fetch_add(1, Ordering::Relaxed);
    }

    /// What all processes counted of a key.
    pub(crate) fn of_key(&self, key: usize) -> u64 {
        self.counts()
            .iter()
            .skip(key)
            .step_by(self.keys)
            .map(|count| u64::from(count.load(Ordering::Relaxed)))
            .sum()
    }
}
