//! The native part of the npm package `ratecell`.
//!
//! Each module imports only from those above it. The package's JavaScript checks the types of arguments and words
//! their errors; what is passed here has its type. An error from here is a text of parts, which `lib/errors.js` reads.

mod errors;
mod page;
#[expect(unsafe_code, reason = "memory that JavaScript has, too")]
mod memory;
mod request;
mod zone;
mod limiter;
#[expect(unsafe_code, reason = "a function that Node calls without napi's conversions")]
mod fast;
mod held;
mod waiting;
mod machine;
mod joint;
mod clients;
mod fields;
mod rules;
