//! Includes, macros, variables and conditions: expanding any text comes to an end.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| config::fuzz_expand(data));
