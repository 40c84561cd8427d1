//! Memory of any content as a region.

#![no_main]

libfuzzer_sys::fuzz_target!(|script: ratecell_fuzz::attach::Script| script.run());
