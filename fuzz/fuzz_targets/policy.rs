//! The text of a policy.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| ratecell_fuzz::policy::run(text));
