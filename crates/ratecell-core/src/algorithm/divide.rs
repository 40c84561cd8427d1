//! Division by a number known beforehand, by a multiplication.

/// Divides any `u64` by a fixed divisor, exactly, with one high multiplication.
///
/// Source: Granlund and Montgomery, "Division by invariant integers using multiplication", PLDI 1994,
/// figure 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Divider {
    /// `floor(2^64 * (2^l - d) / d) + 1` for `l = ceil(log2 d)`.
    multiplier: u64,
    first_shift: u32,
    second_shift: u32,
}

impl Divider {
    /// A divider by `d`, or by 1 where `d` is 0.
    pub(super) const fn new(d: u64) -> Self {
        let d = if d == 0 { 1 } else { d };
        let l = 64 - (d - 1).leading_zeros();
        let numerator = ((1u128 << l) - d as u128) << 64;
        // Below 2^64, for 2^l < 2d.
        let multiplier = (numerator / d as u128 + 1) as u64;
        Self { multiplier, first_shift: if l < 1 { l } else { 1 }, second_shift: l.saturating_sub(1) }
    }

    /// Whether the divisor is 1, as that of most policies' times is: a branch that is always predicted.
    #[inline]
    const fn is_by_one(self) -> bool {
        self.first_shift == 0
    }

    /// `floor(n / d)`.
    #[inline]
    pub(super) const fn floor(self, n: u64) -> u64 {
        if self.is_by_one() {
            return n;
        }
        let high = ((self.multiplier as u128 * n as u128) >> 64) as u64;
        // high <= n, and high + (n - high) / 2 <= n: neither wraps.
        (high + ((n - high) >> self.first_shift)) >> self.second_shift
    }

    /// `ceil(n / d)`.
    #[inline]
    pub(super) const fn ceil(self, n: u64) -> u64 {
        if self.is_by_one() {
            return n;
        }
        match n.checked_sub(1) {
            Some(below) => self.floor(below) + 1,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Divider;
    use proptest::prelude::*;

    fn any_size() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]
        #[test]
        fn equals_division(n in any_size(), d in any_size().prop_filter("not 0", |d| *d > 0)) {
            let divider = Divider::new(d);
            for n in [n, n / d * d, (n / d * d).wrapping_sub(1), u64::MAX - n] {
                prop_assert_eq!(divider.floor(n), n / d);
                prop_assert_eq!(divider.ceil(n), n.div_ceil(d));
            }
        }
    }
}
