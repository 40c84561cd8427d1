//! What needs more than the public API.

mod grammar;
