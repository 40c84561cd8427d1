//! The lines of an access log.

#![no_main]

libfuzzer_sys::fuzz_target!(|text: &[u8]| ratecell_fuzz::log_lines::run(text));
