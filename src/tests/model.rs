//! What `sync` and `memory` are under a model checker: loom (all interleavings and weak
//! memory, within a bound of preemptions) or shuttle (random and PCT schedules).

use core::cell::Cell;
use core::panic::AssertUnwindSafe;
use core::time::Duration;
use std::sync::Arc;

#[cfg(ratecell_loom)]
pub(crate) use loom as checker;
#[cfg(ratecell_shuttle)]
pub(crate) use shuttle as checker;

pub(crate) use checker::sync::atomic::fence;
pub(crate) use core::sync::atomic::Ordering;

#[path = "../memory/error.rs"]
mod error;

pub use error::MemoryError;

use crate::table::group::{BITS, portable};
use crate::table::layout::Bucket;
use crate::table::tag::Tag;

/// The checker's atomic, behind the thread's [fuse](until_dead).
#[derive(Debug)]
pub(crate) struct AtomicU64(checker::sync::atomic::AtomicU64);

impl Default for AtomicU64 {
    fn default() -> Self {
        Self(checker::sync::atomic::AtomicU64::new(0))
    }
}

impl AtomicU64 {
    pub(crate) fn load(&self, ordering: Ordering) -> u64 {
        self.0.load(ordering)
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        burn();
        self.0.compare_exchange(current, new, success, failure)
    }

    pub(crate) fn fetch_max(&self, value: u64, ordering: Ordering) -> u64 {
        burn();
        self.0.fetch_max(value, ordering)
    }

    pub(crate) fn fetch_add(&self, value: u64, ordering: Ordering) -> u64 {
        burn();
        self.0.fetch_add(value, ordering)
    }

    /// No word of a table is written so: a mutation replaces a compare-and-swap by it.
    pub(crate) fn store(&self, value: u64, ordering: Ordering) {
        burn();
        self.0.store(value, ordering);
    }
}

/// The same of 32 bits, and what a futex is: a queue of those who sleep at it.
#[derive(Debug)]
pub(crate) struct AtomicU32 {
    word: checker::sync::atomic::AtomicU32,
    queue: checker::sync::Mutex<()>,
    woken: checker::sync::Condvar,
}

impl Default for AtomicU32 {
    fn default() -> Self {
        let word = checker::sync::atomic::AtomicU32::new(0);
        Self { word, queue: checker::sync::Mutex::new(()), woken: checker::sync::Condvar::new() }
    }
}

impl AtomicU32 {
    pub(crate) fn load(&self, ordering: Ordering) -> u32 {
        self.word.load(ordering)
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        burn();
        self.word.compare_exchange(current, new, success, failure)
    }

    pub(crate) fn swap(&self, value: u32, ordering: Ordering) -> u32 {
        burn();
        self.word.swap(value, ordering)
    }

    pub(crate) fn store(&self, value: u32, ordering: Ordering) {
        burn();
        self.word.store(value, ordering);
    }
}

/// Sleeps at a word that is as expected until somebody wakes: without a timeout, so that a checker finds who sleeps for
/// ever. The system compares the word under the lock of its queue.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _: Duration) -> bool {
    let queue = word.queue.lock().expect("no panic");
    // Relaxed: what was changed before the lock was held is seen under it.
    if word.word.load(Ordering::Relaxed) == expected {
        drop(word.woken.wait(queue).expect("no panic"));
    }
    true
}

pub(crate) fn wake_one(word: &AtomicU32) {
    burn();
    let _queue = word.queue.lock().expect("no panic");
    word.woken.notify_one();
}

pub(crate) fn wake_all(word: &AtomicU32) {
    burn();
    let _queue = word.queue.lock().expect("no panic");
    word.woken.notify_all();
}

/// The table's memory: the checkers' atomics are no plain words, so each array is an ordinary one.
#[derive(Clone, Copy, Debug)]
pub struct Memory;

impl Memory {
    #[expect(clippy::unnecessary_wraps, reason = "the signature of the mapped memory")]
    pub(crate) fn private(_: usize) -> Result<Self, MemoryError> {
        Ok(Self)
    }

    pub(crate) fn sparse(len: usize) -> Result<Self, MemoryError> {
        Self::private(len)
    }

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the signature of the mapped memory")]
    pub(crate) fn array<T: Default>(&self, _: usize, len: usize) -> Option<Array<T>> {
        Some(Array((0..len).map(|_| T::default()).collect()))
    }
}

#[derive(Debug)]
pub(crate) struct Array<T>(Arc<[T]>);

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Array<T> {
    /// # Safety
    /// None: it is the mapped memory's that has a condition.
    #[expect(unsafe_code, reason = "the signature of the mapped memory")]
    pub(crate) unsafe fn get_unchecked(&self, number: usize) -> &T {
        &self.0[number]
    }

    pub(crate) fn around(&self, number: usize) -> &T {
        &self.0[number % self.0.len()]
    }

    pub(crate) fn first(&self) -> &T {
        &self.0[0]
    }

    pub(crate) fn all(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn prefetch(&self, _: usize) {}
}

pub(crate) fn alike<const SLOTS: usize>(
    home: &Bucket<SLOTS>,
    alternate: &Bucket<SLOTS>,
    identity: Tag,
) -> u32 {
    // Whatever may be of a key is looked at afterwards, with its ordering, and may be missed then as it may be here:
    // a look before that would only double what there is to explore.
    let alike = |bucket: &Bucket<SLOTS>| {
        if identity == Tag::EMPTY { portable::alike(bucket, identity) } else { ((1 << SLOTS) - 1) << 1 }
    };
    // Nor is a table of one bucket looked through twice.
    alike(home) | if core::ptr::eq(home, alternate) { 0 } else { alike(alternate) << BITS }
}

checker::thread_local! {
    /// Changes of memory that this thread has left to try; `None` is for ever.
    static FUSE: Cell<Option<usize>> = Cell::new(None);
}

fn burn() {
    FUSE.with(|fuse| match fuse.get() {
        None => {}
        Some(0) => std::panic::resume_unwind(Box::new(Dead)),
        Some(left) => fuse.set(Some(left - 1)),
    });
}

struct Dead;

/// Runs `work` until it is done or has tried to change memory `steps` times, and then never goes on: what a killed process
/// leaves. After a load it leaves what it does before its next change.
pub(crate) fn until_dead<T>(steps: usize, work: impl FnOnce() -> T) -> Option<T> {
    FUSE.with(|fuse| fuse.set(Some(steps)));
    let result = std::panic::catch_unwind(AssertUnwindSafe(work));
    FUSE.with(|fuse| fuse.set(None));
    match result {
        Ok(value) => Some(value),
        Err(panic) if panic.is::<Dead>() => None,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// How far loom explores a model.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(ratecell_shuttle, expect(dead_code, reason = "shuttle's schedules have no bound of preemptions"))]
pub(crate) enum Bound {
    /// Every interleaving.
    Exhaustive,
    /// Every interleaving with at most that many preemptions.
    Preemptions(usize),
    /// Not within minutes: random schedules only, unless the long bounds are asked for.
    RandomOnly,
}

fn setting(name: &str) -> Option<usize> {
    std::env::var(name)
        .ok()
        .map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number: {value}")))
}

/// Runs `body` under the checker, again and again, and prints how far it went.
///
/// `RATECELL_EXTRA_PREEMPTIONS` raises the bounds (and gives the random-only models one of that many);
/// `RATECELL_SCHEDULES` sets how many random schedules of each kind.
pub(crate) fn explore(name: &str, bound: Bound, body: impl Fn() + Send + Sync + 'static) {
    let started = std::time::Instant::now();
    let runs = std::sync::Arc::new(core::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&runs);
    let body = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        body();
    };
    let Some(extent) = run(bound, body) else { return println!("{name}: random schedules only") };
    let runs = runs.load(Ordering::Relaxed);
    println!("{name}: {runs} executions, {extent}, {:.1} s", started.elapsed().as_secs_f64());
}

#[cfg(ratecell_loom)]
fn run(bound: Bound, body: impl Fn() + Send + Sync + 'static) -> Option<String> {
    let extra = setting("RATECELL_EXTRA_PREEMPTIONS");
    let preemptions = match bound {
        Bound::Exhaustive => None,
        Bound::Preemptions(most) => Some(most + extra.unwrap_or(0)),
        Bound::RandomOnly => Some(extra?),
    };
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 100_000;
    builder.check(body);
    Some(preemptions.map_or("exhaustive".to_owned(), |most| format!("at most {most} preemptions")))
}

#[cfg(ratecell_shuttle)]
fn run(_: Bound, body: impl Fn() + Send + Sync + 'static) -> Option<String> {
    const DEFAULT_SCHEDULES: usize = 2_000;
    const PCT_DEPTH: usize = 4;
    let schedules = setting("RATECELL_SCHEDULES").unwrap_or(DEFAULT_SCHEDULES);
    let body = std::sync::Arc::new(body);
    let again = std::sync::Arc::clone(&body);
    // First what finds a deep race in fewer schedules. Both take the seed in SHUTTLE_RANDOM_SEED.
    shuttle::check_pct(move || body(), schedules, PCT_DEPTH);
    shuttle::check_random(move || again(), schedules);
    Some(format!("PCT of depth {PCT_DEPTH} and random"))
}
