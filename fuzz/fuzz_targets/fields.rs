//! The HTTP fields of any decision.

#![no_main]

libfuzzer_sys::fuzz_target!(|case: ratecell_fuzz::fields::Case| case.run());
