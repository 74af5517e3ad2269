//! Variables of a request: pairs of a name and a value in records (FastCGI 1.0, sections 3.4 and
//! 5.2). Which variables there are is for the caller to know.

use crate::client::{Exchange, REQUEST_ID};
use crate::record::{BeginRequest, HEADER_BYTES, RecordHeader, RecordKind, Role};
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use message::limits;

/// Lengths below this take one byte, others four.
const SHORT_LENGTHS: usize = 0x80;

/// Room for the variables of most requests.
const USUAL_BYTES: usize = 2048;

/// Marks a length of four bytes.
const LONG_LENGTH: u8 = 0x80;

/// The beginning of a request: `BEGIN_REQUEST` and its variables, ready to be sent by one write.
///
/// What holds for all requests of a host is encoded once, as a template, and each request begins
/// with a copy of it. A pair is never divided among records: the specification would allow that,
/// but php-fpm decodes each record by itself (main/fastcgi.c, `fcgi_get_params`).
#[derive(Clone, Debug)]
pub struct Params {
    bytes: Vec<u8>,
    /// Where the header of the last record of variables stands; there may be room in it.
    open: Option<usize>,
    keep_conn: bool,
}

/// A variable that no record holds; the request can go without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoesNotFit;

impl DoesNotFit {
    /// httpd's number of the warning.
    pub const ID: u32 = 2536;

    /// What the error log says about it.
    pub fn message(self, name: &[u8]) -> Vec<u8> {
        let most = alloc::format!("{}", limits::FASTCGI_PARAMS_RECORD_BYTES);
        [b"couldn't encode envvar '", name, b"' in ", most.as_bytes(), b" bytes"].concat()
    }
}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a variable is longer than a record")
    }
}

impl core::error::Error for DoesNotFit {}

impl Params {
    /// The beginning of a request to a responder. `keep_conn` asks it to leave the connection open
    /// behind its answer.
    pub fn new(keep_conn: bool) -> Self {
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        let length = HEADER_BYTES as u16;
        bytes.extend_from_slice(
            &RecordHeader::new(RecordKind::BEGIN_REQUEST, REQUEST_ID, length).encode(),
        );
        bytes.extend_from_slice(&BeginRequest { role: Role::RESPONDER, keep_conn }.encode());
        Self { bytes, open: None, keep_conn }
    }

    /// The same as `template`, in a buffer that is used again.
    pub fn from_template(template: &Self, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&template.bytes);
        Self { bytes: buffer, ..*template }
    }

    /// Adds a variable. One that was added before has the same name still; most applications take
    /// the later one. As in mod_proxy_fcgi (`send_environment`) records have at most 16 KiB, and
    /// what fits into none is left out.
    pub fn add(&mut self, name: &[u8], value: &[u8]) -> Result<(), DoesNotFit> {
        let needed = length_bytes(name) + length_bytes(value) + name.len() + value.len();
        if needed > limits::FASTCGI_PARAMS_RECORD_BYTES {
            return Err(DoesNotFit);
        }
        let start = self.record_with_room(needed);
        write_pair(&mut self.bytes, name, value);
        self.set_length(start);
        Ok(())
    }

    /// Adds variables that [`write_pair`] has put together before, which stay together in a record.
    pub fn add_pairs(&mut self, pairs: &[u8]) -> Result<(), DoesNotFit> {
        if pairs.len() > limits::FASTCGI_PARAMS_RECORD_BYTES {
            return Err(DoesNotFit);
        }
        if !pairs.is_empty() {
            let start = self.record_with_room(pairs.len());
            self.bytes.extend_from_slice(pairs);
            self.set_length(start);
        }
        Ok(())
    }

    /// Where the variables lie among the bytes, if one record holds them all; see [`Pairs`].
    pub fn in_one_record(&self) -> Option<Range<usize>> {
        // In front of it there is `BEGIN_REQUEST`, its content, and the header.
        let start = 3 * HEADER_BYTES;
        (self.open? + HEADER_BYTES == start).then_some(start..self.bytes.len())
    }

    fn set_length(&mut self, start: usize) {
        let content = self.bytes.len() - start - HEADER_BYTES;
        self.bytes[start + 4..start + 6].copy_from_slice(&(content as u16).to_be_bytes());
    }

    /// Where the record starts that the next pair goes to.
    fn record_with_room(&mut self, needed: usize) -> usize {
        let room_to = |start: usize| start + HEADER_BYTES + limits::FASTCGI_PARAMS_RECORD_BYTES;
        match self.open {
            Some(start) if self.bytes.len() + needed <= room_to(start) => start,
            _ => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(
                    &RecordHeader::new(RecordKind::PARAMS, REQUEST_ID, 0).encode(),
                );
                self.open = Some(start);
                start
            }
        }
    }

    /// The bytes to send, the end of the variables included, and what is to follow on the
    /// connection they are sent on. On another one the same bytes go with a copy of the same
    /// [`Exchange`].
    pub fn finish(mut self) -> (Vec<u8>, Exchange) {
        self.bytes
            .extend_from_slice(&RecordHeader::new(RecordKind::PARAMS, REQUEST_ID, 0).encode());
        (self.bytes, Exchange::new(self.keep_conn))
    }

    /// The same; a request without a body is complete with it, the end of the body included.
    pub fn opening(self, has_body: bool) -> RequestOpening {
        let (mut bytes, mut exchange) = self.finish();
        if !has_body {
            bytes.extend_from_slice(&exchange.end_stdin());
        }
        RequestOpening { bytes, exchange }
    }
}

/// The beginning of a request as it is sent, and what is to follow on the connection that it is
/// sent on.
#[derive(Clone, Debug)]
pub struct RequestOpening {
    /// What is sent.
    pub bytes: Vec<u8>,
    /// What follows; on another connection a copy of it.
    pub exchange: Exchange,
}

impl AsRef<[u8]> for RequestOpening {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The length of a name or value, as it stands before them. No record holds 2^31 bytes.
fn write_length(out: &mut Vec<u8>, text: &[u8]) {
    if text.len() < SHORT_LENGTHS {
        out.push(text.len() as u8);
    } else {
        let [byte_3, byte_2, byte_1, byte_0] = (text.len() as u32).to_be_bytes();
        out.extend_from_slice(&[byte_3 | LONG_LENGTH, byte_2, byte_1, byte_0]);
    }
}

const fn length_bytes(text: &[u8]) -> usize {
    if text.len() < SHORT_LENGTHS { 1 } else { 4 }
}

/// Appends one pair: for [`Params::add_pairs`], and for answers that are no variables.
pub fn write_pair(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    write_length(out, name);
    write_length(out, value);
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// A list of pairs that ends within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedPairs;

impl fmt::Display for MalformedPairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of pairs ends within one")
    }
}

impl core::error::Error for MalformedPairs {}

/// The pairs of a whole stream of variables, where they lie.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'b> {
    rest: &'b [u8],
}

impl<'b> Pairs<'b> {
    /// The pairs of `content`, which is what the records have, one behind the other.
    pub const fn new(content: &'b [u8]) -> Self {
        Self { rest: content }
    }

    fn pair(&mut self) -> Option<(&'b [u8], &'b [u8])> {
        let name_bytes = self.length()?;
        let value_bytes = self.length()?;
        let name = self.take(name_bytes)?;
        Some((name, self.take(value_bytes)?))
    }

    fn length(&mut self) -> Option<usize> {
        if self.rest.first()? & LONG_LENGTH == 0 {
            return Some(usize::from(self.take(1)?[0]));
        }
        let [byte_3, byte_2, byte_1, byte_0] = *self.take(4)?.first_chunk::<4>()?;
        let length = u32::from_be_bytes([byte_3 & !LONG_LENGTH, byte_2, byte_1, byte_0]);
        usize::try_from(length).ok()
    }

    fn take(&mut self, bytes: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'b> Iterator for Pairs<'b> {
    type Item = Result<(&'b [u8], &'b [u8]), MalformedPairs>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let pair = self.pair();
        if pair.is_none() {
            // Nothing behind it has a place.
            self.rest = b"";
        }
        Some(pair.ok_or(MalformedPairs))
    }
}
