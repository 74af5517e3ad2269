//! The chunked coding, in one piece and byte by byte.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1::fuzz_chunked(data));
