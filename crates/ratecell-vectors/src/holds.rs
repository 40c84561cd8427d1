//! What the rows about reservations, permits and changes are asked of.

use ratecell_core::{Decision, Policy};

/// Keys with their states under one policy, of which charges can be held, and the policy changed. Reservations have the
/// numbers of the rows.
pub trait Holds {
    /// Decides `cost` units of `key` at `now_ns`, and charges them if they are allowed.
    fn check(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision;

    /// Charges as much as there is room for.
    fn charge(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision;

    /// Makes the key as if never seen.
    fn forget(&mut self, key: &str);

    /// A check; if it is allowed, it is held by that number.
    fn reserve(&mut self, number: u64, key: &str, cost: u32, now_ns: u64) -> Decision;

    /// Settles the reservation of that number; `None` if there is none.
    fn settle(&mut self, number: u64, actual: u32, now_ns: u64) -> Option<Decision>;

    /// Releases the permit of that number; `None` if there is none.
    fn release(&mut self, number: u64, now_ns: u64) -> Option<Decision>;

    /// Renews the permit of that number; `None` if there is none.
    fn renew(&mut self, number: u64, now_ns: u64) -> Option<Decision>;

    /// Puts another policy in force.
    ///
    /// # Errors
    ///
    /// The code of the error: it cannot follow, and nothing has changed.
    fn change(&mut self, policy: &Policy, now_ns: u64) -> Result<(), &'static str>;

    /// The policy in force.
    fn policy(&self) -> &Policy;
}
