//! The callers: when they come, and what becomes of them.

use super::{Event, WAKING, World};
use crate::config::{Config, MS, Pattern, SECOND};
use crate::machine::{Caller, Granter, Verdict};
use crate::uses::Use;

impl World {
    /// When the next request for a key comes to a machine.
    pub(super) fn expect_arrival(&mut self, m: usize, h: u64) {
        let Config { machines, rate, is_uneven, pattern, duration, .. } = self.config;
        let weight = |m: usize| if is_uneven { 1.0 / (m + 1) as f64 } else { 1.0 };
        let all: f64 = (0..machines).map(weight).sum();
        let mean = SECOND as f64 * all / (rate * weight(m));
        let at = match pattern {
            Pattern::Steady => self.now + self.random.exponential(mean),
            Pattern::Halves(turn) => {
                let mut at = self.now + self.random.exponential(mean / 2.0);
                if (at / turn) % 2 != (m % 2) as u64 {
                    at = (at / turn + 1) * turn + at % turn;
                }
                at
            }
            Pattern::Tenth => {
                // On for a second of ten, at a time of the machine's own.
                let phase = |at: u64| (at + m as u64 * 1_777 * MS) % (10 * SECOND);
                let at = self.now + self.random.exponential(mean / 10.0);
                if phase(at) < SECOND { at } else { at + 10 * SECOND - phase(at) + self.random.below(MS) }
            }
        };
        if at < duration {
            self.schedule(at, Event::Arrives(m, h));
        }
    }

    pub(super) fn arrives(&mut self, m: usize, h: u64) {
        self.expect_arrival(m, h);
        let is_costly = self.random.chance(self.config.costly);
        let capacity = self.policy.capacity().min(20);
        let units = if is_costly { 1 + self.random.below(capacity) } else { 1 };
        let fill = is_costly && self.random.chance(0.3);
        self.next += 1;
        let caller = Caller { id: self.next, h, units, fill, came: self.now, has_waited: false };
        self.tally.requests += 1;
        self.tally.by_machine[m].0 += 1;
        self.tally.arrivals.push((self.now, h, units as u32));
        self.decides(m, caller);
    }

    /// Lets the machine's table decide; who is not answered waits.
    pub(super) fn decides(&mut self, m: usize, mut caller: Caller) {
        let machine = &mut self.machines[m];
        let local = machine.local(self.now);
        match machine.decide(&caller, local) {
            Verdict::Denied => self.waited(&caller),
            Verdict::Asked => {
                if !caller.has_waited {
                    caller.has_waited = true;
                    let until = self.now + self.config.wait;
                    self.schedule(until, Event::GivesUp(m, caller.h, caller.id));
                }
                self.machines[m].waiting.entry(caller.h).or_default().push(caller);
                self.wake(m, self.now + WAKING);
            }
            Verdict::Passed { units, by } => {
                let (shown, cost) = (self.shown(), units as u32);
                match by {
                    Granter::Store { instant, latest, known, lent } => {
                        let one = Use { instant, latest, shown, machine: m, cost, known, lent };
                        self.histories.entry(caller.h).or_default().uses.push(one);
                    }
                    Granter::Itself { instant } => {
                        let decider = (m, self.machines[m].agents, caller.h);
                        self.local.entry(decider).or_default().push((instant, cost));
                    }
                }
                caller.units -= units;
                if caller.units > 0 {
                    self.decides(m, caller);
                    return;
                }
                self.tally.admitted += 1;
                self.tally.by_machine[m].1 += 1;
                self.waited(&caller);
            }
        }
    }

    pub(super) fn waited(&mut self, caller: &Caller) {
        if caller.has_waited {
            self.tally.waited += 1;
            self.tally.waited_ns += self.now - caller.came;
        }
    }
}
