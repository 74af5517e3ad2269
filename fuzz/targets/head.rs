//! Request heads, in one piece and in steps.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1::fuzz_head(data));
