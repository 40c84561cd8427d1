//! The Redis serialization protocol: requests are read where they lie, and replies are written one behind the other.
//!
//! A request is an array of bulk strings, or a line of words. The parser takes nothing else: one of all of RESP would
//! descend into arrays of arrays as deep as a client nests them.

mod reply;
mod request;

pub(crate) use reply::{Protocol, Replies};
pub(crate) use request::{Arguments, Bounds, parse};
