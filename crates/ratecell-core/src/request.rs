//! A request to a limiter: key, cost, time and options in one value.

use core::time::Duration;

use crate::zone::Zone;

/// A request to a limiter: units of a key, with options.
///
/// A plain request, as [`new`](Self::new) makes it, is for one unit now, and is charged only if it is allowed. A request
/// does not refer to a limiter, and may be passed to several.
///
/// ```
/// use ratecell_core::Request;
/// use core::time::Duration;
///
/// let bytes = 1_500;
/// let plain = Request::new("user:42");
/// let large = Request::new("user:42").cost(5).within(Duration::ZERO);
/// let spent = Request::new("user:42").cost(bytes).charge();
/// assert_ne!(plain, large);
/// assert!(spent.is_charge());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a request does nothing until it is passed to a limiter"]
pub struct Request<'k> {
    key: &'k [u8],
    /// Valid if [`HASHED`] is set; the two below with [`AT`] and [`WITHIN`].
    hash: u64,
    now_ns: u64,
    max_delay_ns: u64,
    cost: u32,
    flags: u32,
    /// With [`ZONED`].
    zone: Option<&'k Zone>,
}

// The numbers are those of the C header, which passes them on unchanged.
const AT: u32 = 1;
const HASHED: u32 = 1 << 2;
const WITHIN: u32 = 1 << 3;
const CHARGE: u32 = 1 << 4;
const NEXT: u32 = 1 << 5;
const TRY: u32 = 1 << 7;
/// Not of the header, whose struct has a pointer: so that one test of the flags says what a request is.
const ZONED: u32 = 1 << 31;

/// One unit of the empty key, now: the request for a limiter without keys.
impl Default for Request<'_> {
    #[inline(always)]
    fn default() -> Self {
        Self { key: &[], hash: 0, now_ns: 0, max_delay_ns: u64::MAX, cost: 1, flags: 0, zone: None }
    }
}

impl<'k> Request<'k> {
    /// One unit of `key`, now. The empty key is valid.
    #[inline(always)]
    pub fn new(key: &'k (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { key: key.as_ref(), ..Self::default() }
    }

    /// One unit of the key with this hash, which the caller computed, now.
    ///
    /// Two hashes can be one key; the documentation of the limiter has the probability. If others choose the keys, they
    /// must not be able to predict the hash: otherwise they can choose keys that share buckets. A key given by its hash
    /// is not the key given by its bytes.
    #[inline(always)]
    pub fn hashed(hash: u64) -> Self {
        Self { hash, flags: HASHED, ..Self::default() }
    }

    /// A request from the parts of the struct in the C header. `flags` says which parts are read; unknown bits are ignored.
    #[doc(hidden)]
    #[inline(always)]
    pub fn from_parts(
        key: &'k [u8],
        hash: u64,
        now_ns: u64,
        max_delay_ns: u64,
        cost: u32,
        flags: u32,
    ) -> Self {
        Self { key, hash, now_ns, max_delay_ns, cost, flags: flags & Self::FLAGS, zone: None }
    }

    /// The flags of [`from_parts`](Self::from_parts).
    #[doc(hidden)]
    pub const FLAGS: u32 = AT | HASHED | WITHIN | CHARGE | NEXT | TRY;

    /// Sets the units: all of them are charged, or none. 0 is a peek: it charges nothing, and the decision's `remaining`
    /// is the answer.
    #[inline(always)]
    pub fn cost(self, cost: u32) -> Self {
        Self { cost, ..self }
    }

    /// Sets the instant, instead of now: nanoseconds since any epoch, as long as all users of the limiter use the same
    /// one; with a `calendar_window`, since the limiter's own. A limiter that shares its units with other machines ignores
    /// it.
    #[inline(always)]
    pub fn at(self, now_ns: u64) -> Self {
        Self { now_ns, flags: self.flags | AT, ..self }
    }

    /// Allows the request only with a delay of at most `max_delay`. Otherwise it is denied, and nothing is charged. This is
    /// for callers that can hold a request for only so long. With a `max_delay` of zero, a caller can ask a `leaky_queue`
    /// as often as needed, and never takes a place in the queue that it might give up.
    ///
    /// A denied request has two times. `retry_after` is the time until this same request, with the same `max_delay`, is
    /// allowed. `delay` is the delay that it would get at the first instant at which the policy alone admits it. So the
    /// policy's own wait is `retry_after - max(0, delay - max_delay)`. If the request's own units alone are delayed for
    /// longer than `max_delay`, as with a cost above the burst of a `leaky_queue`, it is never allowed.
    ///
    /// A [`charge`](Self::charge) has no delay, so `within` does not change it.
    #[inline(always)]
    pub fn within(self, max_delay: Duration) -> Self {
        // Longer than any delay, if it does not fit.
        self.within_ns(u64::try_from(max_delay.as_nanos()).unwrap_or(u64::MAX))
    }

    /// [`within`](Self::within) this many nanoseconds.
    #[inline(always)]
    pub fn within_ns(self, max_delay_ns: u64) -> Self {
        Self { max_delay_ns, flags: self.flags | WITHIN, ..self }
    }

    /// Charges units that have been spent already, whether or not they would be allowed. At most as many are charged as
    /// there is room for, so the key is at most full; each of several layers is filled by itself. If the clock is past the
    /// range of one of them, nothing is charged.
    ///
    /// The decision is that of a peek afterwards. This is for a cost that is known only after the work, such as one that
    /// depends on the response, and for refusals that should count.
    #[inline(always)]
    pub fn charge(self) -> Self {
        Self { flags: self.flags | CHARGE, ..self }
    }

    /// Asks for the `next_after` of the decision, too: the time until one unit more than `remaining` would be allowed. If
    /// a full table has no place for the key, it is the time until there may be one. This takes a second look at the key.
    #[inline(always)]
    pub fn with_next(self) -> Self {
        Self { flags: self.flags | NEXT, ..self }
    }

    /// Names the zone whose windows decide, for a limiter whose policy has `tz=caller`: one that the limiter made. Such a
    /// limiter refuses a request without a zone, or with a zone of another calendar, and every other limiter refuses one
    /// with a zone: the outcome is [`Never`](crate::Outcome::Never), nothing is charged, and the decision
    /// [says why](crate::Decision::is_without_zone).
    #[inline(always)]
    pub fn zone(self, zone: &'k Zone) -> Self {
        Self { zone: Some(zone), flags: self.flags | ZONED, ..self }
    }

    /// Does not wait for the store that a limiter shares with other machines. If only the store can answer, it is asked, and
    /// the outcome is [`Asked`](crate::Outcome::Asked): nothing was charged, and the caller asks again later. Other limiters
    /// never wait, so this does not change their decisions.
    #[inline(always)]
    pub fn without_waiting(self) -> Self {
        Self { flags: self.flags | TRY, ..self }
    }

    /// The key's bytes, or the caller's hash of them.
    #[inline(always)]
    #[must_use]
    pub fn key(&self) -> Key<'k> {
        if self.flags & HASHED == 0 { Key::Bytes(self.key) } else { Key::Hash(self.hash) }
    }

    /// The number of units.
    #[inline(always)]
    #[must_use]
    pub fn units(&self) -> u32 {
        self.cost
    }

    /// The instant, if the request gives one, in nanoseconds.
    #[inline(always)]
    #[must_use]
    pub fn now_ns(&self) -> Option<u64> {
        (self.flags & AT != 0).then_some(self.now_ns)
    }

    /// The longest delay with which it is allowed, if the request gives one, in nanoseconds.
    #[inline(always)]
    #[must_use]
    pub fn max_delay_ns(&self) -> Option<u64> {
        (self.flags & WITHIN != 0).then_some(self.max_delay_ns)
    }

    /// Whether it is a [`charge`](Self::charge).
    #[inline(always)]
    #[must_use]
    pub fn is_charge(&self) -> bool {
        self.flags & CHARGE != 0
    }

    /// Whether it asks for the decision's [`next_after`](Self::with_next).
    #[inline(always)]
    #[must_use]
    pub fn wants_next(&self) -> bool {
        self.flags & NEXT != 0
    }

    /// The zone that it names.
    #[inline(always)]
    #[must_use]
    pub fn named_zone(&self) -> Option<&'k Zone> {
        if self.flags & ZONED == 0 { None } else { self.zone }
    }

    /// The same request of no zone.
    #[inline(always)]
    pub(crate) fn without_zone(self) -> Self {
        Self { zone: None, flags: self.flags & !ZONED, ..self }
    }

    /// The same request, with another hash if the key is given by one.
    #[doc(hidden)]
    #[inline(always)]
    pub fn without_hash(&self) -> Self {
        Self { hash: 0, ..*self }
    }

    /// So many units of the empty key, now, in the zone of this request.
    #[doc(hidden)]
    #[inline(always)]
    pub fn units_alone(&self, cost: u32) -> Self {
        Self { zone: self.zone, flags: self.flags & ZONED, ..Self::default() }.cost(cost)
    }

    /// Whether it does [not wait](Self::without_waiting) for a store.
    #[inline(always)]
    #[must_use]
    pub fn is_without_waiting(&self) -> bool {
        self.flags & TRY != 0
    }

    /// Whether it has no option but the time and the hash, so that one [`step`](crate::algorithm::Algorithm::step) answers
    /// it whole.
    #[inline(always)]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.flags & (WITHIN | CHARGE | NEXT | ZONED) == 0
    }

    /// Whether one [`step`](crate::algorithm::Algorithm::step) decides it. It may still ask for
    /// [`next_after`](Self::with_next), which [`is_plain`](Self::is_plain) excludes.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_step(&self) -> bool {
        self.flags & (WITHIN | CHARGE | ZONED) == 0
    }
}

/// The key of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key<'k> {
    /// The key's bytes.
    Bytes(&'k [u8]),
    /// A hash that the caller computed.
    Hash(u64),
}
