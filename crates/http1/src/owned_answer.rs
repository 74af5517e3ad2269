//! The head of an answer that holds its bytes: for whoever looks at it when the buffer has gone on.
//! It is parsed where it came in, and never again.

use crate::answer_head::{AnswerHead, ParsedAnswerHead};
use alloc::format;
use alloc::vec::Vec;
use message::request::FieldSpans;
use message::{Known, Span, Version, limits, scan};

/// The head of an answer with its bytes.
#[derive(Clone, Debug, Default)]
pub struct OwnedAnswerHead {
    bytes: Vec<u8>,
    answer: ParsedAnswerHead,
}

impl OwnedAnswerHead {
    /// Forgets the answer and keeps the allocations.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.answer.clear();
    }

    /// Takes the place of the answer before with what was parsed; keeps the allocations.
    pub fn copy_from(&mut self, head: &AnswerHead<'_>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(head.bytes());
        self.answer.copy_from(head.answer);
    }

    /// Takes the place of the answer before with one that was not sent as text (HTTP/2). Its bytes
    /// are what HTTP/1.1 would have sent, so that whoever shows or counts them sees the same of all
    /// versions.
    ///
    /// ```
    /// let mut head = http1::OwnedAnswerHead::default();
    /// head.set(200, [(&b"server"[..], &b"one"[..])]);
    /// assert_eq!(head.bytes(), b"HTTP/1.1 200 \r\nserver: one\r\n\r\n");
    /// assert_eq!(head.view().get_by_name(b"Server"), Some(&b"one"[..]));
    /// ```
    pub fn set<'f>(&mut self, status: u16, fields: impl IntoIterator<Item = (&'f [u8], &'f [u8])>) {
        self.clear();
        self.bytes.extend_from_slice(format!("HTTP/1.1 {status} ").as_bytes());
        let (line, none) = (Span::new(0, self.bytes.len()), Span::default());
        self.answer.head.set_line(line, none, none, Version::Http2);
        (self.answer.status, self.answer.reason) = (status, none);
        self.bytes.extend_from_slice(b"\r\n");
        for (name, value) in fields.into_iter().take(limits::REQUEST_FIELDS_MAX) {
            let name_at = self.append(name);
            self.bytes.extend_from_slice(b": ");
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value);
            let value = Span::of_part(&self.bytes, scan::trim_ows(&self.bytes[start..]));
            let known = Known::recognise(name);
            self.answer.head.push(FieldSpans { name: name_at, value, known });
            self.bytes.extend_from_slice(b"\r\n");
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    fn append(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span::new(start, self.bytes.len())
    }

    /// The head to read from; without an answer its status is 0.
    pub const fn view(&self) -> AnswerHead<'_> {
        AnswerHead { buf: self.bytes.as_slice(), len: self.bytes.len(), answer: &self.answer }
    }

    /// All bytes of it, the empty line among them; none without an answer.
    pub const fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }
}
