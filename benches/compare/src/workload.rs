//! Which keys are asked for, and in what order.

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng, rngs::SmallRng};
use rand_distr::Zipf;

/// As long as many real ones, and without an allocation of its own.
pub(crate) type Key = [u8; 16];

/// The keys of one measurement, made before its clock starts.
pub(crate) type Window = Vec<Key>;

/// An endless order of key numbers. Every measurement takes the next window of it: cases that took the
/// same keys would find each other's cache lines.
pub(crate) type Order = Box<dyn Iterator<Item = u32>>;

/// `user:ip:` and eight letters: the digits of `number` in base 16, as `a` to `p`.
pub(crate) fn key(number: u32) -> Key {
    let mut key = *b"user:ip:aaaaaaaa";
    for (place, letter) in key[8..].iter_mut().enumerate() {
        *letter += ((number >> (4 * place)) & 15) as u8;
    }
    key
}

/// All of `keys`, each once before any comes again, and each time in a new order: one that came again would
/// be learnt by the processor's branch predictor.
pub(crate) fn uniform(keys: u32) -> Order {
    let mut random = SmallRng::seed_from_u64(0);
    let mut numbers: Vec<u32> = (0..keys).collect();
    let mut left = 0;
    Box::new(std::iter::from_fn(move || {
        if left == 0 {
            numbers.shuffle(&mut random);
            left = numbers.len();
        }
        left -= 1;
        numbers.get(left).copied()
    }))
}

/// Key number k is asked for in proportion to 1 / (k + 1), the same sequence in every run.
pub(crate) fn zipf(keys: u32) -> Order {
    const EXPONENT: f64 = 1.0;
    let ranks = Zipf::new(f64::from(keys), EXPONENT).expect("at least one key and a positive exponent");
    Box::new(SmallRng::seed_from_u64(1).sample_iter(ranks).map(|rank| rank as u32 - 1))
}

/// Keys never seen, from number `first` on.
pub(crate) fn unseen(first: u32) -> Order {
    Box::new(first..)
}

pub(crate) fn window(order: &mut Order, len: usize) -> Window {
    order.take(len).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_of_distinct_numbers_are_distinct() {
        let numbers = (0..10_000).chain((0..32).map(|bit| (1 << bit) + 10_000));
        let numbers: HashSet<u32> = numbers.collect();
        let keys: HashSet<Key> = numbers.iter().copied().map(key).collect();
        assert_eq!(keys.len(), numbers.len());
        assert_eq!(&key(0x1f), b"user:ip:pbaaaaaa");
    }

    #[test]
    fn zipf_stays_within_its_keys_and_prefers_the_first() {
        let drawn: Vec<u32> = zipf(100).take(10_000).collect();
        assert!(drawn.iter().all(|number| *number < 100));
        let of = |number| drawn.iter().filter(|drawn| **drawn == number).count();
        assert!(of(0) > of(1) && of(1) > of(50));
    }

    #[test]
    fn a_uniform_order_takes_every_key_once_before_any_comes_again() {
        let mut order = uniform(64);
        let (first, second) = (window(&mut order, 64), window(&mut order, 64));
        let distinct = |window: &Window| window.iter().collect::<HashSet<_>>().len();
        assert_eq!((distinct(&first), distinct(&second)), (64, 64));
        assert_ne!(first, second);
    }
}
