//! A layer of a policy with what holds its keys' states: a table, or one state for everything.

use core::ops::Deref;

use super::layers::{Inquiry, Layer, Refund};
use crate::cell::{Cell, Verdict};
use crate::table::{Holding, Lookup};
use ratecell_core::algorithm::{Algorithm, Entries, InFlight, Kernel, Reserve, SlidingLog};
use ratecell_core::{Decision, Request, with_kernel};

/// What holds a layer's words.
pub(super) trait Words {
    /// What a charge can be taken back from.
    type Cell<'c>: Cell
    where
        Self: 'c;

    /// Decides `request` at `now` on the word of the key of hash `h`, and charges it if it is allowed.
    fn charge<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Verdict<Self::Cell<'_>>;

    /// [`charge`](Self::charge), and what is held of it.
    fn reserve<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Verdict<Self::Cell<'_>>, Option<Holding>);

    /// Takes back a permit of `cost` units that was given at `now`.
    fn release(&self, in_flight: &InFlight, h: u64, permit: &Holding, cost: u32, now: u64);

    /// Decides so many units at `now`, and charges them if they are allowed: a plain request.
    fn decide_cost<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
        lookup: Lookup,
    ) -> Decision;

    /// The decision of a request that had this verdict.
    fn report<A: Algorithm>(
        &self,
        algorithm: &A,
        verdict: &Verdict<Self::Cell<'_>>,
        now: u64,
        request: &Request<'_>,
    ) -> Decision;

    /// Decides, and writes nothing.
    fn peek<A: Algorithm>(&self, algorithm: &A, h: u64, now: u64, request: &Request<'_>) -> Decision;

    /// Makes a key as if never seen; says whether there was anything to forget.
    fn forget(&self, h: u64) -> bool;
}

/// What holds a layer's logs.
pub(super) trait Logs {
    /// Decides `request` at `now`, and charges it if it is allowed; what was charged, if it can be taken back.
    fn charge(
        &self,
        log: &SlidingLog,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>);

    /// [`charge`](Self::charge), and what is held of it.
    fn reserve(
        &self,
        log: &SlidingLog,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Entries>, Option<Holding>);

    /// Decides so many units, and writes nothing.
    fn peek(&self, log: &SlidingLog, h: u64, now: u64, cost: u32) -> Decision;

    /// Takes a charge back.
    fn refund(&self, h: u64, entries: Entries);

    /// Makes a key as if never seen; says whether there was anything to forget.
    fn forget(&self, h: u64) -> bool;
}

/// A layer's algorithm, and its states.
#[derive(Debug)]
pub(super) enum States<W, L> {
    Words(Kernel, W),
    Logs(SlidingLog, L),
}

impl<W: Words, L: Logs> States<W, L> {
    fn decide(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        match self {
            Self::Words(kernel, words) => with_kernel!(kernel, algorithm => {
                words.report(algorithm, &words.charge(algorithm, h, now, request), now, request)
            }),
            Self::Logs(log, logs) => logs.charge(log, h, now, request).0,
        }
    }

    fn decide_cost(&self, h: u64, now: u64, cost: u32, lookup: Lookup) -> Decision {
        match self {
            Self::Words(kernel, words) => {
                with_kernel!(kernel, algorithm => words.decide_cost(algorithm, h, now, cost, lookup))
            }
            Self::Logs(log, logs) => logs.charge(log, h, now, &Request::default().cost(cost)).0,
        }
    }

    /// [`reserve`](Layer::reserve) of a layer without others, for which nothing takes it back.
    pub(super) fn reserve_alone(
        &self,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Option<Holding>) {
        match self {
            Self::Words(kernel, words) => with_kernel!(kernel, algorithm => {
                let (decision, _, holding) = words.reserve(algorithm, h, now, request);
                (decision, holding)
            }),
            Self::Logs(log, logs) => {
                let (decision, _, holding) = logs.reserve(log, h, now, request);
                (decision, holding)
            }
        }
    }

    pub(super) fn forget(&self, h: u64) -> bool {
        match self {
            Self::Words(_, words) => words.forget(h),
            Self::Logs(_, logs) => logs.forget(h),
        }
    }
}

/// What takes a layer's charge back.
#[derive(Debug)]
pub(super) enum Receipt<'l, C, W, L> {
    Word(Verdict<C>),
    /// Of requests in flight: taken back whatever came after it.
    Permit(&'l W, InFlight, Permit),
    Log(&'l L, u64, Entries),
    /// It stays.
    Kept,
}

/// What was given of the layers in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Permit {
    h: u64,
    holding: Holding,
    cost: u32,
    now: u64,
}

impl<C: Cell, W: Words, L: Logs> Refund for Receipt<'_, C, W, L> {
    fn refund(self, earlier: &mut [Self]) {
        match self {
            Self::Word(verdict) => {
                let Some(cell) = verdict.refund() else { return };
                for receipt in earlier {
                    if let Self::Word(verdict) = receipt {
                        verdict.follow(&cell);
                    }
                }
            }
            Self::Permit(words, in_flight, Permit { h, holding, cost, now }) => {
                words.release(&in_flight, h, &holding, cost, now);
            }
            Self::Log(logs, h, entries) => logs.refund(h, entries),
            Self::Kept => {}
        }
    }
}

impl<W: Words, L: Logs> Layer for States<W, L> {
    type Receipt<'l>
        = Receipt<'l, W::Cell<'l>, W, L>
    where
        Self: 'l;

    fn peek(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        match self {
            Self::Words(kernel, words) => {
                with_kernel!(kernel, algorithm => words.peek(algorithm, h, now, request))
            }
            Self::Logs(log, logs) => {
                let cost = if request.is_charge() { 0 } else { request.units() };
                let peeked = logs.peek(log, h, now, cost);
                // No request names a zone for it.
                if request.named_zone().is_some() { peeked.without_zone() } else { peeked }
            }
        }
    }

    fn is_in_flight(&self) -> bool {
        matches!(self, Self::Words(Kernel::InFlight(_), _))
    }

    fn charge(&self, h: u64, now: u64, request: &Request<'_>) -> (Decision, Self::Receipt<'_>) {
        match self {
            Self::Words(Kernel::InFlight(_), _) => {
                let (decision, receipt, _) = self.reserve(h, now, request);
                (decision, receipt)
            }
            Self::Words(kernel, words) => with_kernel!(kernel, algorithm => {
                let verdict = words.charge(algorithm, h, now, request);
                (words.report(algorithm, &verdict, now, request), Receipt::Word(verdict))
            }),
            Self::Logs(log, logs) => {
                let (decision, entries) = logs.charge(log, h, now, request);
                (decision, entries.map_or(Receipt::Kept, |entries| Receipt::Log(logs, h, entries)))
            }
        }
    }

    fn reserve(
        &self,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Self::Receipt<'_>, Option<Holding>) {
        match self {
            Self::Words(Kernel::InFlight(in_flight), words) => {
                let (decision, _, holding) = words.reserve(in_flight, h, now, request);
                let permit = |holding| Permit { h, holding, cost: request.units(), now };
                let receipt = holding
                    .map_or(Receipt::Kept, |holding| Receipt::Permit(words, *in_flight, permit(holding)));
                (decision, receipt, holding)
            }
            Self::Words(kernel, words) => with_kernel!(kernel, algorithm => {
                let (decision, verdict, holding) = words.reserve(algorithm, h, now, request);
                (decision, Receipt::Word(verdict), holding)
            }),
            Self::Logs(log, logs) => {
                let (decision, entries, holding) = logs.reserve(log, h, now, request);
                let receipt = entries.map_or(Receipt::Kept, |entries| Receipt::Log(logs, h, entries));
                (decision, receipt, holding)
            }
        }
    }
}

/// The layers of a limiter. One alone, as most have, stands in the limiter itself.
#[derive(Debug)]
pub(super) enum Layers<W, L> {
    One(States<W, L>),
    Several(Box<[States<W, L>]>),
}

impl<W, L> FromIterator<States<W, L>> for Layers<W, L> {
    fn from_iter<I: IntoIterator<Item = States<W, L>>>(layers: I) -> Self {
        let mut layers: Vec<_> = layers.into_iter().collect();
        match (layers.pop(), layers.is_empty()) {
            (Some(layer), true) => Self::One(layer),
            (last, _) => {
                layers.extend(last);
                Self::Several(layers.into_boxed_slice())
            }
        }
    }
}

impl<W, L> Deref for Layers<W, L> {
    type Target = [States<W, L>];

    #[inline]
    fn deref(&self) -> &[States<W, L>] {
        match self {
            Self::One(layer) => core::slice::from_ref(layer),
            Self::Several(layers) => layers,
        }
    }
}

impl<W: Words, L: Logs> Layers<W, L> {
    /// Decides `cost` units, and charges them if they are allowed.
    #[inline(never)]
    pub(super) fn decide_cost(&self, h: u64, now: u64, cost: u32, lookup: Lookup) -> Decision {
        match self {
            Self::One(layer) => layer.decide_cost(h, now, cost, lookup),
            Self::Several(layers) => {
                Inquiry { layers, h, now, request: Request::default().cost(cost) }.decide()
            }
        }
    }

    /// Decides a request that is not plain, out of the way of those that are.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_apart(&self, h: u64, now: u64, request: &Request<'_>) -> Decision {
        let inquiry = Inquiry { layers: self, h, now, request: *request };
        inquiry.with_next(match self {
            Self::One(layer) => layer.decide(h, now, request),
            Self::Several(_) => inquiry.decide(),
        })
    }

    /// Makes a key as if never seen; says whether there was anything to forget.
    pub(super) fn forget(&self, h: u64) -> bool {
        self.iter().fold(false, |held, layer| layer.forget(h) | held)
    }
}
