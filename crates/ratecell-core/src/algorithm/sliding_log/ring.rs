//! Instants in the order of their arrival, in memory whose want is an answer and not a panic.

use alloc::vec::Vec;

/// A queue of instants. What it holds is as long as its growth found memory; the standard library's queue
/// ends the process where there is none.
#[derive(Debug, Default)]
pub struct Ring {
    /// The instants stand in `len` slots from `head` on, and go on at the beginning.
    slots: Vec<u64>,
    /// Below the count of slots, or 0.
    head: usize,
    /// At most the count of slots.
    len: usize,
}

impl Ring {
    #[inline]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), head: 0, len: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot `distance` after the head, for a distance no more than the count of slots.
    #[inline]
    fn slot(&self, distance: usize) -> usize {
        let at = self.head + distance;
        if at >= self.slots.len() { at - self.slots.len() } else { at }
    }

    /// The `index`th instant from the oldest.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u64> {
        if index < self.len { self.slots.get(self.slot(index)).copied() } else { None }
    }

    #[inline]
    pub fn newest(&self) -> Option<u64> {
        self.get(self.len.checked_sub(1)?)
    }

    /// How many of the oldest `are_out`, which are all before the first that is not.
    #[inline]
    pub fn count_oldest(&self, are_out: impl Fn(u64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&are_out) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Drops the `oldest` and appends `count` times `instant`, all of it, or nothing where there is no
    /// memory for it. Grows to no more than `most` slots, which is enough.
    #[must_use]
    #[inline]
    pub fn advance(&mut self, oldest: usize, instant: u64, count: usize, most: usize) -> bool {
        let kept = self.len.saturating_sub(oldest);
        let len = kept.saturating_add(count);
        if len > self.slots.len() {
            let size = self.slots.len().saturating_mul(2).min(most).max(len);
            let mut slots = Vec::new();
            if slots.try_reserve_exact(size).is_err() {
                return false;
            }
            for index in 0..size {
                // It never is: the compiler sees so that `push` does not grow, which can panic.
                if slots.len() == slots.capacity() {
                    return false;
                }
                slots.push(self.get(oldest.saturating_add(index)).unwrap_or(instant));
            }
            *self = Self { slots, head: 0, len };
            return true;
        }
        self.head = self.slot(oldest.min(self.len));
        for index in kept..len {
            let at = self.slot(index);
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = instant;
            }
        }
        self.len = len;
        true
    }

    /// Drops `count` instants from the `index`th oldest on, which are there.
    pub fn remove(&mut self, index: usize, count: usize) {
        for to in index..self.len.saturating_sub(count) {
            let (from, to) = (self.get(to + count), self.slot(to));
            if let (Some(instant), Some(slot)) = (from, self.slots.get_mut(to)) {
                *slot = instant;
            }
        }
        self.retreat(count);
    }

    /// Drops the `newest`.
    #[inline]
    pub fn retreat(&mut self, newest: usize) {
        self.len = self.len.saturating_sub(newest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const MOST: usize = 20;

    proptest! {
        #[test]
        fn is_a_queue(steps in prop::collection::vec((0usize..25, 0u64..100, 0usize..9, 0usize..3), 0..60)) {
            let (mut ring, mut queue) = (Ring::new(), VecDeque::new());
            for (oldest, instant, count, newest) in steps {
                let oldest = oldest.min(queue.len());
                let count = count.min(MOST - (queue.len() - oldest));
                prop_assert!(ring.advance(oldest, instant, count, MOST));
                queue.drain(..oldest);
                queue.extend(std::iter::repeat_n(instant, count));
                ring.retreat(newest);
                queue.truncate(queue.len().saturating_sub(newest));
                prop_assert_eq!((0..ring.len()).map(|i| ring.get(i)).collect::<Option<VecDeque<_>>>(), Some(queue.clone()));
                prop_assert_eq!(ring.newest(), queue.back().copied());
                prop_assert_eq!(ring.get(queue.len()), None);
                prop_assert!(ring.slots.len() <= MOST);
            }
        }

        #[test]
        fn drops_from_the_middle(oldest in 0usize..MOST, len in 0usize..MOST, index in 0usize..MOST, count in 0usize..MOST) {
            let mut ring = Ring::new();
            // So that what it holds may go on at the beginning of the slots.
            prop_assert!(ring.advance(0, 7, oldest, MOST) && ring.advance(oldest, 7, 0, MOST));
            let mut instants: Vec<u64> = (0..len as u64).collect();
            for instant in &instants {
                prop_assert!(ring.advance(0, *instant, 1, MOST));
            }
            let (index, count) = (index.min(len), count.min(len - index.min(len)));
            ring.remove(index, count);
            instants.drain(index..index + count);
            prop_assert_eq!((0..ring.len()).filter_map(|i| ring.get(i)).collect::<Vec<_>>(), instants);
        }

        #[test]
        fn counts_the_oldest(mut instants in prop::collection::vec(0u64..50, 0..MOST), limit in 0u64..60) {
            instants.sort_unstable();
            let mut ring = Ring::new();
            for instant in &instants {
                prop_assert!(ring.advance(0, *instant, 1, MOST));
            }
            let out = |instant: u64| instant < limit;
            prop_assert_eq!(ring.count_oldest(out), instants.partition_point(|instant| out(*instant)));
        }
    }

    #[test]
    fn without_memory_it_stays_as_it_is() {
        let mut ring = Ring::new();
        assert!(ring.advance(0, 7, 3, MOST));
        assert!(!ring.advance(1, 8, usize::MAX / 2, usize::MAX));
        assert_eq!([ring.get(0), ring.get(2), ring.get(3)], [Some(7), Some(7), None]);
    }
}
