//! Writing the head of a response. The status line says HTTP/1.1, the highest version the server
//! speaks, whatever the request said (RFC 9110 section 2.5), unless somebody is known to need less.

use crate::persistence::Persist;
use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;
use message::response::is_sendable;
use message::{Field, Status, Version};

/// A response head being appended to a buffer.
#[derive(Debug)]
#[must_use = "a head needs its empty line: call end"]
pub struct HeadWriter<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> HeadWriter<'a> {
    /// Appends the status line.
    #[inline]
    pub fn start(out: &'a mut Vec<u8>, status: Status) -> Self {
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(status.line().as_bytes());
        out.extend_from_slice(b"\r\n");
        Self { out }
    }

    /// As [`Self::start`], with another version than HTTP/1.1 in the status line, and with the
    /// words of a script: `line` is code, blank and reason. Without it, or if it could not be sent
    /// as it is, the status has its usual line.
    pub fn start_as(
        out: &'a mut Vec<u8>,
        version: Version,
        status: Status,
        line: Option<&[u8]>,
    ) -> Self {
        let line = line.filter(|line| message::scan::is_field_content(line));
        out.extend_from_slice(version.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(line.unwrap_or(status.line().as_bytes()));
        out.extend_from_slice(b"\r\n");
        Self { out }
    }

    /// Goes on with a head whose status line and first fields stand in `out` already.
    #[inline]
    pub fn resume(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Appends a field. A field that could not be read back as the same field is left out: a name
    /// that is no token, a value with CR, LF or NUL. That stops response splitting in one place.
    #[inline]
    pub fn field(self, name: &str, value: &[u8]) -> Self {
        self.field_bytes(name.as_bytes(), value)
    }

    /// As [`Self::field`], for names that come from a script or a backend.
    #[inline]
    pub fn field_bytes(self, name: &[u8], value: &[u8]) -> Self {
        if is_sendable(name, value) {
            self.out.extend_from_slice(name);
            self.out.extend_from_slice(b": ");
            self.out.extend_from_slice(value);
            self.out.extend_from_slice(b"\r\n");
        }
        self
    }

    /// Appends a field with a decimal value.
    #[inline]
    pub fn number(self, name: &str, value: u64) -> Self {
        let mut digits = [0; 20];
        self.field(name, decimal(value, &mut digits))
    }

    /// Appends all of `fields`.
    pub fn fields(self, fields: &[Field]) -> Self {
        fields.iter().fold(self, |head, (name, value)| head.field(name, value))
    }

    /// Appends the fields about persistence as httpd does: nothing to an HTTP/1.1 client that did
    /// not name keep-alive. `timeout_s` is `KeepAliveTimeout`.
    pub fn persist(self, persist: Persist, timeout_s: u64) -> Self {
        match persist {
            Persist::Close => self.field("Connection", b"close"),
            Persist::Keep { named: false, .. } => self,
            Persist::Keep { named: true, remaining } => {
                let mut digits = [0; 20];
                self.out.extend_from_slice(b"Keep-Alive: timeout=");
                self.out.extend_from_slice(decimal(timeout_s, &mut digits));
                if let Some(remaining) = remaining {
                    self.out.extend_from_slice(b", max=");
                    self.out.extend_from_slice(decimal(u64::from(remaining), &mut digits));
                }
                self.out.extend_from_slice(b"\r\nConnection: Keep-Alive\r\n");
                self
            }
        }
    }

    /// Appends the empty line.
    #[inline]
    pub fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

impl Persist {
    /// What [`HeadWriter::persist`] appends.
    pub fn fields(self, timeout_s: u64) -> impl Iterator<Item = Field> {
        let field = |name: &'static str, value: Vec<u8>| (Cow::Borrowed(name), value);
        let [first, second] = match self {
            Self::Close => [Some(field("Connection", b"close".to_vec())), None],
            Self::Keep { named: false, .. } => [None, None],
            Self::Keep { named: true, remaining } => {
                let value = match remaining {
                    Some(remaining) => format!("timeout={timeout_s}, max={remaining}"),
                    None => format!("timeout={timeout_s}"),
                };
                let keep_alive = field("Keep-Alive", value.into_bytes());
                [Some(keep_alive), Some(field("Connection", b"Keep-Alive".to_vec()))]
            }
        };
        first.into_iter().chain(second)
    }
}

/// The field that announces the chunked coding; it takes the place of a length.
pub fn chunked_field() -> Field {
    (Cow::Borrowed("Transfer-Encoding"), b"chunked".to_vec())
}

/// What ends a chunk (RFC 9112 section 7.1).
pub const CHUNK_END: &[u8] = b"\r\n";

/// What ends a chunked body. There are never trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Appends the line before a chunk of `length` bytes. `length` is not 0: that would be the last
/// chunk.
pub fn chunk_start(length: u64, out: &mut Vec<u8>) {
    debug_assert!(length > 0, "a chunk without bytes would end the body");
    let digits = (u64::BITS - length.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        let nibble = (length >> (digit * 4)) & 15;
        out.push(b"0123456789abcdef"[nibble as usize]);
    }
    out.extend_from_slice(CHUNK_END);
}

/// The decimal digits of `number`, at the end of `digits`.
fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}
