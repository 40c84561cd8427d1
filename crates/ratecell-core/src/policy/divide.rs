//! A policy divided among machines.

use alloc::format;
use alloc::vec::Vec;

use super::{Layer, Policy};
use crate::algorithm::LayoutChoice;
use crate::algorithm::params::Params;
use crate::error::{PolicyError, PolicyErrorKind as Kind};

impl Policy {
    /// One machine's part of this policy, where so many machines decide by themselves: together they admit no more than
    /// the policy, but for a capacity below `machines`, of which each has one unit.
    ///
    /// A rate is divided exactly. What can pass at one instant, and the limit of a window, is rounded down, and at least 1.
    ///
    /// # Errors
    /// `machines` is 0, or the part is out of range.
    ///
    /// ```
    /// use ratecell_core::Policy;
    ///
    /// let policy: Policy = "100/s burst=50 & fixed_window 1000/1h".parse()?;
    /// assert_eq!(policy.divided(20)?.to_string(), "100/20s burst=2 & fixed_window 50/h");
    /// # Ok::<(), ratecell_core::PolicyError>(())
    /// ```
    pub fn divided(&self, machines: u32) -> Result<Self, PolicyError> {
        if machines == 0 {
            return Err(PolicyError::new(Kind::Range, "0 machines: expected at least 1"));
        }
        let parts = self.layers.iter().map(|layer| layer.divided(u64::from(machines)));
        Self::of(parts.collect::<Result<Vec<_>, _>>()?)
    }
}

impl Layer {
    fn divided(&self, machines: u64) -> Result<Self, PolicyError> {
        let Params { limit, period_ns, burst, capacity, queue, .. } = self.params;
        let part = |units: u64| (units / machines).max(1);
        let is_window = matches!(
            self.form.name,
            "fixed_window" | "sliding_window" | "sliding_log" | "calendar_window" | "in_flight"
        );
        let params = if is_window {
            Params { limit: part(limit), ..self.params }
        } else {
            let Some(period_ns) = period_ns.checked_mul(machines) else {
                let text =
                    format!("{period_ns}ns for each of {machines} machines: expected at most 2^62 ns in all");
                return Err(PolicyError::new(Kind::Range, text));
            };
            let burst = match self.form.name {
                "gcra" => Some(part(burst.unwrap_or(limit))),
                _ => burst.map(part),
            };
            Params {
                period_ns,
                burst,
                capacity: capacity.map(part),
                queue: queue.map(|queue| queue / machines),
                ..self.params
            }
        };
        Self::packed(self.form, params, LayoutChoice::TIGHT, self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use crate::policy::Policy;

    #[test]
    fn each_kind_is_divided() {
        for (whole, part) in [
            ("100/s burst=50", "100/4s burst=12"),
            ("3/s", "3/4s burst=1"),
            ("leaky_meter 5/s capacity=8", "leaky_meter 5/4s capacity=2"),
            ("leaky_queue 5/s queue=9 burst=2", "leaky_queue 5/4s queue=2 burst=1"),
            ("token_bucket 10/1s capacity=20 mode=interval", "token_bucket 10/4s capacity=5 mode=interval"),
            ("fixed_window 10/1s offset=300ms", "fixed_window 2/1s offset=300ms"),
            ("calendar_window 1000/month tz=UTC day=31", "calendar_window 250/month tz=UTC day=31"),
            ("sliding_window 3/1s strict=true", "sliding_window 1/1s strict=true"),
        ] {
            let policy: Policy = whole.parse().expect(whole);
            let expected: Policy = part.parse().expect(part);
            assert_eq!(policy.divided(4).expect(whole), expected, "{whole}");
            assert_eq!(policy.divided(1).expect(whole).capacity(), policy.capacity());
        }
        let policy: Policy = "3/s".parse().expect("a policy");
        assert!(policy.divided(0).expect_err("0").to_string().contains("expected at least 1"));
        let slow: Policy = "1/4611686018427387904ns horizon=1s".parse().expect("a policy");
        assert!(slow.divided(1_000).is_err());
    }
}
