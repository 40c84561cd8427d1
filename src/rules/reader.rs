//! A file of limits by rules, inspected from outside: read, and never written.

use core::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use ratecell_core::Policy;

use crate::error::BuildError;
use crate::limiter::mixed::{Latest, MixedRegion};
use crate::table::{Extent, Stats, WhenFull};

/// The limits by rules in a file, for inspection: as [`Region`](crate::Region), of a file that
/// [`RulesLimiterBuilder::open`](super::RulesLimiterBuilder::open) made.
///
/// ```
/// use ratecell::rules::{Rules, RulesLimiter, RulesRegion};
///
/// # let path = std::env::temp_dir().join(format!("ratecell-rules-region-{}", std::process::id()));
/// let rules = "ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '3/h'\n".parse::<Rules>()?;
/// let limiter = RulesLimiter::builder(rules).max_keys(600).open(&path)?;
/// assert!(limiter.decide(&[("path", "/")]).is_allowed());
///
/// let region = RulesRegion::read(&path)?;
/// let limits: Vec<_> = region.limits().map(|(name, policy)| format!("{name}: {policy}")).collect();
/// assert_eq!((limits, region.max_keys(), region.stats().live), (vec!["site: 3/h".to_owned()], 600, 1));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RulesRegion {
    region: MixedRegion,
    latest: Arc<Latest>,
}

impl RulesRegion {
    /// Opens the limits in the file at `path`, which needs no right to write it. Nobody may shorten the file while the
    /// `RulesRegion` lives: the system would end the process.
    ///
    /// # Errors
    /// [`BuildError::File`]: the system refuses to open the file for reading, or it holds no region, or one of one policy, or one
    /// that is damaged or of another layout. [`BuildError::Policy`]: a policy cannot be kept in its words.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, BuildError> {
        let region = MixedRegion::read(path.as_ref())?;
        let latest = region.latest()?;
        Ok(Self { region, latest })
    }

    /// The limits that were in force when the file was read: the name of each, and its policy. The name is that of the rule.
    /// Of a value that chooses the limit, `;limit=` and the value follow it, and if all values of the rule share their cells,
    /// `;shared` stands before that.
    pub fn limits(&self) -> impl Iterator<Item = (&str, &Policy)> {
        self.latest.register.limits().map(|(_, name, policy)| (name, policy))
    }

    /// The number of keys that have room.
    #[must_use]
    pub fn max_keys(&self) -> usize {
        self.region.max_keys()
    }

    /// How a new key is decided when the table has no room for it.
    #[must_use]
    pub fn when_full(&self) -> WhenFull {
        self.region.when_full()
    }

    /// The zero of the region's clock.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.region.clock().epoch()
    }

    /// Nanoseconds since the [`epoch`](Self::epoch), as [`Region::now_ns`](crate::Region::now_ns).
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.region.clock().now()
    }

    /// Returns the number of live keys, the memory, and the counts of events, of all rules together: as
    /// [`Limiter::stats`](crate::Limiter::stats).
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_at(self.now_ns())
    }

    /// [`stats`](Self::stats) at `now_ns`.
    #[must_use]
    pub fn stats_at(&self, now_ns: u64) -> Stats {
        self.region.stats_at(&self.latest, now_ns, Extent::Sample)
    }
}

impl fmt::Debug for RulesRegion {
    /// Prints the size, and no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RulesRegion").field("max_keys", &self.max_keys()).finish_non_exhaustive()
    }
}
