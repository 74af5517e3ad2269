//! Pages and stylesheets of servers that mean no good: no panic, no endless search.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| load::page::fuzz_page(data));
