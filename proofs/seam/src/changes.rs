//! A word of one policy as a word of the next.

use ratecell_core::algorithm::Change;
use ratecell_core::algorithm::raw::{self, Common};

use crate::calls;

fn common(capacity: u32, bits: u32) -> Common {
    Common { capacity, bits, max_now: u64::MAX, heal: None }
}

#[unsafe(no_mangle)]
extern "C" fn gcra_changed(num: u64, den: u64, next_num: u64, next_den: u64, word: u64, at: u64, reach: u32) {
    let (old, next) =
        (raw::gcra(common(1, 0), num, den, 1, 0), raw::gcra(common(1, 0), next_num, next_den, 1, 0));
    calls::returned(&[old.changed(&next, word, at, reach)]);
}

#[unsafe(no_mangle)]
extern "C" fn fixed_changed(window: u64, phase: u64, bits: u32, next_bits: u32, word: u64, at: u64) {
    let old = raw::fixed(common(1, bits), window, phase);
    calls::returned(&[old.changed(&raw::fixed(common(1, next_bits), window, phase), word, at, 0)]);
}

#[unsafe(no_mangle)]
extern "C" fn first_changed(
    window: u64,
    bits: u32,
    next_bits: u32,
    quantum: u64,
    next_quantum: u64,
    word: u64,
    at: u64,
) {
    let old = raw::first(common(1, bits), window, quantum);
    calls::returned(&[old.changed(&raw::first(common(1, next_bits), window, next_quantum), word, at, 0)]);
}

#[unsafe(no_mangle)]
extern "C" fn bucket_changed(
    refill: u32,
    interval: u64,
    bits: u32,
    next_refill: u32,
    next_interval: u64,
    next_bits: u32,
    word: u64,
    at: u64,
) {
    let old = raw::bucket(common(1, bits), refill, interval);
    calls::returned(&[old.changed(
        &raw::bucket(common(1, next_bits), next_refill, next_interval),
        word,
        at,
        0,
    )]);
}

#[unsafe(no_mangle)]
extern "C" fn sliding_changed(window: u64, bits: u32, next_bits: u32, word: u64, at: u64) {
    let old = raw::loose(common(1, bits), window);
    calls::returned(&[old.changed(&raw::loose(common(1, next_bits), window), word, at, 0)]);
}

#[unsafe(no_mangle)]
extern "C" fn in_flight_changed(hold: u64, bits: u32, next_bits: u32, word: u64, at: u64) {
    let old = raw::in_flight(common(1, bits), hold);
    calls::returned(&[old.changed(&raw::in_flight(common(1, next_bits), hold), word, at, 0)]);
}
