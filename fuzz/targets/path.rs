//! Decoding and normalising of URL paths.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::path(data));
