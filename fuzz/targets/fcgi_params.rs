//! Variables of FastCGI, sent and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fastcgi::fuzz_params(data));
