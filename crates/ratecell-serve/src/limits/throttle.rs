//! The policies that clients name themselves, in each request: all over one table.
//!
//! Another rate is another cell: the key ends with it. Another burst at the same rate is another view of the same cell.

use core::fmt::Write;
use core::num::NonZeroUsize;
use core::time::Duration;
use std::rc::Rc;

use lru::LruCache;
use ratecell::{Limiter, Policy};

/// The policy of the table. Ticks of 1/21 ns are exact for rates of thirds and sevenths, of which periods of seconds have
/// none, and leave a word room for bursts that take 18 years. Other rates are lower by less than a tick for each unit.
const BASE: &str = "21/1ns burst=1";

/// Policies that an event loop remembers. To make one again takes some microseconds.
const MAX_VIEWS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

pub(super) fn base() -> Policy {
    // A test parses it.
    BASE.parse().unwrap_or_else(|error| unreachable!("{error}"))
}

/// A policy as a client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Terms {
    pub(crate) max_burst: u32,
    pub(crate) count: u32,
    pub(crate) period_s: u32,
}

/// A limiter by such a policy.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) limiter: Limiter,
    /// What ends the keys of its rate: a space, and the rate in lowest terms.
    pub(crate) rate: String,
}

/// Why a policy that a client names is none.
pub(crate) type Refusal = String;

/// The policies that one event loop has met last.
#[derive(Debug)]
pub(crate) struct Views {
    views: LruCache<Terms, Rc<View>, foldhash::fast::RandomState>,
    /// The one that was asked for last, which most clients ask for again.
    last: Option<(Terms, Rc<View>)>,
}

impl Views {
    pub(crate) fn new() -> Self {
        Self { views: LruCache::with_hasher(MAX_VIEWS, foldhash::fast::RandomState::default()), last: None }
    }

    /// # Errors
    /// There is no such policy.
    #[inline]
    pub(crate) fn of(&mut self, base: &Limiter, terms: Terms) -> Result<&Rc<View>, Refusal> {
        let is_last = self.last.as_ref().is_some_and(|(last, _)| *last == terms);
        if !is_last {
            let view = self.other(base, terms)?;
            self.last = Some((terms, view));
        }
        self.last.as_ref().map(|(_, view)| view).ok_or_else(Refusal::new)
    }

    fn other(&mut self, base: &Limiter, terms: Terms) -> Result<Rc<View>, Refusal> {
        if let Some(view) = self.views.get(&terms) {
            return Ok(Rc::clone(view));
        }
        let view = Rc::new(View::new(base, terms)?);
        self.views.put(terms, Rc::clone(&view));
        Ok(view)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.views.len()
    }
}

impl View {
    fn new(base: &Limiter, Terms { max_burst, count, period_s }: Terms) -> Result<Self, Refusal> {
        let period = Duration::from_secs(period_s.into());
        let burst = max_burst.checked_add(1).ok_or("max_burst is too large: expected at most 4294967294")?;
        let policy = Policy::gcra(count, period).burst(burst).build().map_err(|error| error.to_string())?;
        let limiter = base.with_policy(policy).map_err(|error| error.to_string())?;
        let divisor = divisor(count, period_s);
        let mut rate = String::new();
        // To a string it cannot fail.
        let _ = write!(rate, " {}/{}s", count / divisor, period_s / divisor);
        Ok(Self { limiter, rate })
    }
}

/// The greatest common one; 1 of nothing.
fn divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

#[cfg(test)]
mod tests;
