//! The four forms of a request target.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::target(data));
