//! Modules that change the content of what is sent or received: the filters, and in which order a
//! response passes them. Which module a filter belongs to is known here; what asks for one is a
//! name in a setting.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

pub mod filter;
pub mod include;
mod recode;
pub mod would_send;
