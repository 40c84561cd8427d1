//! What the playground in `site/` runs in a browser: the decisions of `ratecell-core` on plain words, for several policies
//! beside each other, and the requests of an access log by `ratecell-logs`.
//!
//! ```text
//! state · permits → lane → deck · log → page
//! ```
//!
//! Each module imports only from those to its left. `page` is the border to the script of the page: numbers go in and out
//! as arguments, texts and rows of numbers through two buffers.
#![deny(unsafe_code)]

mod state;
mod permits;
mod lane;
mod deck;
mod log;
mod page;

pub use deck::{Deck, Explained, Refused, explain};
pub use lane::Lane;
pub use log::{Logged, Requests, read};
pub use state::State;
