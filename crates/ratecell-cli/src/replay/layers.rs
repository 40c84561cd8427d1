//! The periods of a policy's layers.

use ratecell::Policy;

/// Whether a layer forgets within `ns`: its period, or the time of one unit times its burst, is shorter.
pub(crate) fn forgets_within(policy: &Policy, ns: u64) -> bool {
    let texts = policy.to_string();
    policy.resolved().zip(texts.split(" & ")).any(|(layer, text)| {
        let filled = layer
            .emission
            .map(|emission| u128::from(emission.num) * u128::from(layer.capacity) / u128::from(emission.den));
        filled.is_some_and(|filled| filled < u128::from(ns))
            || period_ns(text).is_some_and(|period| period < ns)
    })
}

/// The period in the text of a layer, `… LIMIT/PERIOD …`: what one unit takes of which one passes in a period.
fn period_ns(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once('/')?;
    let period = rest.split(' ').next()?;
    let one: Policy = format!("1/{period}").parse().ok()?;
    let emission = one.resolved().next()?.emission?;
    Some(emission.num / emission.den.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_layer_counts_and_any_of_its_two_times() {
        for (policy, seconds, expected) in [
            ("10/s", 10, true),
            ("1/h burst=5", 10, false),
            ("1/2s burst=4", 10, true),
            ("1/20s burst=1", 10, false),
            ("fixed_window 100/9s", 10, true),
            ("fixed_window 100/10s", 10, false),
            ("sliding_log 5/1h & fixed_window 100/1s", 10, true),
            ("sliding_window 600/1m & fixed_window 1000/1d", 10, false),
            ("leaky_queue 10/s queue=20", 10, true),
            ("token_bucket 5/10s capacity=10 mode=interval", 10, false),
            ("token_bucket 5/5s capacity=10 mode=interval", 10, true),
        ] {
            let policy: Policy = policy.parse().unwrap();
            assert_eq!(forgets_within(&policy, seconds * 1_000_000_000), expected, "{policy}");
        }
    }
}
