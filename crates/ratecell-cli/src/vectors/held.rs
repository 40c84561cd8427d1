//! The keys of a section about reservations and permits: a limiter for each.

use std::collections::HashMap;

use anyhow::Result;
use ratecell::{BuildError, Decision, Limiter, Policy, Request, Reservation};
use ratecell_vectors::{Holds, Judge, held};

use super::keys::built;

/// What was given back is counted for neighbouring keys together, and the vectors for each apart: so each has a limiter.
struct Keys {
    /// The first policy.
    first: Policy,
    epoch: Option<i64>,
    /// Of no key: it has seen every change, and says what is in force.
    changed: Limiter,
    policy: Policy,
    /// Those that were made, each at its instant.
    changes: Vec<(Policy, u64)>,
    limiters: HashMap<String, Limiter>,
    /// By their numbers, with their keys.
    reservations: HashMap<u64, (String, Reservation)>,
}

pub(super) fn judge() -> Judge {
    held(|policy, epoch, _| {
        Ok(Box::new(Keys {
            first: policy.clone(),
            epoch,
            // A policy that cannot be built is an error of the section, not of a row.
            changed: built(policy.clone(), epoch, 1)?,
            policy,
            changes: Vec::new(),
            limiters: HashMap::new(),
            reservations: HashMap::new(),
        }))
    })
}

impl Keys {
    fn limiter(&mut self, key: &str) -> &Limiter {
        let (first, epoch, changes) = (&self.first, self.epoch, &self.changes);
        self.limiters.entry(key.to_owned()).or_insert_with(|| {
            // All of it was done once, with the same arguments.
            let limiter = built(first.clone(), epoch, 1).unwrap_or_else(|error| panic!("{error}"));
            for (policy, at) in changes {
                limiter.change_at(policy.clone(), *at).unwrap_or_else(|error| panic!("{error}"));
            }
            limiter
        })
    }

    fn reservation(&self, number: u64) -> Option<(&Limiter, Reservation)> {
        let (key, reservation) = self.reservations.get(&number)?;
        Some((self.limiters.get(key)?, reservation.clone()))
    }
}

impl Holds for Keys {
    fn check(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision {
        self.limiter(key).check_at(key, cost, now_ns)
    }

    fn charge(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision {
        self.limiter(key).decide(Request::new(key).cost(cost).at(now_ns).charge())
    }

    fn forget(&mut self, key: &str) {
        self.limiter(key).forget(key);
    }

    fn reserve(&mut self, number: u64, key: &str, cost: u32, now_ns: u64) -> Decision {
        match self.limiter(key).reserve(Request::new(key).cost(cost).at(now_ns)) {
            Ok((decision, reservation)) => {
                let held = reservation.map(|reservation| (number, (key.to_owned(), reservation)));
                self.reservations.extend(held);
                decision
            }
            Err(_) => Decision::clock_range(0),
        }
    }

    fn settle(&mut self, number: u64, actual: u32, now_ns: u64) -> Option<Decision> {
        let (limiter, reservation) = self.reservation(number)?;
        Some(limiter.settle_at(reservation, actual, now_ns))
    }

    fn release(&mut self, number: u64, now_ns: u64) -> Option<Decision> {
        let (limiter, permit) = self.reservation(number)?;
        Some(limiter.release_at(permit, now_ns))
    }

    fn renew(&mut self, number: u64, now_ns: u64) -> Option<Decision> {
        let (limiter, mut permit) = self.reservation(number)?;
        let decision = limiter.renew_at(&mut permit, now_ns);
        if let Some((_, held)) = self.reservations.get_mut(&number) {
            *held = permit;
        }
        Some(decision)
    }

    fn change(&mut self, policy: &Policy, now_ns: u64) -> Result<(), &'static str> {
        for limiter in [&self.changed].into_iter().chain(self.limiters.values()) {
            limiter.change_at(policy.clone(), now_ns).map_err(|error| match error {
                BuildError::Change(error) => error.code(),
                _ => "another error",
            })?;
        }
        self.changes.push((policy.clone(), now_ns));
        self.policy = Policy::clone(&self.changed.policy());
        Ok(())
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}
