//! A zone with the boundaries of one calendar, ready to be looked up.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};

use super::row::Row;
use super::{Calendar, Period, Tz};

pub(crate) const NS_PER_SECOND: u64 = 1_000_000_000;

/// A time zone, ready for requests to a limiter whose policy has `tz=caller`: it has the instants at which that policy's
/// windows begin in the zone, so that a check computes none.
///
/// A limiter's [`zone`](crate::Policy::zone) makes it. To make it takes up to a millisecond and about 40 KB for days, and
/// less for longer periods: make each zone once, and keep it. A clone is the same one, and costs a counter. It can be used
/// by any number of threads, and for every limiter of the same period, `at`, `week`, `day`, epoch and horizon. Two zones are
/// equal if they have the same windows.
#[derive(Clone)]
pub struct Zone(Arc<Ready>);

struct Ready {
    tz: Tz,
    frame: Frame,
    row: Row,
}

/// What the windows of a policy are in any zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    pub(crate) calendar: Calendar,
    /// In seconds since 1970.
    pub(crate) epoch: i64,
    /// The seconds since the epoch to which windows are known: the one that holds this is the last.
    pub(crate) until: u64,
}

impl Frame {
    /// The boundaries in a zone, from the epoch to the first after `until`. `None` where the years end, and for the zone of
    /// a caller.
    pub(crate) fn zone(self, tz: Tz) -> Option<Zone> {
        let until = i64::try_from(self.until).ok().and_then(|until| self.epoch.checked_add(until))?;
        let boundaries = self.calendar.boundaries(&tz.rules()?, self.epoch, until)?;
        // Each is after the epoch.
        let since = boundaries.into_iter().map(|at| at.abs_diff(self.epoch)).collect();
        Some(Zone(Arc::new(Ready { tz, frame: self, row: Row::new(since) })))
    }
}

impl Zone {
    /// The name as the time zone database spells it, `UTC`, or an offset such as `+05:30`.
    #[must_use]
    pub fn name(&self) -> String {
        self.0.tz.to_string()
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.0.frame
    }

    #[inline]
    pub(crate) fn row(&self) -> &Row {
        &self.0.row
    }

    /// A zone of other boundaries.
    #[cfg(test)]
    pub(crate) fn with_row(&self, row: Row) -> Self {
        Self(Arc::new(Ready { tz: self.0.tz, frame: self.0.frame, row }))
    }
}

/// What has the boundaries of a calendar.
pub trait Boundaries {
    fn row(&self) -> &Row;

    fn period(&self) -> Period;
}

impl Boundaries for Zone {
    #[inline]
    fn row(&self) -> &Row {
        &self.0.row
    }

    fn period(&self) -> Period {
        self.0.frame.calendar.period
    }
}

impl<B: Boundaries> Boundaries for &B {
    #[inline]
    fn row(&self) -> &Row {
        (**self).row()
    }

    fn period(&self) -> Period {
        (**self).period()
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.frame() == other.frame() && self.row() == other.row())
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.frame(), self.row().digest).hash(state);
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.tz.fmt(f)
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({self})")
    }
}
