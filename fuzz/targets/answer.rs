//! Heads of answers, in one piece and in steps, and templates learned from them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1::fuzz_answer(data));
