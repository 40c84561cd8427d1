//! Counters that outlive the process that counts: words in a file, mapped.

#![expect(unsafe_code, reason = "what a killed process has counted is left in shared memory alone")]

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap};

/// One counter for each process and key, and a gate at which all processes begin at once.
pub(crate) struct Counters {
    gate: &'static AtomicU32,
    counts: &'static [AtomicU32],
    keys: usize,
}

impl Counters {
    pub(crate) fn open(path: &Path, processes: usize, keys: usize) -> Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.expect("a file for counters");
        let len = 1 + processes * keys;
        let bytes = len * size_of::<AtomicU32>();
        file.set_len(bytes as u64).expect("room for counters");
        let (protection, null) = (ProtFlags::READ | ProtFlags::WRITE, std::ptr::null_mut());
        // SAFETY: a new mapping, never unmapped, of a file that is as long.
        let words: &[AtomicU32] = unsafe {
            let start = mmap(null, bytes, protection, MapFlags::SHARED, &file, 0).expect("mapped");
            std::slice::from_raw_parts(start.cast(), len)
        };
        let (gate, counts) = words.split_first().expect("a gate");
        Self { gate, counts, keys }
    }

    pub(crate) fn open_gate(&self) {
        self.gate.store(1, Ordering::Release);
    }

    pub(crate) fn wait_at_gate(&self) {
        while self.gate.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
    }

    /// Counts an admission; only `process` itself does.
    pub(crate) fn count(&self, process: usize, key: usize) {
        self.counts[process * self.keys + key].fetch_add(1, Ordering::Relaxed);
    }

    /// What all processes counted of a key.
    pub(crate) fn of_key(&self, key: usize) -> u64 {
        self.counts
            .iter()
            .skip(key)
            .step_by(self.keys)
            .map(|count| u64::from(count.load(Ordering::Relaxed)))
            .sum()
    }
}
