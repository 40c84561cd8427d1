//! Which line of an access log is which request, when it was, and what it cost.
//!
//! [`Lines`] are the lines of a file, [`recognise`] finds the [`Format`] that they have, and a [`Reader`] makes a
//! [`Record`] of each. A [`Window`] brings records into the order of time, and a [`Group`] spreads those that share
//! a stamp. A [`Selector`] takes the key of a record, a [`Cost`] what it costs, and a [`Filter`] leaves it out.
//!
//! Values are bytes, and borrowed from the line wherever nothing in it was escaped. Nothing here panics, whatever
//! a line holds. Nothing is shared between threads: every value can be sent to another one except a reader of
//! lines.
#![forbid(unsafe_code)]

mod client;
mod cost;
mod filter;
mod formats;
mod json;
mod lines;
mod number;
mod order;
mod place;
mod reader;
mod reason;
mod recognise;
mod record;
mod selector;
mod spread;
mod text;
mod time;
mod wrapper;

pub use client::client_key;
pub use cost::{Cost, CostField};
pub use filter::Filter;
pub use formats::{Format, FormatError, Options, Server};
pub use lines::Lines;
pub use order::Window;
pub use reader::{Line, Reader};
pub use reason::{MAX_LINE_LEN, Reason, Skip};
pub use recognise::{Recognised, SAMPLE_LINES, counts_for_sample, recognise, try_format};
pub use record::{Record, StampIs, Value};
pub use selector::{ClientText, Selector};
pub use spread::{Group, Spread, resolution_ns};
pub use text::Text;
