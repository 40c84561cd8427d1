//! When requests are decided: in the order of time, and spread over their stamps.

use ratecell_logs::{Group, Window};

use super::assumptions::Assumptions;
use super::period::Period;

/// Brings the requests of a log to the times at which they are decided. Memory grows with those of one window.
#[derive(Debug)]
pub(crate) struct Timeline<T> {
    pub(crate) records: u64,
    pub(crate) period: Option<Period>,
    /// The furthest that a time was behind one before it in the log.
    pub(crate) furthest_back_ns: u64,
    window: Option<Window<Stamped<T>>>,
    group: Group<(u64, T)>,
}

/// A request with the digits of its stamp.
type Stamped<T> = (u8, T);

/// When a request is decided, in nanoseconds since the epoch of the period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct When {
    /// Its stamp, or the time of its arrival.
    pub(crate) stamp_ns: u64,
    /// The same, spread with those of the same stamp.
    pub(crate) now_ns: u64,
}

impl<T> Timeline<T> {
    pub(crate) fn new(assumptions: Assumptions) -> Self {
        Self {
            records: 0,
            period: None,
            furthest_back_ns: 0,
            window: assumptions.window_ns.map(Window::new),
            group: Group::new(assumptions.spread),
        }
    }

    /// Notes the time of the next request of the log, and returns it since the epoch.
    pub(crate) fn note(&mut self, time_ns: u64) -> u64 {
        self.records += 1;
        let period = self.period.get_or_insert_with(|| Period::from(time_ns));
        period.first_ns = period.first_ns.min(time_ns);
        self.furthest_back_ns = self.furthest_back_ns.max(period.last_ns.saturating_sub(time_ns));
        period.last_ns = period.last_ns.max(time_ns);
        period.now_ns(time_ns)
    }

    /// The request whose time was noted last. Those whose turn has come are taken out.
    pub(crate) fn push(&mut self, time_ns: u64, digits: u8, item: T, mut take: impl FnMut(When, T)) {
        match &mut self.window {
            Some(window) => {
                window.push(time_ns, (digits, item));
                self.take_ready(&mut take);
            }
            None => self.in_order(time_ns, digits, item, &mut take),
        }
    }

    /// Takes out what is left.
    pub(crate) fn finish(&mut self, mut take: impl FnMut(When, T)) {
        if let Some(window) = &mut self.window {
            window.close();
        }
        self.take_ready(&mut take);
        let Some(period) = self.period else { return };
        self.group.flush(|time_ns, (stamp_ns, item)| take(When::new(period, stamp_ns, time_ns), item));
    }

    fn take_ready(&mut self, take: &mut impl FnMut(When, T)) {
        while let Some((time_ns, (digits, item))) = self.window.as_mut().and_then(Window::pop) {
            self.in_order(time_ns, digits, item, take);
        }
    }

    /// A request whose turn it is; it is taken out as soon as all of its stamp are known.
    fn in_order(&mut self, stamp_ns: u64, digits: u8, item: T, take: &mut impl FnMut(When, T)) {
        let Some(period) = self.period else { return };
        self.group.push(stamp_ns, digits, (stamp_ns, item), |time_ns, (stamp_ns, item)| {
            take(When::new(period, stamp_ns, time_ns), item);
        });
    }

    /// Records that came too late for the window.
    pub(crate) fn late(&self) -> Option<u64> {
        self.window.as_ref().map(Window::late)
    }

    /// A window in which none would have come too late: whole seconds, so that it can be typed.
    pub(crate) fn enough_window_ns(&self) -> u64 {
        self.furthest_back_ns.div_ceil(1_000_000_000).saturating_mul(1_000_000_000)
    }

    /// Records that share their stamp with another one; where they are decided in the order of the files, with a neighbour.
    pub(crate) fn sharing(&self) -> u64 {
        self.group.sharing()
    }
}

impl When {
    fn new(period: Period, stamp_ns: u64, time_ns: u64) -> Self {
        Self { stamp_ns: period.now_ns(stamp_ns), now_ns: period.now_ns(time_ns) }
    }
}
