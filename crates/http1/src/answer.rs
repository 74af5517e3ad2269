//! The head of an answer, as a client reads it: an incremental parser, as lenient as real clients.
//!
//! RFC 9112 lets a client take what a server must refuse: LF alone as line end (section 2.2), no
//! reason (section 4), folded fields (section 5.2), white space before the colon (section 5.1).
//! What the head means is in `answer_head`; what must not be here is a decision about connections.
//!
//! A line is judged when its end is there, except that one over its limit, or a beginning that is
//! no HTTP, is refused at once. So the result never depends on how the input was split.

use crate::answer_fault::AnswerFault;
use crate::answer_head::{AnswerHead, ParsedAnswerHead};
use crate::head::{HeadLimits, HeadProgress};
use message::request::FieldSpans;
use message::{Known, Span, Version, limits, scan};

const _: () = assert!(limits::ANSWER_HEAD_BYTES == 262_144, "why() names the number");

/// How every answer begins.
const BEGINNING: &[u8] = b"HTTP/1.";

/// No limit of the status line counts below this, so that [`BEGINNING`] is always judged first.
const STATUS_LINE_BYTES_MIN: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerPhase {
    StatusLine,
    Fields,
    Done,
}

/// Parses the head of one answer after the other.
#[derive(Debug)]
pub struct AnswerParser {
    phase: AnswerPhase,
    /// Where the current line starts.
    line_start: usize,
    /// Up to here there is no line end in the current line.
    scanned: usize,
    answer: ParsedAnswerHead,
}

impl Default for AnswerParser {
    fn default() -> Self {
        Self::new()
    }
}

impl AnswerParser {
    /// A parser at the start of an answer. It allocates nothing before the first field.
    pub fn new() -> Self {
        let phase = AnswerPhase::StatusLine;
        Self { phase, line_start: 0, scanned: 0, answer: ParsedAnswerHead::default() }
    }

    /// Goes back to the start of an answer and keeps the allocations.
    pub fn reset(&mut self) {
        self.phase = AnswerPhase::StatusLine;
        self.start_line(0);
        self.answer.clear();
    }

    /// Parses as far as `buf` goes. `buf` starts at the same byte on every call until the result
    /// is `Complete` or a fault; it may have grown. After `Complete`, call [`Self::reset`]; the
    /// next head, after an interim one too, starts at `len`.
    pub fn advance(
        &mut self,
        buf: &[u8],
        limits: &HeadLimits,
    ) -> Result<HeadProgress, AnswerFault> {
        debug_assert!(self.scanned <= buf.len(), "the buffer shrank");
        while self.phase != AnswerPhase::Done {
            if self.phase == AnswerPhase::StatusLine {
                check_beginning(buf)?;
            }
            let (bytes_max, fault) = self.bound(limits);
            let found = scan::find(&buf[self.scanned..], b'\n').map(|at| self.scanned + at);
            let line = without_cr(&buf[self.line_start..found.unwrap_or(buf.len())]);
            if line.len() > bytes_max {
                return Err(fault);
            }
            let Some(lf) = found else {
                self.scanned = buf.len();
                return Ok(HeadProgress::Partial);
            };
            match self.phase {
                AnswerPhase::StatusLine => self.status_line(line)?,
                _ => self.field_line(buf, line, limits)?,
            }
            self.start_line(lf + 1);
        }
        Ok(HeadProgress::Complete { len: self.line_start })
    }

    /// The head parsed last, joined with its buffer; complete only after `Complete`.
    pub const fn answer<'a>(&'a self, buf: &'a [u8]) -> AnswerHead<'a> {
        AnswerHead { buf, len: self.line_start, answer: &self.answer }
    }

    #[inline]
    const fn start_line(&mut self, start: usize) {
        self.line_start = start;
        self.scanned = start;
    }

    /// How long the current line may be, its end not counted, and what it is if it is longer.
    fn bound(&self, limits: &HeadLimits) -> (usize, AnswerFault) {
        let (line, fault) = match self.phase {
            AnswerPhase::StatusLine => (
                limits.request_line_bytes.max(STATUS_LINE_BYTES_MIN),
                AnswerFault::StatusLineTooLong,
            ),
            _ => (limits.field_bytes, AnswerFault::FieldTooLong),
        };
        let left = limits::ANSWER_HEAD_BYTES.saturating_sub(self.line_start);
        if left < line { (left, AnswerFault::HeadTooLong) } else { (line, fault) }
    }

    /// RFC 9112 section 4: `HTTP-version SP status-code SP [ reason-phrase ]`. Section 3 allows a
    /// lenient reader more white space than one space; the last space is often left out.
    fn status_line(&mut self, line: &[u8]) -> Result<(), AnswerFault> {
        let [minor, rest @ ..] = line.get(BEGINNING.len()..).unwrap_or_default() else {
            return Err(AnswerFault::NotHttp);
        };
        let version = match minor {
            b'0' => Version::Http10,
            b'1'..=b'9' => Version::Http11,
            _ => return Err(AnswerFault::NotHttp),
        };
        let status = match rest {
            [b' ' | b'\t', rest @ ..] => scan::trim_ows(rest),
            _ => return Err(AnswerFault::NotHttp),
        };
        let (code, reason) = match status {
            [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => (status, &b""[..]),
            [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9', b' ' | b'\t', ..] => status.split_at(3),
            _ => return Err(AnswerFault::BadStatus),
        };
        let reason = scan::trim_ows(reason);
        check_bytes(reason)?;
        let answer = &mut self.answer;
        answer.status = code.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
        // The reason ends where the line does, white space not counted.
        let end = trim_end(line).len();
        answer.reason = Span::new(end - reason.len(), end);
        let none = Span::default();
        answer.head.set_line(Span::new(0, line.len()), none, none, version);
        self.phase = AnswerPhase::Fields;
        Ok(())
    }

    /// RFC 9112 section 5: `field-name ":" OWS field-value OWS`, or the rest of the field before.
    fn field_line(
        &mut self,
        buf: &[u8],
        line: &[u8],
        limits: &HeadLimits,
    ) -> Result<(), AnswerFault> {
        match line {
            [] => {
                self.phase = AnswerPhase::Done;
                return Ok(());
            }
            [b' ' | b'\t', ..] => {
                check_bytes(line)?;
                return self.answer.fold(buf, scan::trim_ows(line));
            }
            _ => {}
        }
        if self.answer.head.fields().len() >= limits.fields_max() {
            return Err(AnswerFault::TooManyFields);
        }
        let name_len = line.iter().position(|&byte| !scan::is_token_byte(byte));
        let name_len = name_len.ok_or(AnswerFault::NoColon)?;
        let colon = match line[name_len] {
            b':' => name_len,
            _ => late_colon(line, name_len)?,
        };
        if name_len == 0 {
            return Err(AnswerFault::BadName);
        }
        let value = trim_end(&line[colon + 1..]);
        check_bytes(value)?;
        let value_len = scan::trim_ows(value).len();
        let end = self.line_start + colon + 1 + value.len();
        self.answer.head.push(FieldSpans {
            name: Span::new(self.line_start, self.line_start + name_len),
            value: Span::new(end - value_len, end),
            known: Known::recognise(&line[..name_len]),
        });
        Ok(())
    }
}

/// What does not begin as an answer does is told at the first byte that differs: it may be binary
/// and never have a line end.
fn check_beginning(buf: &[u8]) -> Result<(), AnswerFault> {
    let seen = buf.len().min(BEGINNING.len());
    if buf[..seen] == BEGINNING[..seen] { Ok(()) } else { Err(AnswerFault::NotHttp) }
}

/// RFC 9112 section 5.1: white space before the colon is dropped from answers.
#[cold]
fn late_colon(line: &[u8], name_len: usize) -> Result<usize, AnswerFault> {
    let colon = scan::find(line, b':').ok_or(AnswerFault::NoColon)?;
    let blank = line[name_len..colon].iter().all(|byte| matches!(byte, b' ' | b'\t'));
    if blank { Ok(colon) } else { Err(AnswerFault::BadName) }
}

/// RFC 9110 section 5.5: CR, LF and NUL are never part of a value. Other control bytes may be.
fn check_bytes(text: &[u8]) -> Result<(), AnswerFault> {
    match scan::find_either(text, b'\r', 0) {
        Some(_) => Err(AnswerFault::ControlByte),
        None => Ok(()),
    }
}

/// The line without the CR of its line end, which may be one even if the LF has not come yet.
fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn trim_end(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t'] = line {
        line = rest;
    }
    line
}
