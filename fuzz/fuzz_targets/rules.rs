//! A file of rules, and requests under it.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| ratecell_fuzz::rules::run(text));
