//! The divider that ships, to be compared with division.

use crate::shipped::Divider;

#[unsafe(no_mangle)]
extern "C" fn divider_floor(d: u64, n: u64) -> u64 {
    Divider::new(d).floor(n)
}

#[unsafe(no_mangle)]
extern "C" fn divider_ceil(d: u64, n: u64) -> u64 {
    Divider::new(d).ceil(n)
}
