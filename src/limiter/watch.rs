//! A region watched from outside: what was admitted between two looks, and which keys use most.

use core::cmp::Reverse;
use core::fmt;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::time::Duration;

use super::Region;
use crate::table::glance::{Known, Sighting, Slots};
use crate::table::{Count, Stats, count};
use denials::Denials;
use growth::{Drain, Span};
use ratecell_core::algorithm::{Algorithm, Kernel};
use ratecell_core::with_kernel;

mod denials;
mod growth;

/// A [`Region`] that is looked at again and again: what was admitted since the look before, and which keys use most.
///
/// A look reads the same places each time: all of a table for up to 163,840 keys, and otherwise 4 MiB of each layer, spread
/// evenly. It only reads, as a `Region` does, so no limiter decides otherwise or waits. The words of keys say
/// what is held, and not what was denied: that is known where the region [names](crate::LimiterBuilder::names) denied keys.
/// One thread looks at a time.
///
/// ```
/// use ratecell::{KeyOrder, Limiter, Policy, Region, Watch};
///
/// # let path = std::env::temp_dir().join(format!("ratecell-watch-{}", std::process::id()));
/// let limiter = Limiter::builder("100/h".parse::<Policy>()?).max_keys(600).open(&path)?;
/// let mut watch = Watch::new(Region::read(&path)?);
/// watch.look();
///
/// assert!(limiter.check_n("user:42", 7).is_allowed());
/// let look = watch.look();
/// let admitted = look.admitted.ok_or("two looks")?;
/// assert_eq!((admitted.least, admitted.most), (7, 7));
/// let keys = watch.keys(KeyOrder::Used, 10);
/// assert_eq!((keys.len(), keys[0].used, keys[0].limit), (1, 7, 100));
/// assert_eq!(watch.key("user:42").map(|key| key.used), Some(7));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Watch {
    region: Region,
    layers: Vec<Watched>,
    denials: Denials,
    /// The instant before the last look.
    began: Option<u64>,
    /// The instant after it.
    ended: u64,
}

/// What is known of a layer's table.
struct Watched {
    slots: Slots,
    drain: Option<Drain>,
    capacity: u64,
}

/// What a [`Watch::look`] found.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Look {
    /// When it ended, by the region's clock.
    pub now_ns: u64,
    /// As [`Region::stats`].
    pub stats: Stats,
    /// What was admitted since the look before. `None` at the first look, or where no layer's words say it: those of
    /// `in_flight`, of a calendar in the zone of the caller, and leases of a store.
    pub admitted: Option<Admitted>,
    /// As [`Region::denied`].
    pub denied: Option<u64>,
    /// The buckets of a table that were looked at, and how many it has.
    pub sampled: (usize, usize),
}

/// Units that were admitted between two looks.
///
/// The bounds hold what is not known: units that came and drained between the looks, and, of a table of which a part is
/// looked at, four standard errors of the sample, as of [`Stats::live_error`]. What keys got that had no cell, lost
/// theirs between the looks or had units given back is in neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admitted {
    /// No fewer units.
    pub least: u64,
    /// No more units.
    pub most: u64,
    /// The time between the looks.
    pub over: Duration,
}

/// A key, and what it uses now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyUse {
    /// The last 40 bits of the key's hash, ten hexadecimal digits. Others cannot compute it: the hash is keyed.
    pub hash: u64,
    /// The layer of the policy in which the key has used the greatest part of its limit, from 0.
    pub layer: usize,
    /// Units that are used there; of a layer `in_flight` the requests in flight.
    pub used: u64,
    /// The most units there.
    pub limit: u64,
    /// Units that were admitted between the last two looks, at least.
    pub admitted: u64,
    /// Requests that were denied between them, at least; 0 where denied keys are not named.
    pub denied: u64,
    /// How long the key must wait for one unit, in all layers; zero if it need not, and `None` where no wait helps.
    pub retry_after: Option<Duration>,
}

/// Which keys [`Watch::keys`] returns first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum KeyOrder {
    /// Those that have used most of their limit.
    #[default]
    Used,
    /// Those that were admitted most units between the last two looks.
    Admitted,
    /// Those that were denied most between the last two looks; no others.
    Denied,
    /// The lowest hash.
    Hash,
}

impl fmt::Debug for Watch {
    /// Prints the region, and no keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Watch {
    /// Watches `region`. Nothing is read before the first look.
    #[must_use]
    pub fn new(region: Region) -> Self {
        let resolved = region.policy.resolved();
        let layers = region.layers.iter().zip(region.policy.layers()).zip(resolved);
        let layers = layers.map(|(((kernel, _), layer), resolved)| Watched {
            slots: Slots::default(),
            drain: Drain::of(kernel, resolved.emission),
            capacity: layer.capacity(),
        });
        let layers = layers.collect();
        Self { region, layers, denials: Denials::default(), began: None, ended: 0 }
    }

    /// What is watched.
    #[must_use]
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The time between two looks within which nearly nothing drains unseen, so that the bounds of [`Admitted`] are near each
    /// other; zero where no layer says what was admitted.
    #[must_use]
    pub fn quiet(&self) -> Duration {
        let quiet = self.layers.iter().filter_map(|layer| layer.drain).map(Drain::quiet_ns).max();
        Duration::from_nanos(quiet.unwrap_or(0))
    }

    /// Looks at the region.
    pub fn look(&mut self) -> Look {
        let look = self.look_at_words();
        let denied = self.region.names.as_ref().map(|names| self.denials.look(names));
        Look { denied, ..look }
    }

    /// Looks at words alone, a [quiet](Self::quiet) time before a look. What was admitted is then said from here on, and what
    /// was denied still from the look before on.
    pub fn look_ahead(&mut self) {
        self.look_at_words();
    }

    fn look_at_words(&mut self) -> Look {
        let from = self.began;
        let began = self.region.now_ns();
        let mut stats = Stats::default();
        let mut admitted: Option<Bounds> = None;
        let mut sampled = (0, 0);
        for (watched, (kernel, table)) in self.layers.iter_mut().zip(&self.region.layers) {
            let mut sums = vec![Sums::default(); table.runs()];
            let Watched { slots, drain, capacity } = watched;
            with_kernel!(kernel, algorithm => table.look(slots, |Sighting { run, before, word }| {
                let mut noted = 0;
                let Some(sums) = sums.get_mut(run) else { return noted };
                sums.live += usize::from(!algorithm.is_fresh(word, began));
                if let (Some(drain), Some(from), Some(before)) = (&drain, from, before) {
                    // A little later than the word was seen: the end of this look is not known yet.
                    let to = if word == before { began } else { self.region.clock.now() };
                    let growth = drain.growth(algorithm, *capacity, (before, word), Span { from, to });
                    sums.least += narrow(growth.least);
                    sums.most += narrow(growth.most);
                    noted = u32::try_from(growth.least).unwrap_or(u32::MAX);
                }
                noted
            }));
            let by_run = |field: fn(&Sums) -> usize| sums.iter().map(field).collect::<Vec<_>>();
            stats = stats.with(table.stats_by(&by_run(|sums| sums.live)));
            sampled = table.sampled();
            if drain.is_some() && from.is_some() {
                let of = |found: &[usize]| count(sampled.1, found);
                let bounds = Bounds::of(of(&by_run(|sums| sums.least)), of(&by_run(|sums| sums.most)));
                // A request is charged in all layers or in none: each says the same, more or less exactly.
                admitted = Some(admitted.map_or(bounds, |other| bounds.narrower(other)));
            }
        }
        self.ended = self.region.now_ns();
        self.began = Some(began);
        let over = Duration::from_nanos(began.saturating_sub(from.unwrap_or(began)));
        let admitted = admitted.map(|Bounds { least, most }| Admitted { least, most, over });
        Look { now_ns: self.ended, stats, admitted, denied: None, sampled }
    }

    /// The keys that the last look has seen and that hold used units, at most so many, in that order. None of a region of
    /// leases: what their keys use is known at the store.
    #[must_use]
    pub fn keys(&self, order: KeyOrder, most: usize) -> Vec<KeyUse> {
        self.keys_where(order, most, |_| true)
    }

    /// Those of the [`keys`](Self::keys) whose [hash](KeyUse::hash) is wanted.
    #[must_use]
    pub fn keys_where(&self, order: KeyOrder, most: usize, is_wanted: impl Fn(u64) -> bool) -> Vec<KeyUse> {
        let mut keys = match order {
            KeyOrder::Denied => {
                let wanted = self.denials.recent().filter(|key| is_wanted(shown(key.hash)));
                wanted.map(|key| self.denied_key(key)).collect()
            }
            _ => self.live_keys(order, most, is_wanted),
        };
        self.note(&mut keys);
        keys.sort_by_key(|key| Reverse(key.rank(order)));
        keys.truncate(most);
        keys
    }

    /// Keys that hold used units, at most so many of each layer, those that come first in that order.
    fn live_keys(&self, order: KeyOrder, most: usize, is_wanted: impl Fn(u64) -> bool) -> Vec<KeyUse> {
        let mut keys: Vec<KeyUse> = Vec::new();
        let mut hashes = HashSet::new();
        for ((kernel, table), watched) in self.region.layers.iter().zip(&self.layers) {
            let mut first = BinaryHeap::new();
            for known in table.known(&watched.slots) {
                let Known { word, note, .. } = known;
                if !is_wanted(known.low_bits()) {
                    continue;
                }
                let weight = with_kernel!(kernel, algorithm => algorithm.weight(word, self.ended));
                if weight == 0 {
                    continue;
                }
                let rank = match order {
                    KeyOrder::Used => (weight, u64::from(note)),
                    KeyOrder::Admitted => (note.into(), weight),
                    KeyOrder::Hash | KeyOrder::Denied => (!known.low_bits(), 0),
                };
                let is_among = first.len() < most;
                if is_among || first.peek().is_some_and(|Reverse((least, _))| rank > *least) {
                    if !is_among {
                        first.pop();
                    }
                    first.push(Reverse((rank, known.hash())));
                }
            }
            let new = first.into_iter().map(|Reverse((_, hash))| hash).filter(|hash| hashes.insert(*hash));
            keys.extend(new.filter_map(|hash| self.key_of_hash(hash)));
        }
        keys
    }

    /// Adds what was denied to each, and what was admitted by the layer that says the most.
    fn note(&self, keys: &mut [KeyUse]) {
        for key in &mut *keys {
            key.denied = self.denials.of(key.hash).map_or(0, |denial| denial.denied);
        }
        let mut by_hash: HashMap<u64, &mut KeyUse> = keys.iter_mut().map(|key| (key.hash, key)).collect();
        for ((_, table), watched) in self.region.layers.iter().zip(&self.layers) {
            for known in table.known(&watched.slots).filter(|known| known.note > 0) {
                if let Some(key) = by_hash.get_mut(&known.low_bits()) {
                    key.admitted = key.admitted.max(known.note.into());
                }
            }
        }
    }

    /// What one key uses by now, as it is in the region; `None` if it has no cell. It need not be in the sample.
    #[must_use]
    pub fn key(&self, key: impl AsRef<[u8]>) -> Option<KeyUse> {
        let mut keys = [self.key_of_hash(self.region.secret.hash(key.as_ref()))?];
        self.note(&mut keys);
        let [key] = keys;
        Some(key)
    }

    fn key_of_hash(&self, hash: u64) -> Option<KeyUse> {
        let now = self.region.now_ns();
        let mut found: Option<KeyUse> = None;
        for (layer, ((kernel, table), watched)) in self.region.layers.iter().zip(&self.layers).enumerate() {
            if matches!(kernel, Kernel::Lease(_)) {
                return None;
            }
            let Some(word) = table.glance(hash) else { continue };
            let (used, decision) = with_kernel!(kernel, algorithm => {
                let used = if algorithm.is_fresh(word, now) { 0 } else { algorithm.level(word, now) };
                (used, algorithm.report(word, now, 1))
            });
            let here = KeyUse {
                hash: shown(hash),
                layer,
                used,
                limit: watched.capacity,
                admitted: 0,
                denied: 0,
                retry_after: decision.retry_after(),
            };
            found = Some(found.map_or(here, |other| here.fuller(other)));
        }
        found
    }
}

impl KeyUse {
    /// The part of the limit that is used, which compares as a fraction does.
    fn part(&self) -> u128 {
        (u128::from(self.used) << 64) / u128::from(self.limit.max(1))
    }

    fn rank(&self, order: KeyOrder) -> (u128, u128, u64) {
        let by_hash = !self.hash;
        match order {
            KeyOrder::Used => (self.part(), self.admitted.into(), by_hash),
            KeyOrder::Admitted => (self.admitted.into(), self.part(), by_hash),
            KeyOrder::Denied => (self.denied.into(), self.part(), by_hash),
            KeyOrder::Hash => (0, 0, by_hash),
        }
    }

    /// Of two layers of one key the one that is used more, with the longer wait.
    fn fuller(self, other: Self) -> Self {
        let retry_after = self.retry_after.zip(other.retry_after).map(|(a, b)| a.max(b));
        let fuller = if self.part() > other.part() { self } else { other };
        Self { retry_after, ..fuller }
    }
}

/// What a run of buckets holds.
#[derive(Clone, Debug, Default)]
struct Sums {
    live: usize,
    least: usize,
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Bounds {
    least: u64,
    most: u64,
}

impl Bounds {
    /// The bounds of a whole table, by estimates of both.
    fn of(least: Count, most: Count) -> Self {
        let least = least.number.saturating_sub(least.error) as u64;
        Self { least, most: most.number.saturating_add(most.error) as u64 }
    }

    fn narrower(self, other: Self) -> Self {
        let width = |bounds: &Self| bounds.most.saturating_sub(bounds.least);
        if width(&self) < width(&other) { self } else { other }
    }
}

/// Units of one key between two looks, as many as are summed without an overflow, whatever the memory held.
fn narrow(units: u64) -> usize {
    units.min(u32::MAX.into()) as usize
}

/// What of a hash is shown: the bits that a key's tag has.
pub(super) fn shown(hash: u64) -> u64 {
    hash & ((1 << 40) - 1)
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests;
