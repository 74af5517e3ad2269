//! The parsed head of an answer: a view into its buffer, and what it means for the bytes after it
//! and for the connection (RFC 9112 sections 6.3 and 9.3, from the client's side).

use crate::answer_fault::AnswerFault;
use alloc::vec::Vec;
use message::{Head, Known, Span, Version, scan};

/// A parsed head without its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParsedAnswerHead {
    /// Line, version and fields; method and target stay empty.
    pub(crate) head: Head,
    pub(crate) status: u16,
    pub(crate) reason: Span,
    /// Values that were folded, joined; hardly ever any.
    joined: Vec<u8>,
    /// Which fields those are, in rising order, and where in `joined`.
    folds: Vec<(usize, Span)>,
}

impl ParsedAnswerHead {
    /// Forgets the fields and keeps the allocations.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.joined.clear();
        self.folds.clear();
    }

    /// Takes the place of the answer before with another one; keeps the allocations.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.clear();
        let none = Span::default();
        self.head.set_line(other.head.line(), none, none, other.head.version());
        other.head.fields().iter().for_each(|field| self.head.push(*field));
        (self.status, self.reason) = (other.status, other.reason);
        self.joined.extend_from_slice(&other.joined);
        self.folds.extend_from_slice(&other.folds);
    }

    /// Adds `more` to the last field (RFC 9112 section 5.2: a fold counts as one space).
    #[cold]
    pub(crate) fn fold(&mut self, buf: &[u8], more: &[u8]) -> Result<(), AnswerFault> {
        let last = self.head.fields().len().checked_sub(1).ok_or(AnswerFault::NothingToFold)?;
        let start = match self.folds.last() {
            // The value that was joined last stands at the end, and can grow there.
            Some((index, span)) if *index == last => {
                let start = self.joined.len() - span.of(&self.joined).len();
                self.folds.pop();
                start
            }
            _ => {
                let start = self.joined.len();
                self.joined.extend(self.head.fields()[last].value.of(buf));
                start
            }
        };
        if self.joined.len() > start && !more.is_empty() {
            self.joined.push(b' ');
        }
        self.joined.extend(more);
        self.folds.push((last, Span::new(start, self.joined.len())));
        Ok(())
    }

    /// The value of the field at `index`.
    fn value<'a>(&'a self, buf: &'a [u8], index: usize) -> &'a [u8] {
        match self.folds.binary_search_by_key(&index, |fold| fold.0) {
            Ok(at) => self.folds[at].1.of(&self.joined),
            Err(_) => self.head.fields()[index].value.of(buf),
        }
    }

    pub(crate) const fn is_folded(&self) -> bool {
        !self.folds.is_empty()
    }
}

/// What was asked, as far as the length of the answer depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskedMethod {
    /// HEAD: no answer has a body.
    Head,
    /// CONNECT: after a 2xx the connection is a tunnel.
    Connect,
    /// Any other method.
    Other,
}

/// Which body follows the head (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerBody {
    /// None, whatever the fields say.
    None,
    /// This many bytes; may be 0.
    Length(u64),
    /// Chunks up to the last one.
    Chunked,
    /// All bytes up to the end of the connection.
    UntilClose,
}

/// The head of an answer to read from.
#[derive(Clone, Copy, Debug)]
pub struct AnswerHead<'a> {
    pub(crate) buf: &'a [u8],
    /// Bytes of the head; what follows starts here.
    pub len: usize,
    pub(crate) answer: &'a ParsedAnswerHead,
}

impl<'a> AnswerHead<'a> {
    /// All bytes of it, the empty line among them.
    pub fn bytes(&self) -> &'a [u8] {
        self.buf.get(..self.len).unwrap_or_default()
    }

    /// The version: 1.0, or 1.1 for that and all above.
    pub const fn version(&self) -> Version {
        self.answer.head.version()
    }

    /// The status, from 100 to 999.
    pub const fn status(&self) -> u16 {
        self.answer.status
    }

    /// The reason as sent, often empty.
    pub fn reason(&self) -> &'a [u8] {
        self.answer.reason.of(self.buf)
    }

    /// Whether another head follows this one. 101 is none of these: after it the connection speaks
    /// another protocol.
    pub const fn is_interim(&self) -> bool {
        let status = self.status();
        status < 200 && status != 101
    }

    /// Names and values in the order they came.
    pub fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let Self { buf, answer, .. } = *self;
        let fields = answer.head.fields().iter().enumerate();
        fields.map(move |(index, field)| (field.name.of(buf), answer.value(buf, index)))
    }

    /// The value of the first field of this name.
    pub fn get(&self, name: Known) -> Option<&'a [u8]> {
        self.get_all(name).next()
    }

    /// The values of all fields of this name, in order.
    pub fn get_all(&self, name: Known) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let Self { buf, answer, .. } = *self;
        let count = if answer.head.view(buf).has(name) { usize::MAX } else { 0 };
        let fields = answer.head.fields().iter().enumerate().take(count);
        let same = fields.filter(move |(_, field)| field.known == Some(name));
        same.map(move |(index, _)| answer.value(buf, index))
    }

    /// The value of the first field of this name in any case.
    pub fn get_by_name(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.fields().find(|field| field.0.eq_ignore_ascii_case(name)).map(|field| field.1)
    }

    /// Which body follows (RFC 9112 section 6.3, by its items).
    pub fn body(&self, asked: AskedMethod) -> Result<AnswerBody, AnswerFault> {
        let status = self.status();
        // Items 1 and 2. The tunnel after CONNECT is no body either.
        let bodiless = asked == AskedMethod::Head || matches!(status, 100..200 | 204 | 304);
        if bodiless || (asked == AskedMethod::Connect && matches!(status, 200..300)) {
            return Ok(AnswerBody::None);
        }
        // Item 3: Transfer-Encoding overrides Content-Length.
        if let Some(chunked) = self.is_chunked()? {
            // Item 4, for answers: without chunked at the end, the connection's end tells.
            return Ok(if chunked { AnswerBody::Chunked } else { AnswerBody::UntilClose });
        }
        // Items 5, 6 and 8.
        Ok(self.content_length()?.map_or(AnswerBody::UntilClose, AnswerBody::Length))
    }

    /// Whether the connection can be used again after `body`, which is that of this answer
    /// (RFC 9112 section 9.3).
    pub fn keeps_alive(&self, body: AnswerBody) -> bool {
        let is_http10 = self.version() == Version::Http10;
        let has = |name| self.answer.head.view(self.buf).has(name);
        if has(Known::TransferEncoding) && (is_http10 || has(Known::ContentLength)) {
            // RFC 9112 sections 6.1 and 6.3: a coding in 1.0, or beside a length, is to be read as
            // faulty framing, and the connection closed.
            return false;
        }
        let (mut close, mut keep_alive) = (body == AnswerBody::UntilClose, false);
        for token in self.get_all(Known::Connection).flat_map(scan::list) {
            close |= token.eq_ignore_ascii_case(b"close");
            keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
        }
        !close && (keep_alive || !is_http10)
    }

    /// Whether the last transfer coding is chunked; `None` without any coding. `identity`, which
    /// RFC 2616 had, is none.
    fn is_chunked(&self) -> Result<Option<bool>, AnswerFault> {
        let mut last = None;
        for coding in self.get_all(Known::TransferEncoding).flat_map(scan::list) {
            let name = coding.split(|&byte| byte == b';').next().unwrap_or_default();
            let name = scan::trim_ows(name);
            if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
                continue;
            }
            if last == Some(true) {
                return Err(AnswerFault::BadCoding);
            }
            last = Some(name.eq_ignore_ascii_case(b"chunked"));
        }
        Ok(last)
    }

    /// RFC 9110 section 8.6: a list of equal numbers may be taken for one of them.
    fn content_length(&self) -> Result<Option<u64>, AnswerFault> {
        let mut length = None;
        for text in self.get_all(Known::ContentLength).flat_map(scan::list) {
            let one = decimal(text).ok_or(AnswerFault::BadLength)?;
            if length.is_some_and(|length| length != one) {
                return Err(AnswerFault::ContradictoryLengths);
            }
            length = Some(one);
        }
        Ok(length)
    }
}

/// `1*DIGIT` that fits the sizes of files, which are signed.
fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |sum: i64, digit: &u8| sum.checked_mul(10)?.checked_add(i64::from(digit - b'0'));
    text.iter().try_fold(0, digit).map(i64::unsigned_abs)
}
