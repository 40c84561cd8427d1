//! What a request holds until it has ended.

use core::fmt;
use std::sync::Arc;

use ratecell::rules::{RulesLimiter, RulesReservation};
use ratecell::{Limiter, Reservation, Unsettled};

use crate::used::{Actual, Used};

/// What a request holds: permits of layers `in_flight`, and units that are settled. It is released when it is dropped.
#[must_use = "what is dropped is released"]
pub struct Held {
    pub(crate) of: Of,
    /// What the handler says that it used.
    used: Option<Used>,
}

pub(crate) enum Of {
    Limits(Vec<OfLimit>),
    Rules { limiter: Arc<RulesLimiter>, reservation: RulesReservation, unsettled: Unsettled },
    Nothing,
}

pub(crate) struct OfLimit {
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) reservation: Reservation,
    /// How much counts as used if the handler does not say it; `None` if it is not settled.
    pub(crate) unsettled: Option<Unsettled>,
}

impl Held {
    pub(crate) fn new(of: Of) -> Self {
        Self { of, used: None }
    }

    /// The handler has said what the request used, or will say it. If it is known, it is settled now, otherwise when the request
    /// has ended.
    pub fn used(&mut self, used: Used) {
        if let Some(actual) = used.get() {
            self.settle(actual);
        } else {
            self.used = Some(used);
        }
    }

    /// Whether the handler has promised to say what it used, and has not said it: something that is dropped with the body
    /// may still say it.
    #[must_use]
    pub fn is_awaiting(&self) -> bool {
        self.used.as_ref().is_some_and(|used| used.get().is_none())
    }

    /// Settles at what was used. Permits stay.
    fn settle(&mut self, actual: &Actual) {
        match (&mut self.of, actual) {
            (Of::Limits(limits), Actual::Units(units)) => {
                for OfLimit { limiter, reservation, unsettled } in limits {
                    // Once: a second time would give back the units of others.
                    if unsettled.take().is_some() {
                        let _ = limiter.settle(reservation.clone(), *units);
                    }
                }
            }
            (Of::Rules { limiter, reservation, unsettled }, Actual::Attributes(attributes)) => {
                limiter.settle(reservation.clone(), attributes);
                *unsettled = Unsettled::Keep;
            }
            // What is said in words of the other kind is of none of them.
            _ => {}
        }
    }

    /// Gives all units and permits back, of a request that did not take place.
    pub(crate) fn cancel(mut self) {
        match &mut self.of {
            Of::Limits(limits) => {
                limits.iter_mut().for_each(|held| held.unsettled = Some(Unsettled::Cancel));
            }
            Of::Rules { unsettled, .. } => *unsettled = Unsettled::Cancel,
            Of::Nothing => {}
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(actual) = self.used.take().as_ref().and_then(Used::get) {
            self.settle(actual);
        }
        match core::mem::replace(&mut self.of, Of::Nothing) {
            Of::Limits(limits) => {
                for OfLimit { limiter, reservation, unsettled } in limits {
                    if unsettled == Some(Unsettled::Cancel) {
                        let _ = limiter.settle(reservation.clone(), 0);
                    }
                    let _ = limiter.release(reservation);
                }
            }
            Of::Rules { limiter, reservation, unsettled } => {
                if unsettled == Unsettled::Cancel {
                    limiter.cancel(reservation.clone());
                }
                limiter.release(reservation);
            }
            Of::Nothing => {}
        }
    }
}

impl fmt::Debug for Held {
    /// Prints no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}
