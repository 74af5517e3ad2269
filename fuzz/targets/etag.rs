//! Lists of entity tags and the conditions made of them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::etag(data));
