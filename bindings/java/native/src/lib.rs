//! The native library of the Java package `io.github.ratecell`.
//!
//! Java calls three functions, in `edge`: one decides a request that stands in memory of both, one runs an operation on
//! a message of bytes, and one returns the address of memory. Each module is one kind of operation, and imports only
//! from those above it.

mod message;
mod fault;
#[expect(unsafe_code, reason = "Java holds objects by their addresses")]
mod handle;
mod decision;
mod request;
mod limiter;
mod making;
mod held;
mod waiting;
mod rules;
mod fields;
mod clients;
mod operations;
#[expect(unsafe_code, reason = "what Java calls")]
mod edge;
