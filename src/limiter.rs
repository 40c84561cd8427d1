//! The limiter: policy layers, a table for each, a clock.

use core::fmt;
use std::time::SystemTime;

use crate::clock::Clock;
use crate::error::BuildError;
use crate::table::log::LogTable;
use crate::table::{DEFAULT_MAX_KEYS, Extent, Lookup, Secret, Stats, Table, WhenFull, spread};
use ratecell_core::algorithm::Kernel;
use ratecell_core::{Decision, Key, Policy, Request};

#[cfg(feature = "async")]
mod acquire;
mod batch;
mod direct;
pub(crate) mod joint;
pub(crate) mod layers;
mod line;
#[cfg(not(ratecell_model))]
mod reader;
#[cfg(not(ratecell_model))]
mod regions;
mod states;
mod tables;

#[cfg(feature = "async")]
pub use acquire::{Acquire, AcquireError};
pub use direct::DirectLimiter;
pub use joint::Claim;
pub use line::{Line, Turn, WaitEnd};
#[cfg(not(ratecell_model))]
pub use reader::Region;
use states::Layers;
use tables::LayerTable;

/// Decides, for any number of keys, whether a request may go now.
///
/// All memory is taken at construction. A check never allocates, never blocks and never fails; a
/// `sliding_log` alone allocates its entries and locks briefly. A limiter may be shared by any number
/// of threads, by reference or in an `Arc`.
///
/// Keys are bytes and are not kept: a key is identified by its bucket, of which there are `max_keys` / 6,
/// and by 40 bits of its keyed hash. Two of n keys agree in both, and so are limited together, with a
/// probability of about n^2 / (2 * buckets * 2^40). For n = `max_keys` that is 3n / 2^40: 3 in a million,
/// for a million keys.
///
/// Every call that decides reads the limiter's own clock once, unless its request gives the time: nanoseconds since
/// any epoch, as long as all users of the limiter use one. The limiter's own is [`epoch`](Self::epoch); aligned windows
/// are aligned to the epoch.
///
/// ```
/// use ratecell::{Limiter, Policy};
/// use std::time::Duration;
///
/// let policy: Policy = "3/s".parse()?;
/// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
/// for left in [2, 1, 0] {
///     assert_eq!(limiter.check_at("user:42", 1, 0).remaining(), left);
/// }
/// let denied = limiter.check_at("user:42", 1, 0);
/// assert!(!denied.is_allowed());
/// assert_eq!(denied.retry_after(), Some(Duration::from_nanos(333_333_334)));
/// assert!(limiter.check_at("user:43", 1, 0).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Limiter {
    policy: Policy,
    layers: Layers<Table, LogTable>,
    clock: Clock,
    secret: Secret,
    /// Those who wait for it.
    #[cfg(feature = "async")]
    waits: acquire::Waits,
}

/// A limiter under construction.
#[derive(Clone, Debug)]
#[must_use = "a builder is not a limiter: call `build`"]
pub struct LimiterBuilder {
    /// `None`: that of the region.
    policy: Option<Policy>,
    max_keys: Option<usize>,
    when_full: Option<WhenFull>,
}

impl LimiterBuilder {
    /// Keys that have room at once, at least 1; default 100,000. At exactly this many, about 2 in 100,000
    /// find none. More keys than this find room too, up to a third more, but more of them find none.
    ///
    /// The memory is about 25 bytes a key and layer, taken at construction; a `sliding_log` about 100, and 8
    /// for each unit it has room for, taken when a key needs it.
    pub fn max_keys(mut self, max_keys: usize) -> Self {
        self.max_keys = Some(max_keys);
        self
    }

    /// What becomes of a new key for which there is no room; default [`WhenFull::Evict`].
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = Some(when_full);
        self
    }

    /// The limiter, with all its memory, for this process.
    ///
    /// # Errors
    /// `max_keys` is 0 or the memory cannot be had; the system has no random bytes for the secret; or there is no policy.
    pub fn build(self) -> Result<Limiter, BuildError> {
        let policy = self.policy.ok_or(BuildError::NoPolicy)?;
        let max_keys = self.max_keys.unwrap_or(DEFAULT_MAX_KEYS);
        let (when_full, secret) = (self.when_full.unwrap_or_default(), Secret::random()?);
        let layers = policy.layers().iter();
        let layers = layers.map(|layer| LayerTable::alone(layer.plan(), max_keys, when_full));
        let layers = layers.collect::<Result<_, _>>()?;
        Ok(Limiter {
            layers,
            policy,
            clock: Clock::new(),
            secret,
            #[cfg(feature = "async")]
            waits: Default::default(),
        })
    }
}

impl fmt::Debug for Limiter {
    /// The policy: neither the keys nor the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Limiter {
    /// Begins a limiter of `policy`.
    pub fn builder(policy: Policy) -> LimiterBuilder {
        LimiterBuilder { policy: Some(policy), max_keys: None, when_full: None }
    }

    /// Begins a limiter that follows the policy of the region it [attaches](LimiterBuilder::attach) to or
    /// [opens](LimiterBuilder::open): that of the region's maker. Where there is no region, it is an error.
    pub fn following() -> LimiterBuilder {
        LimiterBuilder { policy: None, max_keys: None, when_full: None }
    }

    /// Decides one unit of `key` now.
    #[inline(always)]
    pub fn check(&self, key: impl AsRef<[u8]>) -> Decision {
        self.decide(Request::new(&key))
    }

    /// Decides `cost` units of `key` now: all of them or none. A cost of 0 is a [`peek`](Self::peek).
    #[inline(always)]
    pub fn check_n(&self, key: impl AsRef<[u8]>, cost: u32) -> Decision {
        self.decide(Request::new(&key).cost(cost))
    }

    /// Decides `cost` units of `key` at `now_ns`.
    #[inline(always)]
    pub fn check_at(&self, key: impl AsRef<[u8]>, cost: u32, now_ns: u64) -> Decision {
        self.decide(Request::new(&key).cost(cost).at(now_ns))
    }

    /// What a check of `key` would see now, without charging it: a check of cost 0.
    ///
    /// It does not see whether a full table has room for a new key: under [`WhenFull::Deny`] a key may have
    /// units remaining and be denied all the same.
    #[inline]
    pub fn peek(&self, key: impl AsRef<[u8]>) -> Decision {
        self.check_n(key, 0)
    }

    /// Decides a request: one value that says whose units, how many, when and how.
    ///
    /// A new key for which a full table has no room is not [charged](Request::charge) under [`WhenFull::Deny`] and
    /// [`WhenFull::Allow`]. Under `Deny` the decision says so, and no peek does; a charge of 0 is a peek.
    ///
    /// ```
    /// use ratecell::{Limiter, Policy, Request};
    /// use std::time::Duration;
    ///
    /// let policy: Policy = "leaky_queue 1/s queue=9".parse()?;
    /// let limiter = Limiter::builder(policy).max_keys(1_000).build()?;
    /// let request = Request::new("user:42").at(0).within(Duration::from_millis(1_500));
    /// assert_eq!(limiter.decide(request).delay(), Duration::ZERO);
    /// assert_eq!(limiter.decide(request).delay(), Duration::from_secs(1));
    /// let refused = limiter.decide(request);
    /// assert_eq!(refused.retry_after(), Some(Duration::from_millis(500)));
    /// assert_eq!(refused.delay(), Duration::from_secs(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    pub fn decide(&self, request: Request<'_>) -> Decision {
        let h = self.hash(&request);
        let now = match request.now_ns() {
            Some(now) => now,
            None => {
                // Under way while the clock is read, which would hold it up.
                self.prefetch(h);
                self.clock.now()
            }
        };
        self.decide_at(h, now, &request)
    }

    /// What a key is known by.
    #[inline(always)]
    pub(crate) fn hash(&self, request: &Request<'_>) -> u64 {
        match request.key() {
            Key::Bytes(key) => self.secret.hash(key),
            Key::Hash(hash) => spread(hash),
        }
    }

    /// Asks for the cache lines that a check of `h` will need.
    #[inline(always)]
    fn prefetch(&self, h: u64) {
        self.layers.iter().for_each(|layer| layer.prefetch(h));
    }

    #[inline(always)]
    fn decide_at(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        if !request.is_plain() {
            // A copy, so that the request of the path below needs no memory.
            let apart = *request;
            return self.layers.decide_apart(h, now, &apart);
        }
        // A known key under the commonest policy by far is decided in the caller. There is one call beside
        // it: of two, the compiler would have both write to the memory of the answer.
        let cost = request.units();
        let known = match &self.layers {
            Layers::One(LayerTable::Words(Kernel::Gcra(gcra), table)) => table.try_hit(gcra, h, now, cost),
            _ => Err(Lookup::NotYet),
        };
        match known {
            Ok(decision) => decision,
            Err(lookup) => self.layers.decide_cost(h, now, cost, lookup).by_field(),
        }
    }

    /// Makes `key` as if never seen; says whether there was anything to forget. What it was charged on a cell
    /// shared under [`WhenFull::Share`] stays.
    pub fn forget(&self, key: impl AsRef<[u8]>) -> bool {
        let held = self.layers.forget(self.hash(&Request::new(&key)), self.clock.now());
        #[cfg(feature = "async")]
        self.waits.changed(self, key.as_ref());
        held
    }

    /// What the limiter holds now and what has happened to it.
    ///
    /// Above 196,608 keys the live ones are estimated, from the same 4 MiB of each layer each time, and
    /// [`Stats::live_error`] says how far they may be from that. No other memory is read. A `sliding_log` is counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_at(self.clock.now())
    }

    /// [`stats`](Self::stats) at `now_ns`.
    #[must_use]
    pub fn stats_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::Sample)
    }

    /// [`stats`](Self::stats) with every key counted: this reads the whole table, tens of milliseconds for ten million
    /// keys, and in a region makes all of its memory resident.
    #[must_use]
    pub fn stats_exact(&self) -> Stats {
        self.stats_exact_at(self.clock.now())
    }

    /// [`stats_exact`](Self::stats_exact) at `now_ns`.
    #[must_use]
    pub fn stats_exact_at(&self, now_ns: u64) -> Stats {
        self.survey(now_ns, Extent::All)
    }

    fn survey(&self, now_ns: u64, extent: Extent) -> Stats {
        self.layers.iter().fold(Stats::default(), |sum, layer| sum.with(layer.stats(now_ns, extent)))
    }

    /// The limiter's policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Nanoseconds since the [`epoch`](Self::epoch), by the limiter's clock: CLOCK_MONOTONIC.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.clock.now()
    }

    /// The zero of the limiter's own clock: the Monday 00:00 UTC before it was built.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.clock.epoch()
    }
}
