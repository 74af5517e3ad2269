//! Apache's configuration language: whatever parses can be printed and parsed again.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| config::fuzz_parse(data));
