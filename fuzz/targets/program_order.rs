//! Orders of programs, as the process reads them that starts these.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| runtime::programs::fuzz_command(data));
