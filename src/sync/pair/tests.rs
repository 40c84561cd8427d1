//! What every exchange must do, whichever this processor's is.

use super::Pair;
use crate::sync::Ordering;

fn words(pair: &Pair) -> (u64, u64) {
    (pair.first(Ordering::Acquire), pair.second(Ordering::Acquire))
}

#[test]
fn both_words_are_compared_and_both_exchanged() {
    assert!(Pair::is_supported());
    let (a, b, c, d) = (1 << 63 | 1, u64::MAX - 1, 3 << 40, 0x1234_5678_9ABC_DEF0);
    let pair = Pair::default();
    assert_eq!(words(&pair), (0, 0));
    assert!(pair.replace((0, 0), (a, b)));
    assert_eq!(words(&pair), (a, b));
    for other in [(a, c), (c, b), (b, a), (0, 0), (a ^ 1, b), (a, b ^ (1 << 63))] {
        assert!(!pair.replace(other, (c, d)));
        assert_eq!(words(&pair), (a, b));
    }
    assert!(pair.replace((a, b), (c, d)) && !pair.replace((a, b), (a, b)));
    assert_eq!(words(&pair), (c, d));
    assert!(pair.replace((c, d), (c, d)));
}

#[test]
fn the_second_word_is_exchanged_whatever_the_first_is() {
    let pair = Pair::default();
    let replace = |seen, to| pair.replace_second(seen, to, Ordering::AcqRel, Ordering::Relaxed);
    assert!(pair.replace((0, 0), (7, 1)));
    assert!(replace((7, 1), 2) && replace((8, 2), 3) && !replace((7, 2), 4));
    assert_eq!(words(&pair), (7, 3));
}

#[test]
fn the_first_word_is_exchanged_whatever_the_second_is() {
    let pair = Pair::default();
    let replace = |seen, to| pair.replace_first(seen, to, Ordering::AcqRel, Ordering::Acquire);
    assert!(pair.replace((0, 0), (1, 7)));
    assert_eq!([replace((1, 7), 2), replace((2, 8), 3), replace((2, 7), 4)], [Ok(()), Ok(()), Err(3)]);
    assert_eq!(words(&pair), (3, 7));
}

/// Each thread adds one to both words at once, or to the second alone: no addition is lost, and the first is never seen
/// ahead of the second.
#[test]
fn exchanges_of_both_and_of_one_half_exclude_each_other() {
    let rounds: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let pair = Pair::default();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let pair = &pair;
            scope.spawn(move || {
                for _ in 0..rounds {
                    loop {
                        let (first, second) = words(pair);
                        assert!(first <= second, "{first} of both, {second} in all");
                        let done = if thread % 2 == 0 {
                            pair.replace((first, second), (first + 1, second + 1))
                        } else {
                            let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
                            pair.replace_second((first, second), second + 1, success, failure)
                        };
                        if done {
                            break;
                        }
                    }
                }
            });
        }
    });
    assert_eq!(words(&pair), (2 * rounds, 4 * rounds));
}
