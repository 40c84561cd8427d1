//! Records in the order of time, by a window in which they wait.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Servers write a record when its request ends, and their workers have buffers: stamps step back. Whatever is
/// pushed here waits until a time at least `width_ns` later has been pushed, and comes out by its time; what has
/// the same time, in the order in which it was pushed.
///
/// What comes too late for that gets the time of what has come out last.
#[derive(Debug)]
pub struct Window<T> {
    width_ns: u64,
    /// What is not earlier than what was pushed before it: in the order of time as it is.
    run: VecDeque<Waiting<T>>,
    strays: BinaryHeap<Reverse<Waiting<T>>>,
    pushed: u64,
    newest_ns: u64,
    last_ns: u64,
    late: u64,
    furthest_back_ns: u64,
    closed: bool,
}

#[derive(Debug)]
struct Waiting<T> {
    time_ns: u64,
    /// How many were pushed before.
    place: u64,
    item: T,
}

impl<T> Waiting<T> {
    fn rank(&self) -> (u64, u64) {
        (self.time_ns, self.place)
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<T> Eq for Waiting<T> {}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl<T> Window<T> {
    /// A window of that width.
    #[must_use]
    pub fn new(width_ns: u64) -> Self {
        Self {
            width_ns,
            run: VecDeque::new(),
            strays: BinaryHeap::new(),
            pushed: 0,
            newest_ns: 0,
            last_ns: 0,
            late: 0,
            furthest_back_ns: 0,
            closed: false,
        }
    }

    /// The next item, in the order of the file.
    pub fn push(&mut self, time_ns: u64, item: T) {
        let waiting = Waiting { time_ns, place: self.pushed, item };
        self.pushed += 1;
        self.furthest_back_ns = self.furthest_back_ns.max(self.newest_ns.saturating_sub(time_ns));
        self.newest_ns = self.newest_ns.max(time_ns);
        match self.run.back() {
            Some(last) if time_ns < last.time_ns => self.strays.push(Reverse(waiting)),
            _ => self.run.push_back(waiting),
        }
    }

    /// Nothing more comes: everything can come out.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The next item that can come out, and the time that it has there, which never steps back.
    pub fn pop(&mut self) -> Option<(u64, T)> {
        let in_run = self.run.front().map(Waiting::rank);
        let stray = self.strays.peek().map(|Reverse(waiting)| waiting.rank());
        let is_stray = match (in_run, stray) {
            (Some(in_run), Some(stray)) => stray < in_run,
            (in_run, _) => in_run.is_none(),
        };
        let (time_ns, _) = if is_stray { stray? } else { in_run? };
        if !self.closed && time_ns.saturating_add(self.width_ns) > self.newest_ns {
            return None;
        }
        let next = if is_stray { self.strays.pop()?.0 } else { self.run.pop_front()? };
        self.late += u64::from(time_ns < self.last_ns);
        self.last_ns = self.last_ns.max(time_ns);
        Some((self.last_ns, next.item))
    }

    /// How many came out at another time than they were pushed with.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.late
    }

    /// The furthest that a time was behind one before it: a window so wide is enough for all to come out in order.
    #[must_use]
    pub fn furthest_back_ns(&self) -> u64 {
        self.furthest_back_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition word by word: after each record all whose time has come, the least first.
    fn by_definition(times: &[u64], width: u64) -> (Vec<(u64, usize)>, u64) {
        let (mut waiting, mut out, mut late, mut last) = (Vec::new(), Vec::new(), 0, 0);
        let mut newest = 0;
        for step in 0..=times.len() {
            let end = step == times.len();
            if !end {
                waiting.push((times[step], step));
                newest = newest.max(times[step]);
            }
            waiting.sort_unstable();
            let ready = waiting.iter().take_while(|(time, _)| end || time + width <= newest).count();
            for (time, place) in waiting.drain(..ready) {
                late += u64::from(time < last);
                last = last.max(time);
                out.push((last, place));
            }
        }
        (out, late)
    }

    #[test]
    fn random_times_come_out_as_defined() {
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut any_late = 0;
        for _ in 0..2000 {
            let (width, spread) = (draw(8), 1 + draw(20));
            let times: Vec<_> = (0..draw(60)).map(|i| i / 3 + draw(spread)).collect();
            let mut window = Window::new(width);
            let mut out = Vec::new();
            for (place, time) in times.iter().enumerate() {
                window.push(*time, place);
                out.extend(std::iter::from_fn(|| window.pop()));
            }
            window.close();
            out.extend(std::iter::from_fn(|| window.pop()));
            assert_eq!((out, window.late()), by_definition(&times, width), "{times:?} within {width}");
            any_late += window.late();
        }
        assert!(any_late > 100, "{any_late}");
    }
}
