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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "async")]
use std::time::Duration;
use std::time::SystemTime;

use arc_swap::{ArcSwap, Guard};
use ratecell_core::Outcome;

use crate::clock::Clock;
use crate::error::BuildError;
use crate::limiter::Family;
#[cfg(feature = "async")]
use crate::limiter::Sleep;
use crate::limiter::differing::Differing;
use crate::table::Stats;

mod builder;
mod cells;
mod decision;
mod file;
mod hold;
mod reader;
mod region;
mod reservation;
mod scratch;
mod tables;
#[cfg(test)]
mod tests;

pub use builder::RulesLimiterBuilder;
pub use decision::{RulesDecision, RulesFields};
pub use hold::RulesHold;
pub use ratecell_rules::{
    Answer, Attribute, Attributes, Mode, Rule, RuleLabel, RulePolicy, Rules, RulesError, RulesErrorKind,
    Shown,
};

pub use reader::RulesRegion;
pub use reservation::RulesReservation;

use cells::Before;
#[cfg(feature = "capi")]
pub(crate) use decision::Made;
#[cfg(not(feature = "capi"))]
use file::{Decided, File, MadeList};
#[cfg(feature = "capi")]
pub(crate) use file::{Decided, File, MadeList};
use region::Shared;
#[cfg(not(feature = "capi"))]
use reservation::HeldList;
#[cfg(feature = "capi")]
pub(crate) use reservation::{Held, HeldList, Names};
use tables::Tables;

/// A limiter whose limits are those of a file of rules.
///
/// It has one table for all rules of the file, with room for `max_keys`: a key counts once for each layer of the policy
/// that it is limited by. Address space for them is taken at once; a page of it takes memory once a key in it is used. A
/// file of more than 4,094 layers has another table for each 4,094, and each `sliding_log` has one of its own.
///
/// A decision never blocks, with two exceptions. A `sliding_log` locks briefly, and allocates its entries. A request that
/// comes while limits are changed may wait until the new numbers of all rules are written, which takes some microseconds for
/// each rule. In a [file](RulesLimiterBuilder::open) these are the rules of all programs, and a calendar that is another takes
/// about a millisecond.
///
/// A decision allocates until its thread has seen the longest keys of the file. After that it allocates only for an answer
/// with shadow rules, where more than four rules limit one request, and the first time that it asks by a rule after a change of
/// limits. Any number of threads may share a limiter, by
/// reference or in an `Arc`.
pub struct RulesLimiter {
    file: ArcSwap<File>,
    clock: Clock,
    tables: Tables,
    /// What the limiters of its tables have in common, and those of the limiters by rules beside it.
    family: Arc<Family>,
    /// Held between the number of the policies in force and the file that is of it.
    switching: Mutex<()>,
    /// What other processes have in common with it, if it is in a file.
    shared: Option<Shared>,
}

impl RulesLimiter {
    /// Begins a limiter by the rules of a file.
    pub fn builder(rules: Rules) -> RulesLimiterBuilder {
        RulesLimiterBuilder::new(rules)
    }

    /// Decides a request with these attributes now: all limits that apply to it are charged, or none is.
    ///
    /// [`Attributes`] is implemented by slices, arrays and vectors of names and values. Shadow rules are decided after the
    /// others, each by itself, and are charged if the request is allowed.
    ///
    /// # Panics
    /// If the limiter is [`reserving`](RulesLimiterBuilder::reserving): its requests are [reserved](Self::reserve).
    pub fn decide<A: Attributes + ?Sized>(&self, attributes: &A) -> RulesDecision {
        self.decide_by(attributes, None)
    }

    /// [`decide`](Self::decide) at `now_ns`: nanoseconds since the limiter's [`epoch`](Self::epoch), or since any other
    /// that all requests have, if no rule has a `calendar_window`.
    ///
    /// # Panics
    /// As [`decide`](Self::decide).
    pub fn decide_at<A: Attributes + ?Sized>(&self, attributes: &A, now_ns: u64) -> RulesDecision {
        self.decide_by(attributes, Some(now_ns))
    }

    fn decide_by<A: Attributes + ?Sized>(&self, attributes: &A, now_ns: Option<u64>) -> RulesDecision {
        assert!(
            !self.is_reserving(),
            "a limiter by rules that is made to reserve: expected `reserve` or `hold`"
        );
        RulesDecision::new(self, attributes, now_ns, None)
    }

    /// Whether all its requests are [reserved](Self::reserve).
    #[must_use]
    pub fn is_reserving(&self) -> bool {
        self.tables.reserving
    }

    /// Decides a request by the file in force after its time is known, which comes with what it decided. Decisions and the
    /// outcomes of shadow claims go to `made` and `shadow`. With `held` it is reserved, and what was charged goes there.
    pub(crate) fn decided<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        given: Option<u64>,
        made: &mut MadeList,
        mut held: Option<&mut HeldList>,
        mut shadow: impl FnMut(&File, usize, Outcome),
    ) -> (Guard<Arc<File>>, Decided) {
        loop {
            // Before the file is loaded, and the number of its policies: what is decided by the old ones was asked before
            // the change.
            let now_ns = given.unwrap_or_else(|| self.clock.now());
            let file = self.file.load();
            made.clear();
            let shadows = |rule, outcome| shadow(&file, rule, outcome);
            let decided = file.decide(attributes, now_ns, made, held.as_deref_mut(), shadows);
            if let Some(decided) = decided {
                return (file, decided);
            }
            if self.catch_up().is_err() {
                // Nobody knows which limits hold.
                made.clear();
                return (file, Decided { answer: Answer::never(None), is_unclear_path: false });
            }
        }
    }

    /// Makes sure that the file is of the number in force.
    ///
    /// # Errors
    /// The limits of the region cannot be read.
    fn catch_up(&self) -> Result<(), BuildError> {
        // Without a region the number is that of a file which is just being put in force.
        let _switching = locked(&self.switching);
        let held = self.file.load();
        if let Some(shared) = self.shared.as_ref().filter(|shared| shared.number() != held.cells().number) {
            self.file.store(Arc::new(shared.follow(held.rules(), self.tables)?));
        }
        Ok(())
    }

    /// Why no request is allowed, where the limits that are now in force in its [file](RulesLimiterBuilder::open) cannot be
    /// read: then nobody knows which limits hold, and each request is denied for good, by no rule. `None` while requests are
    /// decided by the rules.
    ///
    /// That is so after a change by another process, if the file was damaged since, or if the limits there are none that this
    /// limiter can have, such as one with `in_flight` where it is not [`reserving`](RulesLimiterBuilder::reserving). It ends
    /// with the next change that can be read. [`change`](Self::change) makes one, unless the file is damaged.
    #[must_use]
    pub fn fault(&self) -> Option<BuildError> {
        self.catch_up().err()
    }

    /// Limits by other rules from now on. Each request is decided by the old rules or by the new ones, never by parts of
    /// both.
    ///
    /// A rule goes on with what it has counted if its name and its key stay, whatever else of it changes. Where the numbers
    /// of its limit change, what each key has used stays used, in units, as in [`Limiter::change`](crate::Limiter::change):
    /// a raised limit lets those go on who were exhausted, and a lowered one forgives nothing. A rule begins anew whose limit
    /// gets another algorithm, another window or another number of layers, or has no room in the words in use beside what was
    /// allowed before; so does one whose name or key is another. A rule that is taken away begins anew
    /// if it comes back. What its keys have used holds their places until it has drained, or until limits are changed.
    ///
    /// Of a rule with tiers each tier is by itself. With `shared = true` the tiers go on together if nothing but their limits
    /// and `strict` changes, and tiers come and go.
    ///
    /// In a [file](RulesLimiterBuilder::open) the limits change for all processes that have it open: each goes on with its own
    /// rules, by the new policies of those that it has. Rules of the file that are not among `rules` stay as they are, and go on
    /// if they come back.
    ///
    /// Two kinds of limiters do not change a limit over live cells, and a rule begins anew where its limit is another:
    /// one whose tables are shared by processes that are [forked off](RulesLimiterBuilder::forked), and one
    /// [beside](Self::beside) which there is another.
    ///
    /// Requests are decided while the rules are changed. Every third change of limits reads and writes the whole
    /// table. The memory of a log that no rule has any more is given back when the last [`RulesDecision`] by the old rules is
    /// dropped.
    ///
    /// ```
    /// use ratecell::rules::{Rules, RulesLimiter};
    ///
    /// let file = |limit: &str| format!("ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '{limit}'\n");
    /// let limiter = RulesLimiter::builder(Rules::parse(file("fixed_window 10/1d"))?).build()?;
    /// let left = || limiter.decide_at(&[("path", "/")], 0).shown.map(|shown| shown.remaining);
    /// assert_eq!(left(), Some(9));
    /// limiter.change_at(Rules::parse(file("fixed_window 20/1d"))?, 0)?;
    /// assert_eq!(left(), Some(18));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`RulesLimiterBuilder::build`]; or the limiter's time is past the last that a new policy can decide at
    /// ([`BuildError::InRule`], which names the rule). In a file also [`BuildError::Region`] and [`BuildError::File`]: it cannot
    /// be locked or read, or has no room for more rules. Then the rules in force stay.
    pub fn change(&self, rules: Rules) -> Result<(), BuildError> {
        self.change_by(rules, None)
    }

    /// [`change`](Self::change) at `now_ns`, for programs that give every request its time. Requests that were given a later
    /// time, and are decided by the rules before, count as before the change.
    ///
    /// # Errors
    /// As [`change`](Self::change).
    pub fn change_at(&self, rules: Rules, now_ns: u64) -> Result<(), BuildError> {
        self.change_by(rules, Some(now_ns))
    }

    pub(crate) fn change_by(&self, rules: Rules, now_ns: Option<u64>) -> Result<(), BuildError> {
        let _one_at_a_time = self.family.exclusively();
        if let Some(shared) = &self.shared {
            let file = shared.file(rules, self.tables, Differing::Changed, now_ns)?;
            let _switching = locked(&self.switching);
            self.file.store(Arc::new(file));
            return Ok(());
        }
        let held = self.file.load_full();
        // Nobody else gets the family meanwhile.
        let is_live = !self.tables.forked && Arc::strong_count(&self.family) == 1;
        let before = Before { cells: held.cells(), is_live, now_ns };
        let (file, changes) = File::new(rules, self.tables, &self.family, &self.clock, Some(before))?;
        let file = Arc::new(file);
        if file.cells().number == held.cells().number {
            self.file.store(file);
            return Ok(());
        }
        let (policies, tables) = changes.into_parts();
        // What the new file has no more decides nothing after it.
        let ready = self.family.ready(file.cells().changing(policies), tables)?;
        let switching = locked(&self.switching);
        ready.put_in_force(now_ns, &self.clock);
        self.file.store(file);
        drop(switching);
        Ok(())
    }

    /// Another limiter, by other rules, in the table that this one has. Both go on: a rule that is in both with the same
    /// name, key and limit admits exactly its limit together. One whose limit is another begins anew.
    ///
    /// Newcomers are decided alike in both, and their clock is one. As long as both are there, a
    /// [`change`](Self::change) of either begins a rule anew whose limit is another. Where the table is
    /// [`forked`](RulesLimiterBuilder::forked), the rules that begin anew have another one, as large: processes that were
    /// forked off before do not know them. A table is freed when no limiter and no [`RulesDecision`] has it any more.
    ///
    /// ```
    /// use ratecell::rules::{Rules, RulesLimiter};
    ///
    /// let file = |limit: &str| format!("ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '{limit}'\n");
    /// let old = RulesLimiter::builder(Rules::parse(file("3/h"))?).build()?;
    /// let new = old.beside(Rules::parse(file("3/h") + "match.host = 'example.com'\n")?)?;
    /// let request = [("host", "example.com")];
    /// assert!(old.decide_at(&request, 0).is_allowed());
    /// assert_eq!(new.decide_at(&request, 0).shown.map(|shown| shown.remaining), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`RulesLimiterBuilder::build`]; in a [file](RulesLimiterBuilder::open), as that, where a rule of both has another policy.
    pub fn beside(&self, rules: Rules) -> Result<Self, BuildError> {
        // No change of this one is under way, which would not know of the other.
        let _one_at_a_time = self.family.exclusively();
        if let Some(shared) = self.shared.clone() {
            let file = shared.file(rules, self.tables, Differing::Refused, None)?;
            return Ok(Self::of(
                file,
                self.tables,
                Arc::clone(&self.family),
                self.clock.clone(),
                Some(shared),
            ));
        }
        let held = self.file.load_full();
        let before = Before { cells: held.cells(), is_live: false, now_ns: None };
        let (file, _) = File::new(rules, self.tables, &self.family, &self.clock, Some(before))?;
        Ok(Self::of(file, self.tables, Arc::clone(&self.family), self.clock.clone(), None))
    }

    fn of(file: File, tables: Tables, family: Arc<Family>, clock: Clock, shared: Option<Shared>) -> Self {
        Self { file: ArcSwap::from_pointee(file), clock, tables, family, switching: Mutex::new(()), shared }
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(self.file().rules())
    }

    /// The number of live keys, the memory, and the counts of events. Where there are several tables, as with a
    /// `sliding_log`, bytes and events are summed, and slots, live keys and their error are those of the table with the most.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_at(self.clock.now())
    }

    /// [`stats`](Self::stats) at `now_ns`.
    #[must_use]
    pub fn stats_at(&self, now_ns: u64) -> Stats {
        self.file().stats_at(now_ns)
    }

    /// The file in force, with what decides by it.
    pub(crate) fn file(&self) -> Guard<Arc<File>> {
        let file = self.file.load();
        if self.shared.as_ref().is_none_or(|shared| shared.number() == file.cells().number) {
            return file;
        }
        drop(file);
        // What cannot be read stays as it was.
        let _ = self.catch_up();
        self.file.load()
    }

    /// Nanoseconds since the [`epoch`](Self::epoch), by the limiter's clock.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    /// Sleeps for so long by the limiter's clock: see [`Limiter::sleep`](crate::Limiter::sleep).
    #[cfg(feature = "async")]
    pub fn sleep(&self, delay: Duration) -> Sleep {
        Sleep::new(&self.clock, delay)
    }

    /// The zero of the limiter's clock: the Monday 00:00 UTC before it was built, unless it was built with another.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.clock.epoch()
    }
}

/// Nothing that panics while it is held leaves half of it.
fn locked(mutex: &Mutex<()>) -> MutexGuard<'_, ()> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for RulesLimiter {
    /// Prints how many rules and tables it has, and no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesLimiter").field("file", &*self.file.load()).finish_non_exhaustive()
    }
}
