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
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "async")]
use std::time::Duration;
use std::time::SystemTime;

use arc_swap::{ArcSwap, Guard};
use ratecell_core::Outcome;

use crate::clock::Clock;
#[cfg(feature = "mock-clock")]
use crate::clock::MockClock;
use crate::error::BuildError;
#[cfg(feature = "async")]
use crate::limiter::Sleep;
use crate::limiter::mixed::Asked;
use crate::limiter::register::Differing;
use crate::limiter::{Family, of_file, seconds_since_1970};
use crate::table::{DEFAULT_MAX_KEYS, Stats, WhenFull};

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
/// each rule.
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

/// A limiter by rules under construction.
#[derive(Debug)]
#[must_use = "a builder is not a limiter: call `build`"]
pub struct RulesLimiterBuilder {
    rules: Rules,
    max_keys: Option<usize>,
    when_full: Option<WhenFull>,
    forked: bool,
    reserving: bool,
    differing: Differing,
    /// In seconds since 1970.
    epoch: Option<i64>,
    #[cfg(feature = "mock-clock")]
    mock: Option<MockClock>,
}

impl RulesLimiterBuilder {
    /// The number of keys that have room at the same time, of all rules together, at least 1; default 100,000. A key counts
    /// once for each rule that limits it and each layer of its policy: see
    /// [`LimiterBuilder::max_keys`](crate::LimiterBuilder::max_keys). A `sliding_log` has room for as many by itself.
    pub fn max_keys(mut self, max_keys: usize) -> Self {
        self.max_keys = Some(max_keys);
        self
    }

    /// How to decide a new key when there is no room for it; default [`WhenFull::Evict`]. [`WhenFull::Share`] is refused: a
    /// cell that newcomers share is of one policy, and the table has those of all rules.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = Some(when_full);
        self
    }

    /// The zero of the limiter's times, in whole seconds; default the Monday 00:00 UTC before it is built. For programs
    /// that give every request its time: see [`LimiterBuilder::epoch`](crate::LimiterBuilder::epoch).
    pub fn epoch(mut self, epoch: SystemTime) -> Self {
        self.epoch = Some(seconds_since_1970(epoch));
        self
    }

    /// Puts the table into memory that this process shares with all that it forks off later: together they admit exactly
    /// what the rules allow. Without it each of them goes on with a copy of its own. Only on Linux.
    ///
    /// A [`change`](RulesLimiter::change) after the fork is of its process alone; a limiter
    /// [`beside`](RulesLimiter::beside), made before the next fork, is for those that follow. Such a table takes memory of
    /// small pages, each once it is used.
    pub fn forked(mut self) -> Self {
        self.forked = true;
        self
    }

    /// Makes a limiter whose requests are all reserved, by [`RulesLimiter::reserve`] or [`RulesLimiter::hold`]. Its rules may
    /// count requests `in_flight`, and costs that are known only afterwards can be settled. Without it a file with
    /// `in_flight` is refused: [`RulesLimiter::decide`] gives no permit that could be released.
    pub fn reserving(mut self) -> Self {
        self.reserving = true;
        self
    }

    /// For tests: the limiter's clock, in place of the system's: see [`LimiterBuilder::clock`](crate::LimiterBuilder::clock).
    #[cfg(feature = "mock-clock")]
    pub fn clock(mut self, clock: &MockClock) -> Self {
        self.mock = Some(clock.clone());
        self
    }

    fn own_clock(&self) -> Clock {
        #[cfg(feature = "mock-clock")]
        if let Some(mock) = &self.mock {
            return Clock::mocked(mock, self.epoch);
        }
        self.epoch.map_or_else(Clock::new, Clock::since)
    }

    /// Builds the limiter, with the memory of all its tables, for this process alone unless it is
    /// [`forked`](Self::forked).
    ///
    /// # Errors
    /// `when_full` is [`WhenFull::Share`] ([`BuildError::SharedCell`]);
    /// a rule counts requests in flight and the limiter is not [`reserving`](Self::reserving), or a rule has a `sliding_log`
    /// where the tables are [`forked`](Self::forked) ([`BuildError::Rule`]); `max_keys` is 0;
    /// the memory cannot be allocated; the system has no random bytes for the secrets; a policy with a calendar does not fit a word from the epoch on; or the processor cannot exchange 16 bytes at once
    /// ([`BuildError::Processor`]).
    pub fn build(self) -> Result<RulesLimiter, BuildError> {
        let tables = self.tables(false)?;
        let clock = self.own_clock();
        let family = Arc::new(Family::new()?);
        let (file, _) = File::new(self.rules, tables, &family, &clock, None)?;
        Ok(RulesLimiter::of(file, tables, family, clock, None))
    }

    /// Opens the limits that the file at `path` holds, which all processes have in common that open it: together they admit
    /// exactly what the rules allow. If the file is absent, empty or all zeros, it is made, for `max_keys`, or by default
    /// 100,000; of a file that is there, `max_keys` and `when_full` must be the same if they are given. It is as the file of
    /// [`LimiterBuilder::open`](crate::LimiterBuilder::open): it outlives its processes, a process that is killed leaves nothing
    /// to repair, and nobody may shorten it.
    ///
    /// The file knows the limits by the names of their rules and tiers, each with its policy. Which requests they apply to, their
    /// keys and costs are those of each process's own rules. Rules of other names are added to what the file holds. Where a
    /// rule of the same name has another policy there, it is an error, unless the limiter is to
    /// [`follow`](Self::follow) what is there or to [`change`](Self::change) it. No name is ever taken away: all rules that the file has
    /// seen have 4,094 layers together at most, and less where names and policies are very long.
    ///
    /// A [`RulesLimiter::change`] is for all processes: each has the new policies of its rules from the next request on.
    ///
    /// ```
    /// use ratecell::rules::{Rules, RulesLimiter};
    ///
    /// let rules = |limit: &str| Rules::parse(format!(
    ///     "ratecell_rules = 1\n[[rule]]\nname = 'login'\nkey = ['client']\nlimit = '{limit}'\n"
    /// ));
    /// # let path = std::env::temp_dir().join(format!("ratecell-rules-{}", std::process::id()));
    /// let here = RulesLimiter::builder(rules("3/h")?).max_keys(10_000).open(&path)?;
    /// let there = RulesLimiter::builder(rules("3/h")?).open(&path)?;             // in another process
    /// let request = [("client", "203.0.113.7")];
    /// assert!(here.decide(&request).is_allowed());
    /// assert_eq!(there.decide(&request).shown.map(|shown| shown.remaining), Some(1));
    ///
    /// let refused = RulesLimiter::builder(rules("9/h")?).open(&path).unwrap_err();
    /// assert!(refused.to_string().contains("`3/h` of rule login; expected `9/h`"));
    /// let newer = RulesLimiter::builder(rules("9/h")?).change().open(&path)?;
    /// assert_eq!(newer.decide(&request).shown.map(|shown| shown.remaining), Some(6));
    /// assert_eq!(there.decide(&request).shown.map(|shown| shown.remaining), Some(5));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError::File`]: the file holds something else, or a rule of the same name has another policy
    /// ([`RegionField::Policy`](crate::RegionField::Policy), with the first such rule and both), or another property differs, or the
    /// system refuses to open it or to make it. [`BuildError::Epoch`]: a file has an epoch of its own. [`BuildError::Rule`]: a rule
    /// has a `sliding_log`, or counts requests in flight, here or in the file, and the limiter is not
    /// [`reserving`](Self::reserving). All others are as those of [`build`](Self::build).
    pub fn open(self, path: impl AsRef<Path>) -> Result<RulesLimiter, BuildError> {
        let path = path.as_ref();
        if self.epoch.is_some() {
            return Err(BuildError::Epoch);
        }
        #[cfg(feature = "mock-clock")]
        if self.mock.is_some() {
            return Err(BuildError::Clock);
        }
        let tables = self.tables(true)?;
        let Self { rules, max_keys, when_full, differing, .. } = self;
        let asked = Asked { max_keys, when_full };
        let opened = Shared::open(path, rules, asked, tables, differing);
        let (shared, file) = opened.map_err(|error| of_file(path, error))?;
        let clock = shared.clock();
        Ok(RulesLimiter::of(file, tables, Arc::new(Family::new()?), clock, Some(shared)))
    }

    /// For [`open`](Self::open): where a rule of the file has another policy, that one holds.
    pub fn follow(mut self) -> Self {
        self.differing = Differing::Followed;
        self
    }

    /// For [`open`](Self::open): where a rule of the file has another policy, that is changed for all processes, as by
    /// [`RulesLimiter::change`].
    pub fn change(mut self) -> Self {
        self.differing = Differing::Changed;
        self
    }

    fn tables(&self, in_file: bool) -> Result<Tables, BuildError> {
        let when_full = self.when_full.unwrap_or_default();
        if when_full == WhenFull::Share {
            return Err(BuildError::SharedCell);
        }
        let max_keys = self.max_keys.unwrap_or(DEFAULT_MAX_KEYS);
        let (forked, reserving) = (self.forked, self.reserving);
        Ok(Tables { max_keys, when_full, forked, in_file, reserving })
    }
}

impl RulesLimiter {
    /// Begins a limiter by the rules of a file.
    pub fn builder(rules: Rules) -> RulesLimiterBuilder {
        RulesLimiterBuilder {
            rules,
            max_keys: None,
            when_full: None,
            forked: false,
            reserving: false,
            differing: Differing::default(),
            epoch: None,
            #[cfg(feature = "mock-clock")]
            mock: None,
        }
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
    /// ([`BuildError::InRule`], which names the rule). Then the rules in force stay.
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
    /// As [`RulesLimiterBuilder::build`].
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
