//! Leases, whose parameters differ.

use ratecell_core::algorithm::{Lease, raw};

use crate::calls;

#[unsafe(no_mangle)]
extern "C" fn lease_at_once(capacity: u64, call: u32, word: u64, now: u64, cost: u32, other: u64) {
    calls::asked(&raw::lease_at_once(capacity), call, word, now, cost, other);
}

#[unsafe(no_mangle)]
extern "C" fn lease_evenly(
    capacity: u64,
    num: u64,
    den: u64,
    call: u32,
    word: u64,
    now: u64,
    cost: u32,
    other: u64,
) {
    calls::asked(&raw::lease_evenly(capacity, num, den), call, word, now, cost, other);
}

#[unsafe(no_mangle)]
extern "C" fn lease_in_steps(
    capacity: u64,
    interval: u64,
    call: u32,
    word: u64,
    now: u64,
    cost: u32,
    other: u64,
) {
    calls::asked(&raw::lease_in_steps(capacity, interval), call, word, now, cost, other);
}

#[unsafe(no_mangle)]
extern "C" fn lease_granted(deadline_ns: u64, units: u64) {
    calls::returned(&[Lease::granted(deadline_ns, units)]);
}
