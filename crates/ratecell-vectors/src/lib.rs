//! Replays the published vectors, for whatever decides as they say.
//!
//! A file of vectors has a first line that names its kind, and a row a line behind it. [`replay`] reads a file of any
//! kind: of decisions, which the caller's [`Decides`] makes; of policies as text, client keys, HTTP fields and
//! waiting, which `ratecell-core` answers, and of rules, which `ratecell-rules` evaluates; and of the kinds that the caller
//! has a [`Judge`] for, which may be those of rules that are [decided by](decided_by) something else.
//!
//! ```text
//! answer · policy → resolved → holds → book → rows → format → replay
//! ```
//!
//! Each module imports only from those to its left.
#![forbid(unsafe_code)]

mod answer;
mod policy;
mod resolved;
mod holds;
mod book;
mod rows;
mod format;
mod replay;

pub use holds::Holds;
pub use replay::{Decides, Replays, Tally, replay};
pub use rows::rules::{DecidesRules, decided_by};
pub use rows::{Judge, Judged, held, object};
