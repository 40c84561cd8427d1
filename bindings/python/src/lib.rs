//! `ratecell._native`: what the Python package `ratecell` is made of.
//!
//! Each module is one Python class or one kind of argument, and imports only from those above it. The package's own
//! Python adds waiting and the HTTP middlewares.

use pyo3::prelude::*;

mod arguments;
mod request;
mod errors;
#[expect(unsafe_code, reason = "an object's content is changed while nobody has it")]
mod decision_cell;
mod decision;
#[expect(unsafe_code, reason = "it is known that nobody has an object")]
mod recycle;
mod decisions;
mod keys;
mod clients;
mod stats;
#[expect(unsafe_code, reason = "what the system calls in a new process")]
mod forks;
mod waiting;
mod zone;
mod limiter;
mod held;
mod joint;
mod fields;
mod rules_decision;
mod rules;
mod rules_held;
#[expect(unsafe_code, reason = "what Python calls without PyO3")]
mod fast;

/// The extension module.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::clients::Clients;
    #[pymodule_export]
    use crate::decision::{Decision, decision};
    #[pymodule_export]
    use crate::decisions::{Decisions, decisions};
    #[pymodule_export]
    use crate::errors::{PolicyError, RulesError};
    #[pymodule_export]
    use crate::fast::give_check;
    #[pymodule_export]
    use crate::fields::{Label, fields};
    #[pymodule_export]
    use crate::held::{release, renew, reserve, reserved, settle};
    #[pymodule_export]
    use crate::joint::decide_all;
    #[pymodule_export]
    use crate::limiter::Limiter;
    #[pymodule_export]
    use crate::rules::Rules;
    #[pymodule_export]
    use crate::rules_decision::RulesDecision;
    #[pymodule_export]
    use crate::rules_held::{rules_release, rules_reserve, rules_settle};
    #[pymodule_export]
    use crate::stats::Stats;
    #[pymodule_export]
    use crate::waiting::{Waiting, arrive, leave, turn, waits};
    #[pymodule_export]
    use crate::zone::Zone;

    use super::{Bound, PyModule, PyResult};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::forks::watch()
    }
}
