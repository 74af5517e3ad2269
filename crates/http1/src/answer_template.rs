//! The head of the answer before, to compare the next one with: most answers of a server differ in
//! their date only, and a comparison costs a hundredth of a parse.
//!
//! A head that matches means what the one before meant, exactly: of the bytes that may differ,
//! those of the Date value, neither length nor status nor persistence depends.

use crate::answer_head::{AnswerBody, AnswerHead, AskedMethod};
use crate::head::HeadLimits;
use alloc::boxed::Box;
use core::ops::Range;
use message::Known;

/// Bytes of an IMF-fixdate (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
const DATE_BYTES: usize = 29;

/// Longer heads are not learned: they are rare, and each URL keeps its own.
const TEMPLATE_BYTES_MAX: usize = 8 * 1024;

/// What an answer means whose head is known already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Bytes of the head; the body starts here.
    pub head_len: usize,
    /// The status.
    pub status: u16,
    /// Which body follows.
    pub body: AnswerBody,
    /// Whether the connection can be used again after it.
    pub keeps_alive: bool,
}

/// A head learned. It is good for answers to what was asked then, with a method alike.
#[derive(Clone, Debug)]
pub struct AnswerTemplate {
    head: Box<[u8]>,
    /// Where the value of Date stands; empty if there is none that can be left out.
    date: Range<usize>,
    repeat: Repeat,
}

impl AnswerTemplate {
    /// Learns the head of a complete answer. `None` if it is not worth it, or if it cannot be read:
    /// interim, long, folded, with lengths that contradict each other.
    pub fn learn(answer: &AnswerHead<'_>, asked: AskedMethod) -> Option<Self> {
        let head = answer.buf.get(..answer.len)?;
        if answer.status() < 200 || head.len() > TEMPLATE_BYTES_MAX || answer.answer.is_folded() {
            return None;
        }
        let body = answer.body(asked).ok()?;
        let keeps_alive = answer.keeps_alive(body);
        let repeat = Repeat { head_len: head.len(), status: answer.status(), body, keeps_alive };
        Some(Self { head: head.into(), date: date_of(answer), repeat })
    }

    /// What the answer at the start of `buf` means, if its head is all there and the one learned.
    /// Otherwise the caller parses in full.
    #[inline]
    pub fn matches(&self, buf: &[u8]) -> Option<Repeat> {
        let Range { start, end } = self.date;
        let head = buf.get(..self.head.len())?;
        let same = head[..start] == self.head[..start] && head[end..] == self.head[end..];
        // The parser would refuse a CR or a zero byte there, and a LF would begin a new line.
        (same && is_plain(&head[start..end])).then_some(self.repeat)
    }
}

/// Looks at every byte without a branch, which the compiler does many at a time: a match of a
/// usual head takes 13 ns instead of 25 (to compare its bytes alone 6, to parse it 330).
#[inline]
fn is_plain(date: &[u8]) -> bool {
    date.iter().fold(true, |plain, byte| plain & (byte.wrapping_sub(b' ') <= b'~' - b' '))
}

/// Where the one Date field of 29 bytes has its value, if it can be left out.
fn date_of(answer: &AnswerHead<'_>) -> Range<usize> {
    let mut dates = answer.get_all(Known::Date);
    match (dates.next(), dates.next()) {
        (Some(date), None) if date.len() == DATE_BYTES && is_plain(date) => {
            // A value that is not folded is a piece of the buffer.
            let start = date.as_ptr().addr() - answer.buf.as_ptr().addr();
            start..start + DATE_BYTES
        }
        _ => 0..0,
    }
}

/// For fuzz targets: a template knows its own head; and whatever it takes for that head after one
/// byte was changed means the same to the parser.
pub(crate) fn fuzz_template(answer: &AnswerHead<'_>, step: u8, limits: &HeadLimits) {
    let Some(template) = AnswerTemplate::learn(answer, AskedMethod::Other) else { return };
    let mut head = answer.buf[..answer.len].to_vec();
    assert_eq!(template.matches(&head), Some(template.repeat));
    assert_eq!(template.matches(&head[..head.len() - 1]), None, "a head that is cut matched");
    let last_bytes = usize::from(step) + 1;
    for at in template.date.start..(template.date.end + 1).min(head.len()) {
        let before = head[at];
        head[at] = last_bytes.wrapping_mul(at + 1) as u8;
        if let Some(repeat) = template.matches(&head) {
            let mut parser = crate::AnswerParser::new();
            let len = repeat.head_len;
            assert_eq!(parser.advance(&head, limits), Ok(crate::HeadProgress::Complete { len }));
            let again = parser.answer(&head);
            assert_eq!(
                (again.status(), again.body(AskedMethod::Other)),
                (repeat.status, Ok(repeat.body))
            );
            assert_eq!(again.keeps_alive(repeat.body), repeat.keeps_alive);
        }
        head[at] = before;
    }
}
