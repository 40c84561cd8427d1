//! A policy that is another than the one in force in the region that a limiter comes to.

/// What is done there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Differing {
    /// It is an error.
    #[default]
    Refused,
    /// The region's holds.
    Followed,
    /// It holds, for all.
    Changed,
}
