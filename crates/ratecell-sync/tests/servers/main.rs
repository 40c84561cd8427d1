//! Against real servers: `ci/store.sh` runs these, once for each server that it has.
//!
//! `RATECELL_REDIS_SERVER` is the program of the server. Each test starts one of its own in a folder of its own.

mod support;
mod take;
mod lifetime;
mod rights;
mod failures;
mod sharing;
mod changing;
mod cluster;
#[cfg(feature = "tls")]
mod tls;
