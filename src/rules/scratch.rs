//! The memory of evaluations, one for each thread.

use std::cell::Cell;

use ratecell_rules::Scratch;

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// What a thread keeps between requests is at most about so many bytes for each part that grows with a request.
pub(super) const KEPT_BYTES: usize = 64 << 10;

/// Runs `evaluate` with this thread's memory of evaluations.
///
/// The memory is taken while it is used. Attributes that decide another request when they are asked, and a thread that is
/// ending, get memory of their own.
pub(super) fn with<R>(evaluate: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = KEPT.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = evaluate(&mut scratch);
    scratch.shrink_to(KEPT_BYTES);
    // A thread that is ending needs it no more.
    let _ = KEPT.try_with(|kept| kept.set(Some(scratch)));
    result
}
