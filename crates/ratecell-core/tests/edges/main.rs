//! The edges that all languages share, against their laws.

mod client_keys;
mod fields;
mod waiting;
