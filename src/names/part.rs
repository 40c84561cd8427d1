//! Which part a thread writes.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The threads of this process that have denied something.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The part of this thread: those of a process have different ones, and so have processes that were started one after
/// another, as long as there are enough.
pub(super) fn own() -> usize {
    OWN.with(|own| match own.get() {
        Some(part) => part,
        None => {
            let part = first();
            own.set(Some(part));
            part
        }
    })
}

#[cold]
fn first() -> usize {
    // Relaxed: a number of its own is all that each needs.
    let thread = THREADS.fetch_add(1, Ordering::Relaxed);
    (std::process::id() as usize).wrapping_add(thread)
}
