//! `ratecell._native`: what the Python package `ratecell` is made of.
//!
//! Each module is one Python class or one kind of argument; the package's own Python adds what waits and what
//! speaks HTTP.

use pyo3::prelude::*;

mod arguments;
mod errors;
#[expect(unsafe_code, reason = "an object's content is changed while nobody has it")]
mod recycle;
mod decision;
mod decisions;
mod keys;
mod stats;
#[expect(unsafe_code, reason = "what the system calls in a new process")]
mod forks;
mod waiting;
mod limiter;
mod joint;
#[expect(unsafe_code, reason = "what Python calls without PyO3")]
mod fast;

/// The extension module.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::decision::{Decision, decision};
    #[pymodule_export]
    use crate::decisions::{Decisions, decisions};
    #[pymodule_export]
    use crate::errors::PolicyError;
    #[pymodule_export]
    use crate::fast::give_check;
    #[pymodule_export]
    use crate::joint::check_all;
    #[pymodule_export]
    use crate::limiter::Limiter;
    #[pymodule_export]
    use crate::stats::Stats;
    #[pymodule_export]
    use crate::waiting::{Waiting, arrive, leave, turn, waits};

    use super::{Bound, PyModule, PyResult};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::forks::watch()
    }
}
