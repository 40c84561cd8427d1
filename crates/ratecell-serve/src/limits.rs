//! What is limited: the policies that have names, the policies that clients name themselves, and rules.

use core::fmt;
use std::path::{Path, PathBuf};

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use ratecell::rules::{Rules, RulesLimiter};
use ratecell::{Limiter, Policy};

use crate::error::ServeError;

mod throttle;

pub(crate) use throttle::{Terms, View, Views};

/// The name of the file, in the folder of all, that has the cells of `CL.THROTTLE`.
pub const THROTTLE: &str = "cl.throttle";

/// The longest name of a policy.
const MAX_NAME: usize = 64;
/// The keys for which a table has room, where nothing else is said.
const DEFAULT_MAX_KEYS: usize = 100_000;

/// What servers decide by. Any number of threads may share it.
pub struct Limits {
    named: IndexMap<Vec<u8>, Limiter, RandomState>,
    throttle: Limiter,
    rules: Option<RulesLimiter>,
}

impl fmt::Debug for Limits {
    /// Prints the names, and no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.named.keys().map(|name| String::from_utf8_lossy(name)).collect();
        f.debug_struct("Limits").field("named", &names).finish_non_exhaustive()
    }
}

/// [`Limits`] under construction.
#[derive(Debug)]
#[must_use = "a builder limits nothing: call `build`"]
pub struct LimitsBuilder {
    policies: Vec<(String, Policy)>,
    rules: Option<Rules>,
    max_keys: usize,
    folder: Option<PathBuf>,
}

impl LimitsBuilder {
    /// Limits by this policy under a name of at most 64 letters, digits, `-`, `_` and `.`.
    pub fn policy(mut self, name: impl Into<String>, policy: Policy) -> Self {
        self.policies.push((name.into(), policy));
        self
    }

    /// Limits by these rules too.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = Some(rules);
        self
    }

    /// The number of keys that have room in each table at the same time, at least 1; default 100,000.
    pub fn max_keys(mut self, max_keys: usize) -> Self {
        self.max_keys = max_keys;
        self
    }

    /// Keeps the cells in files of this folder, one for each name and one for `CL.THROTTLE`, which other programs may open
    /// too. The cells of rules are kept in memory.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Makes or opens the tables.
    ///
    /// # Errors
    /// [`ServeError`]: a name that is none, or is there twice; a table that cannot be made; or a file that holds something
    /// else, another layout, or leases.
    pub fn build(self) -> Result<Limits, ServeError> {
        let Self { policies, rules, max_keys, folder } = self;
        let folder = folder.as_deref();
        let mut named = IndexMap::default();
        for (name, policy) in policies {
            if !is_name(&name) {
                return Err(ServeError::Name { name, taken: THROTTLE });
            }
            let limiter = limiter(policy, max_keys, folder, &name)?;
            if named.insert(name.clone().into_bytes(), limiter).is_some() {
                return Err(ServeError::NameTwice(name));
            }
        }
        let throttle = limiter(throttle::base(), max_keys, folder, THROTTLE)?;
        let rules = rules.map(|rules| RulesLimiter::builder(rules).max_keys(max_keys).build());
        Ok(Limits { named, throttle, rules: rules.transpose().map_err(ServeError::Rules)? })
    }
}

/// A name is also that of a file.
fn is_name(name: &str) -> bool {
    let is_letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let mut chars = name.chars();
    is_letter
        && name.len() <= MAX_NAME
        && name != THROTTLE
        && chars.all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn limiter(
    policy: Policy,
    max_keys: usize,
    folder: Option<&Path>,
    name: &str,
) -> Result<Limiter, ServeError> {
    let builder = Limiter::builder(policy);
    let built = match folder {
        None => builder.max_keys(max_keys).build(),
        // A file that is there has room for as many as it was made for.
        Some(folder) => {
            let path = folder.join(name);
            let builder = if path.exists() { builder } else { builder.max_keys(max_keys) };
            builder.open(path)
        }
    };
    let limiter = built.map_err(|error| ServeError::Limiter(name.to_owned(), error))?;
    if limiter.shared().is_some() { Err(ServeError::Leases(name.to_owned())) } else { Ok(limiter) }
}

impl Limits {
    /// Begins limits without a name.
    pub fn builder() -> LimitsBuilder {
        LimitsBuilder { policies: Vec::new(), rules: None, max_keys: DEFAULT_MAX_KEYS, folder: None }
    }

    /// The number of a name.
    #[inline]
    pub(crate) fn number(&self, name: &[u8]) -> Option<usize> {
        self.named.get_index_of(name)
    }

    /// The limiter of a number that was found here.
    #[inline]
    pub(crate) fn limiter(&self, number: usize) -> &Limiter {
        &self.named[number]
    }

    /// Every name with its limiter.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Limiter)> {
        self.named.iter().map(|(name, limiter)| (name.as_slice(), limiter))
    }

    /// The cells of `CL.THROTTLE`.
    pub(crate) fn throttle(&self) -> &Limiter {
        &self.throttle
    }

    /// The limiter by rules, if there are any.
    #[must_use]
    pub fn rules(&self) -> Option<&RulesLimiter> {
        self.rules.as_ref()
    }

    /// What is not as it should be, though the limiters work.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.iter().filter_map(|(name, limiter)| {
            Some(format!("policy {}: {}", String::from_utf8_lossy(name), limiter.warning()?))
        })
    }
}
