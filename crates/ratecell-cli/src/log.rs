//! Access logs as requests to decide: which files, what of each record, in which order and when.

mod args;
mod assumptions;
mod digest;
mod files;
mod input;
mod period;
mod pipeline;
mod question;
mod recording;
mod report;
mod timeline;

pub(crate) use args::{LogArgs, Written};
pub(crate) use assumptions::{Assumptions, duration};
pub(crate) use files::{FileReport, write_file};
pub(crate) use input::{Input, Inputs};
pub(crate) use period::Period;
pub(crate) use pipeline::{Decide, Decided, Keys, decide};
pub(crate) use question::{Counts, Logged, no_record, read, time_ns};
pub(crate) use recording::Recording;
pub(crate) use report::{LogReport, late, no_duration};
pub(crate) use timeline::{Timeline, When};
