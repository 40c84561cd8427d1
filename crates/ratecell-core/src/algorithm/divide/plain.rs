//! The division that the kernels are proved with. That the divider that ships gives the same is proved by itself.

/// Divides by a fixed divisor: functions of their own, which the proofs know by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divider(u64);

impl Divider {
    /// A divider by `d`, or by 1 where `d` is 0.
    pub(super) const fn new(d: u64) -> Self {
        Self(if d == 0 { 1 } else { d })
    }

    /// `floor(n / d)`.
    #[inline(never)]
    pub(super) const fn floor(self, n: u64) -> u64 {
        n / self.0
    }

    /// `ceil(n / d)`.
    #[inline(never)]
    pub(super) const fn ceil(self, n: u64) -> u64 {
        n.div_ceil(self.0)
    }
}
