//! An export for each kernel and kind of question.

use ratecell_core::algorithm::raw::{self, Common};

use crate::calls;

macro_rules! kernels {
    ($($make:ident($($param:ident: $type:ty),+) as $asked:ident, $given_back:ident, $taken:ident;)+) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $asked(
            capacity: u32, bits: u32, max_now: u64, has_heal: u32, heal: u64, $($param: $type,)+
            call: u32, word: u64, now: u64, cost: u32, other: u64,
        ) {
            let heal = (has_heal != 0).then_some(heal);
            let kernel = raw::$make(Common { capacity, bits, max_now, heal }, $($param),+);
            calls::asked(&kernel, call, word, now, cost, other);
        }

        #[unsafe(no_mangle)]
        extern "C" fn $given_back(
            capacity: u32, bits: u32, max_now: u64, has_heal: u32, heal: u64, $($param: $type,)+
            before: u64, made: u64, cost: u32, word: u64, now: u64, units: u32, is_known: u32, since: u64,
        ) {
            let heal = (has_heal != 0).then_some(heal);
            let kernel = raw::$make(Common { capacity, bits, max_now, heal }, $($param),+);
            let since = (is_known != 0).then_some(since);
            calls::given_back(&kernel, (before, made, cost), (word, now, units), since);
        }

        #[unsafe(no_mangle)]
        extern "C" fn $taken(
            capacity: u32, bits: u32, max_now: u64, has_heal: u32, heal: u64, $($param: $type,)+
            seen: u64, word: u64, now: u64, most: u32,
        ) {
            let heal = (has_heal != 0).then_some(heal);
            let kernel = raw::$make(Common { capacity, bits, max_now, heal }, $($param),+);
            calls::taken(&kernel, seen, word, now, most);
        }
    )+};
}

kernels! {
    gcra(num: u64, den: u64, undelayed: u32, reach: u64) as gcra, gcra_given_back, gcra_taken;
    fixed(window: u64, phase: u64) as fixed, fixed_given_back, fixed_taken;
    first(window: u64, quantum: u64) as first, first_given_back, first_taken;
    bucket(refill: u32, interval: u64) as bucket, bucket_given_back, bucket_taken;
    bucket_first(refill: u32, interval: u64, quantum: u64)
        as bucket_first, bucket_first_given_back, bucket_first_taken;
    loose(window: u64) as loose, loose_given_back, loose_taken;
    strict(window: u64) as strict, strict_given_back, strict_taken;
    in_flight(hold: u64) as in_flight, in_flight_given_back, in_flight_taken;
}

#[unsafe(no_mangle)]
extern "C" fn calendar(
    capacity: u32,
    bits: u32,
    max_now: u64,
    has_heal: u32,
    heal: u64,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    fifth: u64,
    call: u32,
    word: u64,
    now: u64,
    cost: u32,
    other: u64,
) {
    let heal = (has_heal != 0).then_some(heal);
    let bounds = raw::Bounds::new([first, second, third, fourth, fifth]);
    let kernel = raw::calendar(Common { capacity, bits, max_now, heal }, &bounds);
    calls::asked(&kernel, call, word, now, cost, other);
}
