//! Why the head of a script's answer is none: the status for the client, and the words of httpd for
//! its error log.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;
use message::{Status, limits, scan};

/// A script whose answer cannot be used.
///
/// httpd answers 500 to all of them, but for a timeout. Here it is 502 where a script (or whoever
/// made it say so) tries to put something into the answer that is no field: control bytes, a status
/// that is none or no answer's, a head without bounds. httpd cuts lines at a NUL instead, leaves CR
/// out, sends 500 and the body of the script for a status that is none, an informational one as if
/// an answer could have it, and takes a head of any length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptFault {
    /// The output ended before the head did, or a line is longer than
    /// [`limits::SCRIPT_LINE_BYTES`].
    NoEnd {
        /// Whether there was a line before.
        is_begun: bool,
    },
    /// Nothing came in time.
    TimedOut,
    /// A line without a colon; the beginning of it.
    NoColon(Vec<u8>),
    /// A line that begins with a colon.
    EmptyName,
    /// A name that is no token.
    BadName(Vec<u8>),
    /// The field of this name has a value with control bytes.
    BadValue(Vec<u8>, Vec<u8>),
    /// A NUL within a line.
    Nul,
    /// A CR within a line; the beginning of what stands before it.
    BareCr(Vec<u8>),
    /// What it calls its status is no number that a status line can show; the beginning of it.
    BadStatus(Vec<u8>),
    /// A status below 200, which announces an answer and is none.
    Informational(u16),
    /// More bytes than [`limits::SCRIPT_HEAD_BYTES`] without an end.
    TooLong,
    /// More lines than [`limits::SCRIPT_HEAD_LINES`].
    TooManyLines,
}

impl ScriptFault {
    /// The status of the answer that the client gets instead.
    pub fn status(&self) -> Status {
        match self {
            Self::TimedOut => Status::GATEWAY_TIMEOUT,
            Self::BadName(name) if scan::is_field_content(name) => Status::INTERNAL_SERVER_ERROR,
            Self::NoEnd { .. } | Self::NoColon(_) | Self::EmptyName => {
                Status::INTERNAL_SERVER_ERROR
            }
            Self::BadName(_) | Self::BadValue(..) | Self::Nul => Status::BAD_GATEWAY,
            Self::BareCr(_) | Self::BadStatus(_) => Status::BAD_GATEWAY,
            Self::Informational(_) | Self::TooLong | Self::TooManyLines => Status::BAD_GATEWAY,
        }
    }

    /// httpd's number of the message. Its messages about the text have none, and belong to the
    /// module that runs the script; those with a number belong to `http`.
    pub const fn id(&self) -> Option<u32> {
        match self {
            Self::EmptyName => Some(2428),
            Self::BadName(_) => Some(2429),
            Self::BadValue(..) => Some(2430),
            _ => None,
        }
    }

    /// What the error log says. `script` is the last part of its path. Bytes of the script are as
    /// they came, so the log has to escape them.
    pub fn message(&self, script: &[u8]) -> Vec<u8> {
        let of = |what: &[u8]| [what, b": ", script].concat();
        match self {
            Self::NoEnd { is_begun: false } => of(b"End of script output before headers"),
            Self::NoEnd { is_begun: true } => of(b"Premature end of script headers"),
            Self::TimedOut => of(b"Script timed out before returning headers"),
            Self::NoColon(line) => {
                [b"malformed header from script '", script, b"': Bad header: ", line].concat()
            }
            Self::EmptyName => b"Empty response header name, aborting request".into(),
            Self::BadName(name) => {
                let (before, behind) =
                    (b"Response header name '", b"' contains invalid characters");
                [&before[..], name, behind, b", aborting request"].concat()
            }
            Self::BadValue(name, value) => {
                let behind = b"' contains invalid characters, aborting request";
                [b"Response header '", &name[..], b"' value of '", value, behind].concat()
            }
            Self::Nul => of(b"NUL within the headers of script"),
            Self::BareCr(line) => {
                let (before, behind) = (b"malformed header from script '", b"': CR behind: ");
                [&before[..], script, behind, line].concat()
            }
            Self::BadStatus(text) => {
                [b"Invalid status line from script '", script, b"': ", text].concat()
            }
            Self::Informational(code) => {
                of(format!("status {code} is not an answer's, from script").as_bytes())
            }
            Self::TooLong => {
                let most = limits::SCRIPT_HEAD_BYTES;
                of(format!("no end within {most} bytes of headers from script").as_bytes())
            }
            Self::TooManyLines => {
                let most = limits::SCRIPT_HEAD_LINES;
                of(format!("more than {most} headers from script").as_bytes())
            }
        }
    }

    /// What httpd checks when it sends a field (http_filters.c, `check_header`).
    pub(crate) fn check(name: &[u8], value: &[u8]) -> Result<(), Self> {
        if name.is_empty() {
            return Err(Self::EmptyName);
        }
        if !scan::is_token(name) {
            return Err(Self::BadName(name.to_vec()));
        }
        if !scan::is_field_content(value) {
            return Err(Self::BadValue(name.to_vec(), value.to_vec()));
        }
        Ok(())
    }
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message(b"script").escape_ascii())
    }
}

impl core::error::Error for ScriptFault {}
