//! *Take is step*: the law of `Span`.

use super::{POLICIES, Random, depth, kernel};
use ratecell_core::algorithm::{Algorithm, Lend, Span, Want};
use ratecell_core::with_kernel;

const ALL: fn(u64) -> Want = |units| Want { most: units, least: units, share: 1 };

fn take(span: Span, word: u64, units: u64) -> Option<u64> {
    let mut words = [word];
    Span::take(&[span], &mut words, ALL(units)).map(|_| words[0])
}

/// What a history of one policy came to.
#[derive(Default)]
struct Tally {
    added: u64,
    refused: u64,
    rolled: u64,
}

/// Several callers' clocks charge one word, each by the span of a word that it saw at some time before.
fn history<A: Lend>(algorithm: &A, span: impl Fn(u64, u64) -> Option<Span>, seed: u64, steps: u64) -> Tally {
    let mut random = Random(seed);
    let mut tally = Tally::default();
    // Of the word, from its first on; the earlier ones are what others may still believe.
    let mut seen = vec![0];
    let mut now = 1_000_000_000_000 + random.below(2_000_000_000);
    for _ in 0..steps {
        now += match random.below(8) {
            0 => random.below(3_000_000_000),
            1 | 2 => random.below(300_000_000),
            _ => random.below(20_000_000),
        };
        let behind = if random.below(4) == 0 { random.below(1_500_000_000) } else { 0 };
        let most = if random.below(3) == 0 { 12 } else { 3 };
        let (at, cost) = (now - behind, 1 + random.below(most));
        let word = *seen.last().expect("the first");
        let old = seen[seen.len().saturating_sub(1 + random.below(4) as usize)];
        let step = algorithm.step(word, at, cost as u32);
        let context = || format!("word {word:#x}, span of {old:#x}, at {at}, cost {cost}");
        if let Some(stale) = span(old, at)
            && let Some(left) = take(stale, word, cost)
        {
            tally.added += 1;
            assert_eq!(step.charged, Some(left), "an addition that is no step: {}", context());
        }
        match span(word, at) {
            Some(own) => {
                let left = take(own, word, cost);
                assert_eq!(left, step.charged, "take by the word's own span: {}", context());
                tally.refused += u64::from(left.is_none());
            }
            None => tally.rolled += 1,
        }
        if let Some(after) = step.charged
            && random.below(3) > 0
        {
            seen.push(after);
        }
    }
    tally
}

#[test]
fn take_is_step() {
    let steps = depth(60_000, 800_000);
    for (number, text) in (0..).zip(POLICIES) {
        let tally = with_kernel!(kernel(text), algorithm => {
            history(&algorithm, |word, at| algorithm.span(word, at), number, steps)
        });
        println!("{text}: {} added, {} refused, {} to roll over", tally.added, tally.refused, tally.rolled);
        assert!(tally.added > steps / 100 && tally.refused > steps / 20, "{text}: too little was tried");
    }
}

#[test]
#[should_panic(expected = "an addition that is no step")]
fn older_windows_that_still_count_must_not_be_raised() {
    with_kernel!(kernel("token_bucket 5/1s capacity=10 mode=interval"), algorithm => {
        let raised = |word, at| {
            let fresh = algorithm.carried(0, at);
            Some(Span { floor: fresh, ceiling: fresh + 10, unit: 1, raises: true }).filter(|_| word <= fresh)
        };
        history(&algorithm, raised, 1, 60_000);
    });
}
