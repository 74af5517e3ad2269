//! Requests and what comes of them, whatever version of HTTP carries them.

use crate::ErrorKind;
use http1::{AskedMethod, OwnedAnswerHead};

/// One request, or several that are sent at once (pipelining, RFC 9112 section 9.3.2).
pub struct Batch<'a> {
    /// All bytes of all of them.
    pub bytes: &'a [u8],
    /// How many there are.
    pub count: u32,
    /// A number of the caller's for requests that have the same head in answer as a rule, which is
    /// then recognised and not parsed; `usize::MAX` for requests that are like no others.
    pub template: usize,
    /// What their method says about the answer's body.
    pub asked: AskedMethod,
}

/// The measures of one answer: what came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerSummary {
    /// The status of the final answer.
    pub status: u16,
    /// The length of its head.
    pub head_bytes: u64,
    /// Bytes of the content, without the framing of the chunked coding.
    pub body_bytes: u64,
    /// All bytes that came, interim answers and framing included.
    pub received_bytes: u64,
    /// When its first byte came, on the monotonic clock; 0 if none has.
    pub first_byte_ns: u64,
    /// When its last byte came.
    pub end_ns: u64,
    /// Whether the connection may be used again.
    pub keeps_alive: bool,
}

/// The text of an answer, kept for somebody who looks at it.
#[derive(Debug, Default)]
pub struct Capture {
    /// The head of the final answer, parsed where it came in.
    pub head: OwnedAnswerHead,
    /// The beginning of the content.
    pub body: Vec<u8>,
    /// Content beyond this is counted and not kept.
    pub body_limit: usize,
}

impl Capture {
    /// Keeps what there is room for.
    pub(crate) fn keep(&mut self, content: &[u8]) {
        let room = self.body_limit.saturating_sub(self.body.len());
        self.body.extend_from_slice(&content[..content.len().min(room)]);
    }
}

/// Why requests have no complete answer, and what a caller may do about it.
pub struct ExchangeError {
    /// What a caller decides by.
    pub kind: ErrorKind,
    /// What the other end says, where it says something.
    pub text: String,
    /// Whether the server has not processed it.
    pub unprocessed: Unprocessed,
    /// Whether the connection is of use still: where streams share one.
    pub keeps_connection: bool,
    /// What there is of the answer.
    pub part: AnswerSummary,
}

/// Whether the server has surely not processed a request that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unprocessed {
    /// It may have been.
    No,
    /// The server closed the connection without a word: if that idled, it has not.
    Perhaps,
    /// The server says that it has not.
    Surely,
    /// It did not even leave.
    Unsent,
}

impl ExchangeError {
    pub(crate) fn of(kind: ErrorKind, text: String, begun: bool) -> Self {
        let unprocessed = match kind {
            ErrorKind::Closed | ErrorKind::Reset if !begun => Unprocessed::Perhaps,
            _ => Unprocessed::No,
        };
        Self { kind, text, unprocessed, keeps_connection: false, part: AnswerSummary::default() }
    }

    /// Whether the requests that have no answer may be sent once more (RFC 9110 section 9.2.2).
    pub const fn may_retry(&self, failed: &PriorAttempt) -> bool {
        match self.unprocessed {
            Unprocessed::No => false,
            // RFC 9112 section 9.3.2: the server may have been at work on what came next.
            Unprocessed::Perhaps if failed.answers > 0 => failed.is_idempotent,
            Unprocessed::Perhaps => !failed.is_new_connection,
            Unprocessed::Surely | Unprocessed::Unsent => true,
        }
    }
}

/// What is known of the attempt that failed, to decide on another one.
pub struct PriorAttempt {
    /// The connection was made for these requests.
    pub is_new_connection: bool,
    /// Answers to requests that were sent at once with those that have none.
    pub answers: u32,
    /// Done twice is as good as once (RFC 9110 section 9.2.2).
    pub is_idempotent: bool,
}

impl PriorAttempt {
    /// Of a request that was sent alone.
    pub const fn alone(is_new_connection: bool) -> Self {
        Self { is_new_connection, answers: 0, is_idempotent: true }
    }
}
