//! What a head says about its body, its host and persistence.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1::fuzz_framing(data));
