//! How a limiter by rules is asked for.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::file::File;
use super::region::Shared;
use super::tables::Tables;
use super::{Rules, RulesLimiter};
use crate::clock::Clock;
#[cfg(feature = "mock-clock")]
use crate::clock::MockClock;
use crate::error::BuildError;
use crate::limiter::differing::Differing;
use crate::limiter::mixed::Asked;
use crate::limiter::{Family, of_file, seconds_since_1970};
use crate::table::{DEFAULT_MAX_KEYS, WhenFull};

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
    pub(super) fn new(rules: Rules) -> Self {
        Self {
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
    /// what the rules allow. Without it each of them goes on with a copy of its own. It has no effect on
    /// [`open`](Self::open), whose file all of them have anyhow. Only on Linux.
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
    /// system refuses to open it or to make it. [`BuildError::Epoch`]: a file has an epoch of its own, and a clock. [`BuildError::Rule`]: a rule
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
