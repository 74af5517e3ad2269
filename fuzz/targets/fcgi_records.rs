//! FastCGI records at both ends, in one piece and in steps.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fastcgi::fuzz_records(data));
