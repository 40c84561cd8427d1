//! Permits in flight that are out, so that they can be released by hand.

use std::collections::{HashMap, VecDeque};

/// Permits of a client that are remembered at most, the newest.
const MOST: usize = 10_000;

/// What a request was given by each layer `in_flight`: the window, where the layer is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    pub(crate) windows: Vec<Option<u64>>,
    pub(crate) cost: u32,
}

/// By client, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Permits(HashMap<u32, VecDeque<Permit>>);

impl Permits {
    pub(crate) fn give(&mut self, client: u32, permit: Permit) {
        let out = self.0.entry(client).or_default();
        if out.len() == MOST {
            out.pop_front();
        }
        out.push_back(permit);
    }

    /// The oldest that is still out, as far as is known.
    pub(crate) fn take(&mut self, client: u32) -> Option<Permit> {
        self.0.get_mut(&client)?.pop_front()
    }
}
