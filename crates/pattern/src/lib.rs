//! What httpd leaves to C libraries: Perl's regular expressions (PCRE2), crypt(3), and APR's
//! `fnmatch`.
//!
//! [`Regex`] compiles and matches as httpd's `ap_regex` does, within limits that no subject can
//! exceed. [`Replacement`] is the text with `$1` that belongs to a match. [`password`] compares
//! with the hashes that htpasswd writes. Calls into C are in `sys/` and nowhere else; no file is
//! opened here and no directive is known.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod budget;
pub mod fnmatch;
pub mod password;
mod regex;
mod replace;
mod sys;

pub use regex::{Captures, LimitExceeded, PatternError, PatternFlags, Regex};
pub use replace::{EXPANSION_MAX_BYTES, Replacement, ReplacementTooLong};
pub use sys::ahead;
