//! A sequence of C calls, right and wrong ones.

#![no_main]

libfuzzer_sys::fuzz_target!(|script: ratecell_fuzz::calls::Script| script.run());
