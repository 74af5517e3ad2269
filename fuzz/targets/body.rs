//! Request bodies of every kind, in one piece and byte by byte.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1::fuzz_body(data));
