//! Rules as data: which limits apply to a request.
//!
//! A file of rules, in TOML, says it for every language: each rule has conditions on the request's attributes, a key and a
//! limit. [`Rules::evaluate`] makes the claims on a request, and [`Evaluation::answer`] makes the answer from the decisions
//! on them. Both are pure functions. This crate has no clock and no table; `ratecell-core` decides each claim.
//!
//! ```
//! use ratecell_rules::{Rules, Scratch};
//!
//! let rules = Rules::parse(r#"
//!     ratecell_rules = 1
//!     attributes = ["user"]
//!
//!     [[rule]]
//!     name = "login"
//!     group = "endpoint"                 # of a group, the first that matches
//!     match.path = "/login"
//!     match.method = "POST"
//!     key = ["client"]
//!     limit = "sliding_window 5/1m"
//!
//!     [[rule]]
//!     name = "pages"
//!     group = "endpoint"
//!     key = ["user|client"]              # by user, and by client where there is no user
//!     limit = "20/s"
//! "#)?;
//!
//! let mut scratch = Scratch::default();          // one for each thread
//! let request = [("method", "GET"), ("path", "/about"), ("client", "203.0.113.7")];
//! let evaluation = rules.evaluate(&request, &mut scratch);
//! for claim in evaluation.claims() {
//!     assert_eq!(claim.key, b"pages;client=203.0.113.7");
//!     assert_eq!(rules.policies()[claim.policy.unwrap()].text(), "20/s");
//! }
//! # Ok::<(), ratecell_rules::RulesError>(())
//! ```
//!
//! A path is read in every way in which a server may take it, and the claims of all readings are made: no spelling of a path
//! gets past a rule. There are no regular expressions. Rules are found by an index, so many rules for paths of their own cost
//! a request no more than a few.
//!
//! ```text
//! error · buffer · pattern · path · client · attribute → condition → rule → index → cover · file → rules → request → scratch → evaluate · describe → answer
//! ```
//!
//! Each module imports only from those to its left.
#![forbid(unsafe_code)]

mod error;
mod buffer;
mod pattern;
mod path;
mod client;
mod attribute;
mod condition;
mod rule;
mod index;
mod cover;
mod file;
mod rules;
mod request;
mod scratch;
mod evaluate;
mod describe;
mod answer;

pub use answer::{Answer, Shown};
pub use attribute::{Attribute, Attributes};
pub use error::{RuleLabel, RulesError, RulesErrorKind};
pub use evaluate::{Claim, Evaluation};
pub use rule::{Mode, Rule, RulePolicy};
pub use rules::Rules;
pub use scratch::Scratch;

#[cfg(test)]
mod tests;
