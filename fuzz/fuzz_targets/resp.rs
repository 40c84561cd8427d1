//! Bytes of a client of Redis.

#![no_main]

libfuzzer_sys::fuzz_target!(|script: ratecell_fuzz::resp::Script| ratecell_fuzz::resp::run(&script));
