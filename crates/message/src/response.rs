//! The head of a response as a protocol sends it and as a log shows it.

use crate::{Status, scan};
use alloc::borrow::Cow;
use alloc::vec::Vec;

/// A field of a message: its name and its value.
pub type Field = (Cow<'static, str>, Vec<u8>);

/// The head of a response that is complete: nothing is added any more but what every response of a
/// server has, `Date` and `Server`.
#[derive(Clone, Debug)]
pub struct ResponseHead {
    /// The status.
    pub status: Status,
    /// Code and reason in the words of a script or a file; protocols without a reason send none.
    pub status_line: Option<Vec<u8>>,
    /// All fields in the order in which they are sent. Those that [`is_sendable`] refuses are not.
    pub fields: Vec<Field>,
}

impl ResponseHead {
    /// A head without fields.
    pub const fn new(status: Status) -> Self {
        Self { status, status_line: None, fields: Vec::new() }
    }
}

/// Whether a field can be sent: its name is a token and its value has no CR, LF or NUL. Any other
/// could be read as something else, another response among that (response splitting).
pub fn is_sendable(name: &[u8], value: &[u8]) -> bool {
    scan::is_token(name) && !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0))
}
