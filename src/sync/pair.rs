//! Two atomic words that can also be exchanged together.
//!
//! No language's memory model has accesses of two sizes that meet. None is needed: each word is an `AtomicU64`, and an
//! exchange of both is, to the language, an exchange of one and then of the other. The processor makes the two in one
//! step, which is one of the orders that the language allows. So nothing that it does is undefined, whatever the
//! processor; that the step is *one* is the processor's promise, and all that the table's protocol adds to the language:
//!
//! | processor | the exchange | what promises that it is one step, also beside accesses of either half |
//! | --- | --- | --- |
//! | x86-64 | `lock cmpxchg16b` | Intel SDM volume 3, *Locked Atomic Operations*: atomic with respect to all other memory operations |
//! | aarch64 with LSE | `caspal` | Arm ARM, *CASP*: one atomic access of 16 bytes, within which nobody modifies them |
//! | aarch64 | `ldaxp`, `stlxp` | Arm ARM, *STLXP*: a single-copy atomic update of 16 bytes; *Synchronization and semaphores*: only if nobody has written to them since the load |
//! | WebAssembly without threads | two stores | there is nobody else |
//!
//! A load of one half finds it as it was before an exchange or after: an aligned load of 8 bytes is atomic on each.
//!
//! Under the model checkers and under Miri, which see no assembly, a pair is one atomic that names two words.

#[cfg(all(target_arch = "aarch64", target_pointer_width = "64", not(any(miri, ratecell_model))))]
#[path = "pair/aarch64.rs"]
mod exchange;
#[cfg(all(target_family = "wasm", not(target_feature = "atomics"), not(any(miri, ratecell_model))))]
#[path = "pair/alone.rs"]
mod exchange;
#[cfg(not(any(
    all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64"),
    all(target_family = "wasm", not(target_feature = "atomics")),
    miri,
    ratecell_model
)))]
#[path = "pair/absent.rs"]
mod exchange;
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(any(miri, ratecell_model))))]
#[path = "pair/x86_64.rs"]
mod exchange;
#[cfg(any(miri, ratecell_model))]
mod named;
#[cfg(not(any(miri, ratecell_model)))]
mod halves;

#[cfg(not(any(miri, ratecell_model)))]
pub(crate) use halves::Pair;
#[cfg(any(miri, ratecell_model))]
pub(crate) use named::Pair;

/// What the two words of a pair are, or are to be.
pub(crate) type Words = (u64, u64);

// A checker's atomic is as large as it likes.
#[cfg(not(ratecell_model))]
const _: () = assert!(size_of::<Pair>() == 16 && align_of::<Pair>() == 16);

#[cfg(all(test, not(ratecell_model)))]
mod tests;
