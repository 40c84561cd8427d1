//! Policies beside another one, over the same words: a burst or limit of their own, and all else from that policy.

use super::{Layer, Policy};
use crate::algorithm::params::Params;
use crate::algorithm::{Kernel, LayoutChoice, Plan};
use crate::error::PolicyError;

impl Policy {
    /// What a limiter of this policy, over the words of `held`, decides by when `next` follows `held` there: `next` with this
    /// policy's own burst, capacity, queue, limit of a window or `strict`, where that is another than in `held`. A layer of
    /// an algorithm of its own, such as a `leaky_queue` over words of `gcra`, keeps that. It is `next` where the words have no
    /// room for what is its own.
    #[must_use]
    pub fn beside(&self, held: &Self, next: &Self) -> Self {
        let layers = self.layers.iter().zip(&held.layers).zip(&next.layers);
        let layers = layers
            .map(|((own, held), next)| own.beside(held, next).ok().flatten().unwrap_or_else(|| next.clone()));
        Self { layers: layers.collect() }
    }

    /// Whether each layer has the rate of the same layer of `held`, as [`beside`](Self::beside) takes for granted: so many
    /// units in so long, or of a bucket that is refilled at intervals, the same refill and interval. The limit of a window
    /// is no rate. Both have as many layers, over words of the same kinds.
    #[must_use]
    pub fn has_rates_of(&self, held: &Self) -> bool {
        self.layers.iter().zip(&held.layers).all(|(own, held)| own.has_rate_of(held))
    }
}

impl Layer {
    fn has_rate_of(&self, held: &Self) -> bool {
        let ((units, period), (held_units, held_period)) = (self.rate(), held.rate());
        match &self.plan {
            Plan::Word(Kernel::Gcra(_)) => {
                u128::from(units) * u128::from(held_period) == u128::from(held_units) * u128::from(period)
            }
            _ => self.counts_in_windows() || (units, period) == (held_units, held_period),
        }
    }

    /// `None` where it is as `next` says.
    fn beside(&self, held: &Self, next: &Self) -> Result<Option<Self>, PolicyError> {
        let packing = match &next.plan {
            Plan::Word(kernel) => LayoutChoice::As(kernel.packing()),
            Plan::Log(_) => LayoutChoice::TIGHT,
        };
        let (own, other) = (&self.pinned(), &held.pinned());
        let is_other = self.form.name != held.form.name;
        if !is_other && own == other {
            return Ok(None);
        }
        if self.form.name != next.form.name {
            let Params { limit, period_ns, heal_ns, horizon_ns, .. } = next.params;
            let params = Params { limit, period_ns, heal_ns, horizon_ns, ..*own };
            return Self::packed(self.form, params, packing, next.epoch).map(Some);
        }
        let mut params = next.params;
        for (place, own, other) in [
            (&mut params.burst, own.burst, other.burst),
            (&mut params.capacity, own.capacity, other.capacity),
            (&mut params.queue, own.queue, other.queue),
        ] {
            if is_other || own != other {
                *place = own;
            }
        }
        if own.strict != other.strict {
            params.strict = own.strict;
        }
        if own.limit != other.limit && next.counts_in_windows() {
            params.limit = own.limit;
        }
        Self::packed(next.form, params, packing, next.epoch).map(Some)
    }

    /// The parameters, with a burst or capacity that would follow the limit as it is now.
    fn pinned(&self) -> Params {
        let mut params = self.params;
        match self.form.name {
            "gcra" => params.burst = Some(self.capacity()),
            "leaky_meter" | "token_bucket" => params.capacity = Some(self.capacity()),
            _ => {}
        }
        params
    }

    /// Whether its limit is how many pass in a window, and no rate.
    fn counts_in_windows(&self) -> bool {
        match &self.plan {
            Plan::Word(Kernel::Gcra(_) | Kernel::BucketInterval(_) | Kernel::BucketIntervalFirst(_)) => false,
            Plan::Word(_) | Plan::Log(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_rate_is_units_in_a_time() {
        const INTERVAL: &str = "token_bucket 6/1m capacity=9 mode=interval";
        let policy = |text: &str| text.parse::<Policy>().expect(text);
        for (own, held, expected) in [
            ("10/s burst=20", "10/s", true),
            ("10/s", "20/2s burst=3", true),
            ("leaky_queue 10/s queue=20", "10/s", true),
            ("10/s", "11/s", false),
            ("token_bucket 6/1m capacity=3 mode=interval", INTERVAL, true),
            ("token_bucket 3/30s capacity=9 mode=interval", INTERVAL, false),
            ("token_bucket 7/1m capacity=9 mode=interval", INTERVAL, false),
            ("fixed_window 5/h", "fixed_window 9/h", true),
            ("sliding_window 5/h strict=true", "sliding_window 9/h", true),
            ("in_flight 2 hold=1s", "in_flight 4 hold=1s", true),
            ("fixed_window 9/h & 3/s", "fixed_window 5/h & 3/s", true),
            ("fixed_window 9/h & 3/s", "fixed_window 9/h & 4/s", false),
        ] {
            assert_eq!(policy(own).has_rates_of(&policy(held)), expected, "{own}, {held}");
        }
    }

    #[test]
    fn a_burst_of_its_own_stays_and_the_rate_follows() {
        let policy = |text: &str| text.parse::<Policy>().expect(text);
        for (own, held, next, expected) in [
            ("10/s burst=20", "10/s", "30/s", "30/s burst=20"),
            ("leaky_queue 10/s queue=20", "10/s burst=1", "20/s burst=1", "leaky_queue 20/s queue=20"),
            ("leaky_meter 10/s capacity=20", "10/s burst=5", "20/s burst=7", "leaky_meter 20/s capacity=20"),
            ("10/s", "10/s", "30/s burst=9", "30/s burst=9"),
            ("10/s", "10/s burst=5", "30/s burst=5", "30/s burst=10"),
            ("10/s burst=10", "10/s", "30/s", "30/s"),
            ("10/s burst=20", "10/s burst=5", "leaky_meter 3/s capacity=4", "3/s burst=20"),
            ("leaky_meter 9/s capacity=8", "9/s", "leaky_meter 3/s capacity=4", "leaky_meter 3/s capacity=8"),
            ("10/s", "10/s", "leaky_meter 3/s capacity=4", "leaky_meter 3/s capacity=4"),
            (
                "leaky_queue 1/s queue=9",
                "leaky_queue 1/s queue=3",
                "leaky_queue 5/s queue=3",
                "leaky_queue 5/s queue=9",
            ),
            ("fixed_window 5/h", "fixed_window 9/h", "fixed_window 7/h", "fixed_window 5/h"),
            ("fixed_window 9/h", "fixed_window 9/h", "fixed_window 7/h", "fixed_window 7/h"),
            (
                "1/s & in_flight 2 hold=1s",
                "1/s & in_flight 4 hold=1s",
                "3/s & in_flight 5 hold=1s",
                "3/s & in_flight 2 hold=1s",
            ),
        ] {
            let next = policy(next).repacked(|_| LayoutChoice::WIDE).expect("it fits");
            assert_eq!(policy(own).beside(&policy(held), &next).to_string(), expected, "{own}");
        }
    }
}
