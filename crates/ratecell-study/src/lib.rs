//! Which rate limit fits the requests of a log.
//!
//! A [`Recorder`] takes the requests of a log in the order of time, and keeps them in temporary files. A [`Study`] of
//! the [`Recording`] knows how fast each client was. [`Study::suggest`] finds the limits that meet a [`Wish`]:
//!
//! 1. The log is cut at two thirds of its time, at a whole second. Limits are *fitted* on the requests before the cut and *tried* on the
//!    rest, which a client begins with the state that it had at the cut.
//! 2. A *line* is a kind of policy over one of the [`SCALES`]: `gcra` with the limit as its burst, `sliding_window` and
//!    `fixed_window`. Its *rungs* are the limits of at most two significant digits. A policy on a higher rung is
//!    *looser*.
//! 3. All lines are searched at once. A line has a bracket of rungs: the lower end is too tight, the upper end is loose
//!    enough. Each round decides all fitted requests by policies at even distances in every bracket, hundreds in all,
//!    and narrows the brackets. The search ends when the ends of each bracket are neighbours.
//! 4. One more replay decides the whole log by the policies that were found.
//!
//! So every figure is a count of exact decisions. A policy that was found meets the wish on the fitted part, and its
//! neighbour does not. Where costs differ between requests, a looser policy can deny more; another policy that meets the
//! wish may then be tighter than the one that was found.
//!
//! `token_bucket` and `leaky_meter` decide as `gcra` does, and are not searched apart. `sliding_log`, `calendar_window`
//! and `in_flight` are not searched.
//!
//! Requests are kept by client, so that a replay has the words of a few clients in memory at a time: memory grows with
//! the number of clients, and not with the length of the log.
//!
//! ```text
//! error → scale → wish → recording → profile → policy → replay → search → study
//! ```
//!
//! Each module imports only from those to its left.
#![forbid(unsafe_code)]

mod error;
mod scale;
mod wish;
mod recording;
mod profile;
mod policy;
mod replay;
mod search;
mod study;

pub use error::StudyError;
pub use policy::{Candidate, Kind, RUNGS, rung};
pub use profile::{Behaviour, LEEWAY, Profile, Spread};
pub use recording::{PARTITIONS, Recorder, Recording};
pub use replay::{Denied, Part, Trial};
pub use scale::{SCALES, Scale};
pub use study::{Found, Study, Suggestion};
pub use wish::{Wish, WishError};
