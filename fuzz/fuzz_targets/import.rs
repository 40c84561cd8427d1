//! A file of envoyproxy/ratelimit.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ratecell_fuzz::import::run(text));
