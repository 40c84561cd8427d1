//! Limits by a file of rules: which limits apply to a request, and whether it may go.
//!
//! A file of rules, in TOML, says which limits apply to which requests: see docs/RULES.md. [`Rules`] is such a file, and a
//! [`RulesLimiter`] decides requests by it.
//!
//! ```
//! use ratecell::rules::{Rules, RulesLimiter};
//! use std::time::Duration;
//!
//! let rules = Rules::parse(r#"
//!     ratecell_rules = 1
//!
//!     [[rule]]
//!     name = "site"                      # one cell for all requests
//!     key = []
//!     limit = "100/s"
//!
//!     [[rule]]
//!     name = "login"
//!     match.path = "/login"
//!     match.method = "POST"
//!     key = ["client"]
//!     limit = "2/m"
//! "#)?;
//! let limiter = RulesLimiter::builder(rules).max_keys(10_000).build()?;
//!
//! let login = [("method", "POST"), ("path", "/login"), ("client", "203.0.113.7")];
//! assert!(limiter.decide_at(&login, 0).is_allowed());
//! assert!(limiter.decide_at(&login, 0).is_allowed());
//! let refused = limiter.decide_at(&login, 0);
//! assert_eq!((refused.is_allowed(), refused.rule_name()), (false, Some("login")));
//! assert_eq!(refused.retry_after(), Some(Duration::from_secs(30)));
//! // The site's limit was charged for the two that were allowed.
//! let other = limiter.decide_at(&[("path", "/")], 0);
//! assert_eq!(other.shown.map(|shown| shown.remaining), Some(97));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arc_swap::ArcSwap;

use crate::clock::Clock;
use crate::error::BuildError;
use crate::limiter::seconds_since_1970;
use crate::table::{DEFAULT_MAX_KEYS, Stats, WhenFull};

mod decision;
mod file;
mod scratch;
#[cfg(test)]
mod tests;

pub use decision::{RulesDecision, RulesFields};
pub use ratecell_rules::{
    Answer, Attribute, Attributes, Mode, Rule, RuleLabel, RulePolicy, Rules, RulesError, RulesErrorKind,
    Shown,
};

#[cfg(feature = "capi")]
pub(crate) use decision::Made;
#[cfg(not(feature = "capi"))]
use file::File;
use file::Tables;
#[cfg(feature = "capi")]
pub(crate) use file::{Decided, File, MadeList};

/// A limiter whose limits are those of a file of rules.
///
/// It has a table for each distinct policy of the file; rules with equal policies share one, in which their keys differ.
/// The policies of a rule with `shared = true` have one table together. All tables have one clock. Each has room for
/// `max_keys`, and address space for them; a page of it takes memory once a key in it is used.
///
/// A decision never blocks, but that a `sliding_log` locks briefly and allocates its entries. It allocates until its thread has seen the longest keys of the file; after that it allocates
/// only for an answer with shadow rules, and where more than four rules limit one request. Any number of threads may share
/// a limiter, by reference or in an `Arc`.
pub struct RulesLimiter {
    file: ArcSwap<File>,
    clock: Clock,
    tables: Tables,
    /// Held while the file is changed.
    changing: Mutex<()>,
}

/// A limiter by rules under construction.
#[derive(Debug)]
#[must_use = "a builder is not a limiter: call `build`"]
pub struct RulesLimiterBuilder {
    rules: Rules,
    tables: Tables,
    /// In seconds since 1970.
    epoch: Option<i64>,
}

impl RulesLimiterBuilder {
    /// The number of keys that each table has room for at the same time, at least 1; default 100,000. There is a table
    /// for each distinct policy: see [`LimiterBuilder::max_keys`](crate::LimiterBuilder::max_keys).
    pub fn max_keys(mut self, max_keys: usize) -> Self {
        self.tables.max_keys = max_keys;
        self
    }

    /// How to decide a new key when its table has no room for it; default [`WhenFull::Evict`].
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.tables.when_full = when_full;
        self
    }

    /// The zero of the limiter's times, in whole seconds; default the Monday 00:00 UTC before it is built. For programs
    /// that give every request its time: see [`LimiterBuilder::epoch`](crate::LimiterBuilder::epoch).
    pub fn epoch(mut self, epoch: SystemTime) -> Self {
        self.epoch = Some(seconds_since_1970(epoch));
        self
    }

    /// Builds the limiter, with the memory of all its tables, for this process alone.
    ///
    /// # Errors
    /// A rule counts requests in flight, which a decision by rules does not release ([`BuildError::Rule`]); `max_keys` is 0;
    /// the memory cannot be allocated; the system has no random bytes for the secrets; a policy with a calendar does not fit a word from the epoch on; or the processor cannot exchange 16 bytes at once
    /// ([`BuildError::Processor`]).
    pub fn build(self) -> Result<RulesLimiter, BuildError> {
        let clock = self.epoch.map_or_else(Clock::new, Clock::since);
        let file = File::new(self.rules, self.tables, clock, None)?;
        Ok(RulesLimiter {
            file: ArcSwap::from_pointee(file),
            clock,
            tables: self.tables,
            changing: Mutex::new(()),
        })
    }
}

impl RulesLimiter {
    /// Begins a limiter by the rules of a file.
    pub fn builder(rules: Rules) -> RulesLimiterBuilder {
        let tables = Tables { max_keys: DEFAULT_MAX_KEYS, when_full: WhenFull::default() };
        RulesLimiterBuilder { rules, tables, epoch: None }
    }

    /// Decides a request with these attributes now: all limits that apply to it are charged, or none is.
    ///
    /// [`Attributes`] is implemented by slices, arrays and vectors of names and values. Shadow rules are decided after the
    /// others, each by itself, and are charged if the request is allowed.
    pub fn decide<A: Attributes + ?Sized>(&self, attributes: &A) -> RulesDecision {
        self.decide_at(attributes, self.clock.now())
    }

    /// [`decide`](Self::decide) at `now_ns`: nanoseconds since the limiter's [`epoch`](Self::epoch), or since any other
    /// that all requests have, if no rule has a `calendar_window`.
    pub fn decide_at<A: Attributes + ?Sized>(&self, attributes: &A, now_ns: u64) -> RulesDecision {
        RulesDecision::new(self.file.load(), attributes, now_ns)
    }

    /// Limits by other rules from now on. Each request is decided by the old rules or by the new ones, never by parts of
    /// both.
    ///
    /// A rule goes on with what it has counted if its name, its key and its policy stay, whatever else of it changes; of a
    /// rule with `shared = true` all its policies. A rule whose policy is another begins anew, as one whose name or key is
    /// another does. The memory of a table that no
    /// rule has any more is given back when the last [`RulesDecision`] by the old rules is dropped.
    ///
    /// # Errors
    /// As [`RulesLimiterBuilder::build`]. Then the rules in force stay.
    pub fn change(&self, rules: Rules) -> Result<(), BuildError> {
        // A change that panicked has stored nothing.
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.file.load_full();
        let after = File::new(rules, self.tables, self.clock, Some(&before))?;
        self.file.store(Arc::new(after));
        Ok(())
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(self.file.load().rules())
    }

    /// The number of live keys, the memory, and the counts of events, of all tables together. Of slots, live keys and
    /// their error it is the table with the most.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_at(self.clock.now())
    }

    /// [`stats`](Self::stats) at `now_ns`.
    #[must_use]
    pub fn stats_at(&self, now_ns: u64) -> Stats {
        self.file.load().stats_at(now_ns)
    }

    /// The file in force, with what decides by it.
    #[cfg(feature = "capi")]
    pub(crate) fn file(&self) -> arc_swap::Guard<Arc<File>> {
        self.file.load()
    }

    /// Nanoseconds since the [`epoch`](Self::epoch), by the limiter's clock.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    /// The zero of the limiter's clock: the Monday 00:00 UTC before it was built, unless it was built with another.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.clock.epoch()
    }
}

impl fmt::Debug for RulesLimiter {
    /// Prints how many rules and tables it has, and no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesLimiter").field("file", &*self.file.load()).finish_non_exhaustive()
    }
}
