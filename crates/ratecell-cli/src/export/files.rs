//! The files that are exported: each is opened anew for every scrape, so that one that was replaced is read in its place.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use ratecell::{Shared, Stats};
use same_file::Handle;

use crate::file::{self, word};
use crate::output::complain;

/// What a scrape finds in a file.
pub(super) struct Reading {
    pub(super) policies: Vec<InForce>,
    pub(super) when_full: String,
    pub(super) max_keys: usize,
    pub(super) stats: Stats,
    pub(super) shared: Option<Shared>,
    /// `None` where denied keys are not named.
    pub(super) denied: Option<u64>,
    /// Seconds since 1970.
    pub(super) epoch: f64,
    /// Seconds since 1970, where the file system knows it.
    pub(super) created: Option<f64>,
}

/// A policy in force.
pub(super) struct InForce {
    /// The name of the limit in a file of rules.
    pub(super) rule: Option<String>,
    pub(super) policy: String,
}

/// A file, and what was wrong with it last.
struct File {
    path: PathBuf,
    trouble: Mutex<Option<String>>,
}

/// The files, in the order of the arguments.
pub(super) struct Files(Vec<File>);

impl Files {
    /// # Errors
    /// One of them is no region, or is there twice.
    pub(super) fn new(paths: Vec<PathBuf>) -> Result<Self> {
        let mut seen: Vec<(Handle, &Path)> = Vec::new();
        for path in &paths {
            // Before it is opened by a name alone, which would wait for the writer of a pipe.
            Reading::new(path)?;
            let handle = Handle::from_path(path).with_context(|| path.display().to_string())?;
            if let Some((_, other)) = seen.iter().find(|(before, _)| *before == handle) {
                bail!("{}: the same file as {}: expected each file once", path.display(), other.display());
            }
            seen.push((handle, path));
        }
        drop(seen);
        Ok(Self(paths.into_iter().map(|path| File { path, trouble: Mutex::default() }).collect()))
    }

    /// Reads each. What is wrong is told when it is new, and once.
    pub(super) fn read(&self) -> Vec<(String, Option<Reading>)> {
        self.0.iter().map(|file| (file.path.display().to_string(), file.read())).collect()
    }

    /// Their paths.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|file| file.path.display().to_string())
    }
}

impl File {
    fn read(&self) -> Option<Reading> {
        let reading = Reading::new(&self.path);
        let trouble = reading.as_ref().err().map(|error| format!("{error:#}"));
        // A panic under the lock would be a bug, and leaves whole texts.
        let mut last = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if *last != trouble {
            match &trouble {
                Some(trouble) => complain(format_args!("warning: {trouble}")),
                None => complain(format_args!("{}: is read again", self.path.display())),
            }
            *last = trouble;
        }
        reading.ok()
    }
}

impl Reading {
    fn new(path: &Path) -> Result<Self> {
        let file = file::File::read(path)?;
        let policies = match &file {
            file::File::Policy(region) => vec![InForce { rule: None, policy: region.policy().to_string() }],
            file::File::Rules(region) => region
                .limits()
                .map(|(name, policy)| InForce { rule: Some(name.to_owned()), policy: policy.to_string() })
                .collect(),
        };
        let created = std::fs::metadata(path).and_then(|metadata| metadata.created()).ok();
        Ok(Self {
            policies,
            when_full: word(file.when_full()),
            max_keys: file.max_keys(),
            stats: file.stats_at(file.now_ns()),
            shared: file.shared(),
            denied: file.denied(),
            epoch: seconds(file.epoch()),
            created: created.map(seconds),
        })
    }
}

fn seconds(time: SystemTime) -> f64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}
