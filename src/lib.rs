#![doc = include_str!("../README.md")]
//!
//! # The path of a check
//!
//! ```text
//! key ─ keyed hash ─► two candidate buckets ─► slot {tag, word}
//!                                                │ load
//!            now, cost ────────────► Algorithm::step(word, now, cost)   pure, total, integers only
//!                                                │ (word', decision)
//!                        denied or peek: no store │ allowed: one compare-and-swap
//!                                                ▼
//!                                            Decision
//! ```
//!
//! The modules below stand in dependency order: each imports only from those above it.
#![cfg_attr(
    ratecell_model,
    expect(dead_code, reason = "the models' memory is of one process: they have no regions")
)]

mod sync;
mod clock;
#[cfg(not(ratecell_model))]
#[expect(unsafe_code, reason = "memory is mapped, zeroed and shared")]
mod memory;
#[cfg(ratecell_model)]
use tests::model as memory;
mod error;
mod cell;
mod table;
#[cfg_attr(not(any(feature = "store", test)), expect(dead_code, reason = "an agent's part of it"))]
mod board;
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "regions, which hold them, are Linux's"))]
mod names;
#[cfg(not(ratecell_model))]
#[cfg_attr(not(target_os = "linux"), path = "region/elsewhere.rs")]
mod region;
mod limiter;
#[cfg(not(ratecell_model))]
pub mod metrics;
#[cfg(all(feature = "rules", not(ratecell_model)))]
pub mod rules;
#[cfg(feature = "capi")]
#[expect(unsafe_code, reason = "C hands over pointers")]
pub mod ffi;
#[cfg(doctest)]
mod docs;

#[cfg(feature = "mock-clock")]
pub use clock::MockClock;
pub use error::{BuildError, RegionError, RegionField};
#[cfg(not(ratecell_model))]
pub use limiter::{Admitted, DeniedKey, KeyOrder, KeyUse, Look, Region, Watch};
pub use limiter::{Claim, DirectLimiter, Limiter, LimiterBuilder, OnFailure, OnMiss, Shared};
pub use limiter::{Hold, HoldError, Reservation, ReservationError, ReserveError, Unsettled};
pub use memory::{Memory, MemoryError};
pub use names::KeyName;
/// Limits clients by their address: the key of a request's client, the same text in every language and program.
///
/// ```
/// use ratecell::client_key::{ClientField, Clients, FieldKind, Width};
/// use ratecell::{Limiter, Policy};
///
/// let policy: Policy = "2/1h".parse()?;
/// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
/// // One's own proxies are in 10.0.0.0/8, and each adds its peer to X-Forwarded-For.
/// let trust = ClientField::new("X-Forwarded-For", FieldKind::List)?.networks(["10.0.0.0/8"])?;
/// let clients = Clients::new(Width::default(), Some(trust));
///
/// let lines = [("X-Forwarded-For", "6.6.6.6, 203.0.113.7")];
/// let key = clients.key("10.0.0.9:4711", lines);
/// assert_eq!(key.as_str(), "203.0.113.7");
/// assert!(limiter.check(key).is_allowed());
/// // The same client without a proxy, by a socket that is IPv6.
/// let peer: std::net::SocketAddr = "[::ffff:203.0.113.7]:4711".parse()?;
/// assert!(limiter.check(clients.key(peer, lines)).is_allowed());
/// assert!(!limiter.check("203.0.113.7").is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What holds for all keys:
#[doc(inline)]
pub use ratecell_core::client_key;
pub use ratecell_core::{
    ChangeError, Decision, Emission, Mode, Outcome, Period, Policy, PolicyBuilder, PolicyError,
    PolicyErrorKind, Request, Resolved, Start, Weekday, Zone, builder, fields,
};
pub use table::{Stats, WhenFull};

/// Sharing one limit among machines through a store such as Redis or Valkey: see docs/MACHINES.md.
///
/// ```no_run
/// use ratecell::store::Store;
/// use ratecell::{Limiter, OnFailure, OnMiss, Policy};
/// use std::time::Duration;
///
/// let store = Store::open("redis://10.0.0.5:6379")?.named("api")?;
/// let limiter = Limiter::builder("1000/s burst=2000".parse::<Policy>()?)
///     .max_keys(1_000_000)
///     .shared_by(store)
///     .on_miss(OnMiss::Wait(Duration::from_millis(50)))
///     .on_failure(OnFailure::Local { machines: 20 })
///     .build()?;
/// assert!(limiter.check("user:42").is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "store")]
pub mod store {
    pub use ratecell_sync::{Named, Store, StoreError, StoreErrorKind};
}

/// When to ask a limiter again, and which waiter is first: what [`Limiter::acquire`] and the bindings wait by.
pub mod waiting {
    #[cfg(feature = "async")]
    pub use crate::limiter::{Acquire, AcquireError, Sleep};
    pub use crate::limiter::{Line, Turn, WaitEnd};
    pub use ratecell_core::waiting::*;
}

#[cfg(test)]
mod tests;
