//! What is asked of a limiter: whose units, how many, when and how, in one value.

use core::time::Duration;

/// A request: `cost` units of a key, or what one of its methods says otherwise.
///
/// A plain one, as [`new`](Self::new) makes it, asks for one unit now and is charged only if it is allowed.
/// Nothing in it refers to a limiter: it may be given to several.
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
#[must_use = "a request that is not given to a limiter asks nothing"]
pub struct Request<'k> {
    key: &'k [u8],
    /// Read where [`HASHED`] is set, and so with the two below.
    hash: u64,
    now_ns: u64,
    max_delay_ns: u64,
    cost: u32,
    flags: u32,
}

// The numbers are those of the C header, which hands them over as they are.
const AT: u32 = 1;
const HASHED: u32 = 1 << 2;
const WITHIN: u32 = 1 << 3;
const CHARGE: u32 = 1 << 4;
const NEXT: u32 = 1 << 5;

/// One unit of the empty key: what a limiter without keys is asked.
impl Default for Request<'_> {
    #[inline(always)]
    fn default() -> Self {
        Self { key: &[], hash: 0, now_ns: 0, max_delay_ns: u64::MAX, cost: 1, flags: 0 }
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
    /// Distinct hashes can be one key, as the documentation of the limiter says with the probability. Where others
    /// choose the keys, the hash must be one that they cannot predict, or they can choose keys that share buckets. A key
    /// by its hash is not the key by its bytes.
    #[inline(always)]
    pub fn hashed(hash: u64) -> Self {
        Self { hash, flags: HASHED, ..Self::default() }
    }

    /// A request of all its parts, of which the known ones of `flags` say what is read: for the C header's struct.
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
        Self { key, hash, now_ns, max_delay_ns, cost, flags: flags & Self::FLAGS }
    }

    /// The flags of [`from_parts`](Self::from_parts).
    #[doc(hidden)]
    pub const FLAGS: u32 = AT | HASHED | WITHIN | CHARGE | NEXT;

    /// So many units: all of them or none. 0 is a peek: it charges nothing, and the decision's `remaining` is the answer.
    #[inline(always)]
    pub fn cost(self, cost: u32) -> Self {
        Self { cost, ..self }
    }

    /// At this instant instead of now: nanoseconds since any epoch, as long as all users of the limiter use one.
    #[inline(always)]
    pub fn at(self, now_ns: u64) -> Self {
        Self { now_ns, flags: self.flags | AT, ..self }
    }

    /// Allowed only with a delay of at most `max_delay`: otherwise denied, and not charged. For callers that can hold a
    /// request only so long. With a `max_delay` of zero a `leaky_queue` can be asked as often as needed, and nothing that
    /// may yet give up has a place in it.
    ///
    /// The `retry_after` of a refusal is the time until this same request, with this same `max_delay`, is allowed. Its
    /// `delay` is the one that it would be given at the first instant at which the policy alone admits it: so the
    /// policy's own wait is `retry_after - max(0, delay - max_delay)`. Where its own units alone are delayed for
    /// longer, as those of a cost above the burst of a `leaky_queue` are, it can never go.
    ///
    /// A [`charge`](Self::charge) has no delay, so this changes nothing about it.
    #[inline(always)]
    pub fn within(self, max_delay: Duration) -> Self {
        // Longer than any delay, if it does not fit.
        self.within_ns(u64::try_from(max_delay.as_nanos()).unwrap_or(u64::MAX))
    }

    /// [`within`](Self::within) so many nanoseconds.
    #[inline(always)]
    pub fn within_ns(self, max_delay_ns: u64) -> Self {
        Self { max_delay_ns, flags: self.flags | WITHIN, ..self }
    }

    /// Charges units that have been spent already, whether or not they would be allowed: as many as there is room for,
    /// so that the key is at most full; of several layers, in each by itself. Where the clock is past the range of one
    /// of them, nothing is charged.
    ///
    /// The decision is what a peek sees afterwards. For what is known only when it is over, such as a response's status,
    /// and for refusals that are to count.
    #[inline(always)]
    pub fn charge(self) -> Self {
        Self { flags: self.flags | CHARGE, ..self }
    }

    /// Asks the decision for its `next_after`, too: the time until one unit more than `remaining` would be allowed.
    /// Where a full table has no place for the key, it is the time until there may be one. This costs a second look at
    /// the key.
    #[inline(always)]
    pub fn with_next(self) -> Self {
        Self { flags: self.flags | NEXT, ..self }
    }

    /// The key's bytes, or the caller's hash of them.
    #[inline(always)]
    #[must_use]
    pub fn key(&self) -> Key<'k> {
        if self.flags & HASHED == 0 { Key::Bytes(self.key) } else { Key::Hash(self.hash) }
    }

    /// How many units.
    #[inline(always)]
    #[must_use]
    pub fn units(&self) -> u32 {
        self.cost
    }

    /// When, if the request says so.
    #[inline(always)]
    #[must_use]
    pub fn now_ns(&self) -> Option<u64> {
        (self.flags & AT != 0).then_some(self.now_ns)
    }

    /// The longest delay with which it is allowed, if it says so.
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

    /// Whether the decision is to say what is [next](Self::with_next).
    #[inline(always)]
    #[must_use]
    pub fn wants_next(&self) -> bool {
        self.flags & NEXT != 0
    }

    /// Whether nothing but a cost is asked of the key's state, and so one [`step`](crate::algorithm::Algorithm::step)
    /// answers.
    #[inline(always)]
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.flags & (WITHIN | CHARGE | NEXT) == 0
    }

    /// Whether one [`step`](crate::algorithm::Algorithm::step) decides it: as [`is_plain`](Self::is_plain), whatever is
    /// asked of what comes next.
    #[inline(always)]
    #[must_use]
    pub(crate) fn is_step(&self) -> bool {
        self.flags & (WITHIN | CHARGE) == 0
    }
}

/// Whose units are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key<'k> {
    /// The key's bytes.
    Bytes(&'k [u8]),
    /// A hash that the caller computed.
    Hash(u64),
}
