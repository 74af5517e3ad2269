//! STUB
#[derive(Default)]
pub struct Jar;
