//! The edges that all languages share, against their laws.

mod advice;
mod client_keys;
mod fields;
mod waiting;
