//! Decisions that are made together: those of one limiter in a row.

use core::mem;
use std::rc::Rc;

use ratecell::{Decision, Limiter, Request};
use smallvec::SmallVec;

use super::decide::write as write_check;
use super::throttle::write as write_throttle;
use crate::limits::{Limits, View};
use crate::resp::Replies;

/// Decisions of one call.
const MAX_CALL: usize = 32;
/// About the bytes of a reply: six short integers.
const REPLY_BYTES: usize = 48;

/// The limiter that decides a batch.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Named(usize),
    Throttle(Rc<View>),
}

impl Target {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(one), Self::Named(other)) => one == other,
            (Self::Throttle(one), Self::Throttle(other)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }
}

/// Requests whose decisions are still to be made.
#[derive(Debug, Default)]
pub(super) struct Batch {
    target: Option<Target>,
    /// One behind the other.
    keys: Vec<u8>,
    /// Where each key ends, and its cost.
    requests: Vec<(usize, u32)>,
}

impl Batch {
    /// Whether a request to `target` can be added to those that are there.
    #[inline]
    pub(super) fn takes(&self, target: &Target) -> bool {
        self.target.as_ref().is_none_or(|held| held.is(target))
    }

    /// Adds a request to the one limiter of the batch.
    #[inline]
    pub(super) fn push(&mut self, target: &Target, key: &[u8], cost: u32) {
        if self.target.is_none() {
            self.target = Some(target.clone());
        }
        self.keys.extend_from_slice(key);
        if let Target::Throttle(view) = target {
            self.keys.extend_from_slice(view.rate.as_bytes());
        }
        self.requests.push((self.keys.len(), cost));
    }

    /// About how long the replies will be.
    #[inline]
    pub(super) fn reply_bytes(&self) -> usize {
        self.requests.len() * REPLY_BYTES
    }

    /// Decides all requests and writes the replies. The batch is then empty.
    #[inline]
    pub(super) fn decide(&mut self, limits: &Limits, replies: &mut Replies) {
        match mem::take(&mut self.target) {
            None => {}
            Some(Target::Named(number)) => self.decide_by(limits.limiter(number), replies, write_check),
            Some(Target::Throttle(view)) => self.decide_by(&view.limiter, replies, write_throttle),
        }
    }

    fn decide_by(
        &mut self,
        limiter: &Limiter,
        replies: &mut Replies,
        write: impl Fn(&mut Replies, &Decision),
    ) {
        let mut begin = 0;
        for chunk in self.requests.chunks(MAX_CALL) {
            let requests = chunk.iter().map(|(end, cost)| {
                let key = &self.keys[mem::replace(&mut begin, *end)..*end];
                Request::new(key).cost(*cost)
            });
            let requests: SmallVec<[Request<'_>; MAX_CALL]> = requests.collect();
            let mut decisions = [const { Decision::allowed(0) }; MAX_CALL];
            let decisions = &mut decisions[..requests.len()];
            limiter.decide_batch(&requests, decisions);
            decisions.iter().for_each(|decision| write(replies, decision));
        }
        self.clear();
    }

    /// Takes out what is there, undecided.
    pub(super) fn clear(&mut self) {
        self.target = None;
        self.requests.clear();
        self.keys.clear();
    }
}
