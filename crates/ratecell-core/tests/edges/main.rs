//! The edges that all languages share, against their published vectors and their laws.

mod advice;
mod client_keys;
mod fields;
mod replay;
mod waiting;
