//! Deciding by leases: what the machine holds, and what it asks for.

use super::naming::Late;
use super::regime::Regime;
use super::remote::{FILL, Remote, Shared, Wait};
use super::{Limiter, ReserveError};
use ratecell_core::{Decision, Outcome, Request};

impl Limiter {
    /// The same limiter, of units that many machines share, of which it reserves none.
    pub(super) fn of_many_machines(self, remote: Remote) -> Self {
        Self {
            reserving: Err(ReserveError::Shared),
            remote: Some(Box::new(remote)),
            late: Late::Aside,
            ..self
        }
    }

    /// Decides a plain request by leases. A lease ends by the limiter's own clock: an instant that the caller gave, which may
    /// be earlier, is not believed.
    #[inline(never)]
    pub(super) fn decide_leased(
        &self,
        h: u64,
        now: u64,
        cost: u32,
        is_try: bool,
        is_given: bool,
    ) -> Decision {
        let now = if is_given { self.clock.now() } else { now };
        let decision = self.decide_held(h, now, cost);
        match &self.remote {
            Some(remote) if decision.outcome() == Outcome::Asked => {
                let request = Request::default().cost(cost);
                let request = if is_try { request.without_waiting() } else { request };
                self.ask(remote, h, &request)
            }
            _ => decision,
        }
    }

    /// Decides a plain request by the lease that is held, if there is one.
    #[inline(always)]
    fn decide_held(&self, h: u64, now: u64, cost: u32) -> Decision {
        self.in_force(now, None, |regime, now| regime.decide_held(h, now, cost))
    }

    /// Decides any request by the lease that is held.
    pub(super) fn decide_held_apart(&self, h: u64, request: &Request<'_>) -> Decision {
        let decide = |regime: &Regime, now| regime.layers.decide_apart(h, now, request);
        self.in_force(self.clock.now(), None, decide)
    }

    /// The answer to a request that no lease answers.
    #[cold]
    #[inline(never)]
    pub(super) fn ask(&self, remote: &Remote, h: u64, request: &Request<'_>) -> Decision {
        let mut wait = Wait::new(remote, h, self.clock.now(), request.is_without_waiting());
        loop {
            let ticket = remote.board.ticket(h);
            let now = self.clock.now();
            let decision = self.decide_held_apart(h, request);
            if decision.outcome() != Outcome::Asked {
                return decision;
            }
            if let Err(why) =
                wait.ask(remote, h, u64::from(request.units()), ticket, now, wait.elapsed_ns(now))
            {
                return remote.end(&why, decision, request, remote.on_failure);
            }
        }
    }

    /// Charges units that have been spent: from the lease, and what it does not hold from the store, as far as there is
    /// room.
    #[cold]
    #[inline(never)]
    pub(super) fn charge_leased(&self, remote: &Remote, h: u64, request: &Request<'_>) -> Decision {
        let mut left = request.units();
        let mut wait = None;
        loop {
            let ticket = remote.board.ticket(h);
            let now = self.clock.now();
            let elapsed_ns = wait.as_ref().map_or(0, |wait: &Wait| wait.elapsed_ns(now));
            let decide = |cost| self.decide_held_apart(h, &Request::default().cost(cost));
            let there = decide(0);
            let part = u32::try_from(there.remaining()).unwrap_or(u32::MAX).clamp(1, left.max(1));
            let decision = if left == 0 { return there } else { decide(part) };
            match decision.outcome() {
                Outcome::Allowed => left -= part,
                Outcome::Asked => {
                    let is_try = request.is_without_waiting();
                    let wait = wait.get_or_insert_with(|| Wait::new(remote, h, now, is_try));
                    if wait.ask(remote, h, u64::from(left) | FILL, ticket, now, elapsed_ns).is_err() {
                        return there;
                    }
                }
                Outcome::ClockRange => return decision,
                // It is full.
                _ => return there,
            }
        }
    }

    /// Decides a request by what this machine holds. Where only the store can answer, the outcome is `Asked`, but it is not
    /// asked. For bindings that wait in another way than they decide; no charge.
    #[doc(hidden)]
    pub fn decide_here(&self, request: Request<'_>) -> Decision {
        if self.remote.is_none() {
            return self.decide(request);
        }
        let (h, now) = (self.hash(&request), self.clock.now());
        let decision = if request.is_plain() {
            self.decide_held(h, now, request.units())
        } else {
            self.decide_held_apart(h, &request)
        };
        self.note(h, &request, &decision);
        decision
    }

    /// For a limiter that shares its units with other machines: its agent's state and counts; `None` for any other.
    ///
    /// The counts are those of the machine: of all limiters on one file, since it was made.
    #[must_use]
    pub fn shared(&self) -> Option<Shared> {
        self.remote.as_ref().map(|remote| remote.shared(self.clock.now()))
    }

    /// [`shared`](Self::shared) without its texts, which take memory.
    #[cfg(feature = "capi")]
    pub(crate) fn shared_counts(&self) -> Option<Shared> {
        self.remote.as_ref().map(|remote| remote.counts(self.clock.now()))
    }
}
