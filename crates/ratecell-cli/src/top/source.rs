//! The file that is watched: looked at, opened again where it is another, and left alone where it was cut.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use ratecell::{KeyOrder, Look, Region, Watch};

use super::model::{About, Row, Sample, digits};

/// See the module.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    watch: Watch,
    /// Device and number of the file that is watched.
    file: (u64, u64),
    len: u64,
    created: Option<SystemTime>,
    /// The look of the last sample, and when it was.
    last: Option<(Look, Duration)>,
    /// Between the last two samples.
    between: Duration,
    /// The first look since the file was opened has nothing to be compared with.
    is_new: bool,
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let watch = Watch::new(Region::read(path)?);
        // If the file was replaced in between, the next look finds out: its length is that of a whole region.
        let metadata = fs::metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            watch,
            file: identity(&metadata),
            len: metadata.len(),
            created: metadata.created().ok(),
            last: None,
            between: Duration::ZERO,
            is_new: true,
        })
    }

    pub(super) fn about(&self) -> About {
        let region = self.watch.region();
        About {
            file: self.path.display().to_string(),
            policy: region.policy().to_string(),
            layers: region.policy().resolved().count(),
            max_keys: region.max_keys() as u64,
            when_full: format!("{:?}", region.when_full()).to_lowercase(),
            age: self.created.and_then(|created| created.elapsed().ok()),
            has_names: region.denied().is_some(),
        }
    }

    /// How long before a sample the look is due that it is compared with, if not the sample before.
    pub(super) fn ahead(&self) -> Duration {
        self.watch.quiet()
    }

    /// Makes sure that what is watched is the file at the path, as it is by now. `Some` says what became another.
    ///
    /// # Errors
    /// The file cannot be looked at, and why.
    pub(super) fn check(&mut self) -> Result<Option<&'static str>> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("the file was removed: expected the one that its limiters share")
            }
            Err(error) => bail!("the file cannot be looked at: {error}"),
        };
        let notice = if identity(&metadata) != self.file {
            "the file was replaced: this is the new one, with limits of its own"
        } else if metadata.len() < self.len {
            // A look at what was cut off would end the process.
            bail!("the file was cut to {} bytes: expected {}", metadata.len(), self.len)
        } else if self.watch.region().is_outdated() {
            "the policy was changed: this is the new one"
        } else {
            return Ok(None);
        };
        *self = Self::open(&self.path)?;
        Ok(Some(notice))
    }

    /// Looks, for the next sample to be compared with.
    pub(super) fn look_ahead(&mut self) {
        self.watch.look_ahead();
        self.is_new = false;
    }

    /// What is in the file by now, and since the sample before, `clock` being the time since some start.
    pub(super) fn sample(&mut self, clock: Duration) -> Sample {
        let look = self.watch.look();
        let before = self.last.replace((look, clock));
        let over = before.map_or(Duration::ZERO, |(_, at)| clock.saturating_sub(at));
        self.between = over;
        let stats = look.stats;
        let since = |count: fn(&ratecell::Stats) -> u64| {
            before.map_or(0, |(before, _)| count(&stats).saturating_sub(count(&before.stats)))
        };
        let is_new = std::mem::take(&mut self.is_new);
        Sample {
            live: stats.live as u64,
            live_error: stats.live_error as u64,
            sampled: look.sampled,
            admitted: look.admitted.map(|admitted| (admitted.least, admitted.most, admitted.over)),
            tells_admitted: is_new || look.admitted.is_some(),
            over,
            evicted: since(|stats| stats.evicted),
            forgiven: since(|stats| stats.forgiven),
            denied_full: since(|stats| stats.denied_full),
            denied: look.denied.map(|denied| {
                before.and_then(|(before, _)| before.denied).map_or(0, |before| denied.saturating_sub(before))
            }),
        }
    }

    /// The keys that are shown: by their digits or a part of their names, and one by its name.
    pub(super) fn rows(&self, order: KeyOrder, most: usize, filter: &str) -> Vec<Row> {
        let first = filter.to_ascii_lowercase();
        let name = |hash| self.watch.name(hash).map(ToString::to_string);
        let is_wanted = |hash| {
            first.is_empty()
                || digits(hash).starts_with(&first)
                || name(hash).is_some_and(|name| name.contains(filter))
        };
        let mut rows: Vec<_> = self
            .watch
            .keys_where(order, most, is_wanted)
            .into_iter()
            .map(|usage| Row::new(name(usage.hash), usage, self.over()))
            .collect();
        if !filter.is_empty()
            && let Some(usage) = self.watch.key(filter)
        {
            rows.retain(|row| row.hash != usage.hash);
            rows.insert(0, Row::new(Some(filter.to_owned()), usage, self.over()));
        }
        rows
    }

    /// The times that what was admitted and what was denied are of.
    fn over(&self) -> [Duration; 2] {
        let admitted = self.last.and_then(|(look, _)| look.admitted);
        [admitted.map_or(Duration::ZERO, |admitted| admitted.over), self.between]
    }
}
