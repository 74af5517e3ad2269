//! Headers of the PROXY protocol, in one piece and byte by byte.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| http1::proxy_protocol::fuzz_proxy_protocol(data));
