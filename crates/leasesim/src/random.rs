//! Numbers that follow from a seed.

/// SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to `end`, without it.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Above 0, up to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn chance(&mut self, part: f64) -> bool {
        part > 0.0 && self.unit() <= part
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// The time to the next of events that come independently, one in `mean_ns` on average.
    pub(crate) fn exponential(&mut self, mean_ns: f64) -> u64 {
        (-self.unit().ln() * mean_ns) as u64 + 1
    }

    /// A lognormal time, half of which are below `median_ns`.
    pub(crate) fn lognormal(&mut self, median_ns: f64, sigma: f64) -> u64 {
        let normal = (-2.0 * self.unit().ln()).sqrt() * (core::f64::consts::TAU * self.unit()).cos();
        (median_ns * (sigma * normal).exp()) as u64
    }
}
