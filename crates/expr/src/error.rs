//! Why an expression cannot be compiled, or has no value. The caller says where it stands.

use alloc::string::String;
use core::fmt;

/// Why a text is no expression, in httpd's words. The directive puts its own in front, such as
/// `Cannot parse condition clause: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub(crate) text: String,
}

impl ParseError {
    /// The text alone.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl core::error::Error for ParseError {}

/// Why an expression has no value for this request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// Words are nested deeper than httpd follows them (`AP_EXPR_MAX_RECURSION`).
    Recursion,
    /// `file()`: there is no such file, or it may not be read.
    CannotOpen(String),
    /// `file()`: the file is larger than 10 MiB.
    TooLarge(String),
    /// `file()`: reading it failed.
    CannotRead(String),
    /// A regular expression gave up. httpd takes that for "does not match", which makes `!~`
    /// true: an attacker could pass a condition by sending a text that is hard to match.
    MatchLimit,
    /// A text grew longer than [`crate::facts::TEXT_MAX_BYTES`].
    TooLong,
}

impl fmt::Display for EvalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recursion => out.write_str("Recursion limit reached"),
            Self::CannotOpen(path) => write!(out, "Cannot open file {path}"),
            Self::TooLarge(path) => write!(out, "File {path} too large"),
            Self::CannotRead(path) => write!(out, "Cannot read from file {path}"),
            Self::MatchLimit => out.write_str("Regular expression reached its match limit"),
            Self::TooLong => out.write_str("String too long"),
        }
    }
}

impl core::error::Error for EvalError {}
