//! Modules that show the server: what it does (`server-status`), and what it is made of and
//! configured with (`server-info`). They read, and change nothing.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

pub mod info;
pub mod status;

pub use status::{holders, status_line};
