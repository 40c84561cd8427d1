//! Naming the keys that are denied.

use super::{Inlined, Limiter};
#[cfg(not(ratecell_model))]
use crate::names::Names;
use crate::table::Lookup;
use ratecell_core::{Decision, Key, Outcome, Request};

/// Where a plain request is decided that the inlined path does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// By the tables.
    Here,
    /// By the store that machines share, or where denied keys are named.
    Aside,
}

impl Limiter {
    /// The same limiter, which names the keys that it denies if there is room for names.
    #[cfg(not(ratecell_model))]
    pub(super) fn naming(self, names: Option<Names>) -> Self {
        if names.is_none() {
            return self;
        }
        let inlined = self.inlined.handing_denials_on();
        Self { inlined, names: names.map(Box::new), late: Late::Aside, ..self }
    }

    /// Decides a plain request that the inlined path did not, or denied, and names its key if it is denied.
    #[inline(never)]
    pub(super) fn decide_aside(&self, h: u64, now: u64, lookup: Lookup, request: &Request<'_>) -> Decision {
        let (cost, given) = (request.units(), request.now_ns());
        let decision = match &self.remote {
            Some(_) => self.decide_leased(h, now, cost, request.is_without_waiting(), given.is_some()),
            None if lookup == Lookup::NotYet && matches!(self.inlined, Inlined::Gcra(..)) => {
                self.in_force(now, given, |regime, now| regime.decide(h, now, request))
            }
            None => self.decide_late(h, now, cost, lookup, given),
        };
        self.note(h, request, &decision);
        decision
    }

    /// [`note`](Self::note) of a request whose hash is not at hand.
    #[inline]
    pub(super) fn note_refused(&self, request: &Request<'_>, decision: &Decision) {
        if self.names.is_some() {
            self.note(self.hash(request), request, decision);
        }
    }

    /// Names the key of a request that was denied, if denied keys are named.
    #[inline]
    pub(super) fn note(&self, h: u64, request: &Request<'_>, decision: &Decision) {
        let Some(names) = &self.names else { return };
        // A peek asks for nothing.
        let is_denied = decision.outcome() == Outcome::Denied && !decision.is_superseded();
        if is_denied && request.units() > 0 {
            let key = match request.key() {
                Key::Bytes(key) => Some(key),
                Key::Hash(_) => None,
            };
            names.note(h, key);
        }
    }

    /// How many requests were denied in the region since it was made, by all of its limiters; `None` if it does not
    /// [name](crate::LimiterBuilder::names) denied keys.
    ///
    /// It is exact: each request counts whose outcome was [`Denied`](Outcome::Denied), also for want of a place in a full
    /// table, and each claim that was denied of several. One that waits counts whenever it asks and is denied. A peek does
    /// not count, nor does a request that can never be allowed.
    #[must_use]
    pub fn denied(&self) -> Option<u64> {
        self.names.as_ref().map(|names| names.total())
    }
}
