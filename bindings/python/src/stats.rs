//! `Stats`: what a limiter holds.

use pyo3::prelude::*;

/// What a limiter holds and what has happened to it. Of several layers, the sum of the events and of the
/// bytes, and the most slots and live keys of any.
#[pyclass(frozen, eq, module = "ratecell")]
#[derive(PartialEq)]
pub(crate) struct Stats(pub(crate) ratecell::Stats);

#[pymethods]
impl Stats {
    /// Places for keys; `max_keys` is five sevenths of them.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots
    }

    /// Keys that are not as good as never used.
    #[getter]
    fn live(&self) -> usize {
        self.0.live
    }

    /// How many more or fewer than `live` there may be: 0 where all were counted, which is exact while nothing else
    /// runs. Of a sample it is four standard errors, and bounds the error of all but 1 of 10,000 limiters.
    #[getter]
    fn live_error(&self) -> usize {
        self.0.live_error
    }

    /// Bytes of memory, fixed at construction; a `sliding_log`'s entries come on top.
    #[getter]
    fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Live keys that were erased for newcomers.
    #[getter]
    fn evicted(&self) -> u64 {
        self.0.evicted
    }

    /// Units that erased keys still held: what may have passed beyond the policy.
    #[getter]
    fn forgiven(&self) -> u64 {
        self.0.forgiven
    }

    /// Requests decided on a cell shared by newcomers without room.
    #[getter]
    fn shared(&self) -> u64 {
        self.0.shared
    }

    /// Newcomers denied for want of room.
    #[getter]
    fn denied_full(&self) -> u64 {
        self.0.denied_full
    }

    /// Newcomers allowed uncharged for want of room.
    #[getter]
    fn allowed_full(&self) -> u64 {
        self.0.allowed_full
    }

    /// Requests that met so many others at once that they were answered as by a full table.
    #[getter]
    fn exhausted(&self) -> u64 {
        self.0.exhausted
    }

    fn __repr__(&self) -> String {
        let ratecell::Stats { slots, live, bytes, evicted, forgiven, .. } = self.0;
        format!(
            "<Stats: live={live} slots={slots} bytes={bytes} evicted={evicted} forgiven={forgiven} shared={} \
             denied_full={} allowed_full={} exhausted={} live_error={}>",
            self.0.shared, self.0.denied_full, self.0.allowed_full, self.0.exhausted, self.0.live_error
        )
    }
}
