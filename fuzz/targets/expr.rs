//! Expressions: any text compiles or is refused, and evaluating it comes to an end.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| expr::fuzz_expr(data));
