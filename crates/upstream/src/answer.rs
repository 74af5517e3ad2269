//! One answer of HTTP/1 as it comes in: head, body, end. Bytes go in, whatever way they were
//! split; nothing is copied that nobody wants to keep.

use crate::ErrorKind;
use crate::h2::{Pool, Translations};
use http1::{
    AnswerBody, AnswerParser, AnswerTemplate, Asked, BodyDecoder, BodyLength, HeadLimits, Progress,
};
use std::cell::RefCell;
use std::rc::Rc;

/// What is read at once; also what is thrown away at once of a body that nobody looks at.
const SCRATCH_BYTES: usize = 256 * 1024;

/// Heads longer than this are no HTTP.
const HEAD_LIMITS: HeadLimits =
    HeadLimits { request_line_bytes: 16 * 1024, field_bytes: 64 * 1024, fields: 1000 };

/// Entries whose heads are remembered: those behind them are parsed each time, as there may be a
/// million.
const TEMPLATES_MAX: usize = 10_000;

/// What the connections of a thread share, as only one of them has a turn at a time.
pub struct Tools {
    /// What was read from a connection, until it is looked at.
    pub(crate) scratch: RefCell<Box<[u8]>>,
    /// What TLS needs while it works.
    pub tls: Rc<tls::Buffers>,
    /// Requests as HTTP/2 has them.
    pub translations: Translations,
    /// Connections of HTTP/2 that users share.
    pub pool: Pool,
    parser: RefCell<AnswerParser>,
    /// For each entry of the plan, up to a limit, the head that it was answered with last.
    templates: RefCell<Vec<Option<AnswerTemplate>>>,
}

impl Tools {
    /// For a plan of so many entries.
    pub fn new(entries: usize) -> Self {
        let mut templates = Vec::new();
        templates.resize_with(entries.min(TEMPLATES_MAX), || None);
        Self {
            tls: Rc::default(),
            translations: Translations::default(),
            pool: Pool::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into()),
            parser: RefCell::new(AnswerParser::new()),
            templates: RefCell::new(templates),
        }
    }
}

/// What came of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status of the final answer.
    pub status: u16,
    /// The length of its head.
    pub head_bytes: u64,
    /// Bytes of the content, without the framing of the chunked coding.
    pub body_bytes: u64,
    /// All bytes that came, interim answers and framing included.
    pub wire_bytes: u64,
    /// When its first byte came, on the monotonic clock; 0 if none has.
    pub first_byte_ns: u64,
    /// When its last byte came.
    pub end_ns: u64,
    /// Whether the connection may be used again.
    pub keeps_alive: bool,
}

/// What is kept of an answer for somebody who looks at it.
#[derive(Debug, Default)]
pub struct Capture {
    /// The head of the final answer, as HTTP/1 has it.
    pub head: Vec<u8>,
    /// The beginning of the content.
    pub body: Vec<u8>,
    /// Content beyond this is counted and not kept.
    pub body_limit: usize,
}

impl Capture {
    /// Keeps what there is room for.
    pub(super) fn keep(&mut self, content: &[u8]) {
        let room = self.body_limit.saturating_sub(self.body.len());
        self.body.extend_from_slice(&content[..content.len().min(room)]);
    }
}

/// What is known of the answer that is coming in.
pub(crate) struct Reader {
    /// The beginning of a head that has not ended yet, and the parser that has seen it.
    held: Option<Box<(Vec<u8>, AnswerParser)>>,
    stage: Stage,
    answer: Answer,
}

enum Stage {
    Head,
    /// So many bytes are left.
    Length(u64),
    Chunked(Box<BodyDecoder>),
    UntilClose,
}

/// How far an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// All was used and more is to come.
    More,
    /// It ends behind so many of the bytes.
    End(usize),
}

/// Whose answer it is, and who looks at it.
pub(crate) struct Frame<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) entry: usize,
    pub(crate) asked: Asked,
    pub(crate) now_ns: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Self { held: None, stage: Stage::Head, answer: Answer::default() }
    }
}

impl Reader {
    /// Whether nothing of an answer has come yet.
    pub(crate) const fn is_blank(&self) -> bool {
        self.answer.first_byte_ns == 0
    }

    /// How many bytes may be thrown away unseen.
    pub(crate) const fn skippable(&self) -> u64 {
        match self.stage {
            Stage::Length(left) => left,
            _ => 0,
        }
    }

    /// So many bytes were thrown away.
    pub(crate) fn skip(&mut self, count: u64, now_ns: u64) -> bool {
        if let Stage::Length(left) = &mut self.stage {
            *left = left.saturating_sub(count);
            self.answer.body_bytes += count;
            self.answer.wire_bytes += count;
            self.answer.end_ns = now_ns;
            return *left == 0;
        }
        false
    }

    /// The answer, which has ended; the next one may begin.
    pub(crate) fn take(&mut self) -> Answer {
        self.stage = Stage::Head;
        std::mem::take(&mut self.answer)
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// Unless that is the end of the answer as well.
    pub(crate) fn close(&mut self, now_ns: u64) -> Result<(), ErrorKind> {
        match self.stage {
            Stage::UntilClose => {
                self.answer.end_ns = now_ns;
                Ok(())
            }
            _ if self.is_blank() => Err(ErrorKind::Closed),
            _ => Err(ErrorKind::Truncated),
        }
    }

    /// Take in what has come.
    ///
    /// # Errors
    /// When it is no HTTP, or an upgrade nobody asked for.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        frame: &Frame<'_>,
        mut capture: Option<&mut Capture>,
    ) -> Result<Fed, ErrorKind> {
        if self.is_blank() {
            self.answer.first_byte_ns = frame.now_ns;
        }
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let fed = match self.stage {
                Stage::Head => self.feed_head(rest, frame, capture.as_deref_mut()),
                _ => self.feed_body(rest, capture.as_deref_mut()),
            };
            // What is no HTTP has come all the same.
            let step = fed.inspect_err(|_| self.answer.wire_bytes += rest.len() as u64)?;
            used += step.used;
            self.answer.wire_bytes += step.used as u64;
            if step.done {
                self.answer.end_ns = frame.now_ns;
                return Ok(Fed::End(used));
            }
            if used == input.len() {
                return Ok(Fed::More);
            }
        }
    }

    fn feed_head(
        &mut self,
        input: &[u8],
        frame: &Frame<'_>,
        capture: Option<&mut Capture>,
    ) -> Result<Step, ErrorKind> {
        if self.held.is_some() {
            return self.feed_held(input, frame, capture);
        }
        if let Some(repeat) = repeat(input, frame) {
            if let Some(capture) = capture {
                capture.head.clear();
                capture.head.extend_from_slice(&input[..repeat.head_len]);
            }
            let (length, status) = (repeat.head_len, repeat.status);
            return Ok(self.begin_body(length, length, status, repeat.body, repeat.keeps_alive));
        }
        let mut parser = frame.tools.parser.borrow_mut();
        parser.reset();
        match parser.advance(input, &HEAD_LIMITS).map_err(|_| ErrorKind::Malformed)? {
            Progress::Complete { len } => {
                self.interpret(&parser, &input[..len], len, frame, capture)
            }
            Progress::Partial => {
                let parser = std::mem::replace(&mut *parser, AnswerParser::new());
                self.held = Some(Box::new((input.to_vec(), parser)));
                Ok(Step { used: input.len(), done: false })
            }
        }
    }

    /// As [`Self::feed_head`], where the head began with an earlier read.
    fn feed_held(
        &mut self,
        input: &[u8],
        frame: &Frame<'_>,
        capture: Option<&mut Capture>,
    ) -> Result<Step, ErrorKind> {
        let Some(mut held) = self.held.take() else { return Ok(Step::default()) };
        let before = held.0.len();
        held.0.extend_from_slice(input);
        let (bytes, parser) = &mut *held;
        match parser.advance(bytes, &HEAD_LIMITS).map_err(|_| ErrorKind::Malformed)? {
            Progress::Complete { len } => {
                let used = len.saturating_sub(before);
                self.interpret(parser, &bytes[..len], used, frame, capture)
            }
            Progress::Partial => {
                self.held = Some(held);
                Ok(Step { used: input.len(), done: false })
            }
        }
    }

    /// A head is complete; `used` bytes of it came with this read.
    fn interpret(
        &mut self,
        parser: &AnswerParser,
        head: &[u8],
        used: usize,
        frame: &Frame<'_>,
        capture: Option<&mut Capture>,
    ) -> Result<Step, ErrorKind> {
        let answer = parser.answer(head);
        if answer.is_interim() {
            return match answer.status() {
                101 => Err(ErrorKind::Malformed),
                _ => Ok(Step { used, done: false }),
            };
        }
        let body = answer.body(frame.asked).map_err(|_| ErrorKind::Malformed)?;
        let (status, keeps_alive) = (answer.status(), answer.keeps_alive(body));
        if let Some(capture) = capture {
            capture.head.clear();
            capture.head.extend_from_slice(head);
        }
        if let Some(slot) = frame.tools.templates.borrow_mut().get_mut(frame.entry) {
            *slot = AnswerTemplate::learn(&answer, frame.asked);
        }
        Ok(self.begin_body(head.len(), used, status, body, keeps_alive))
    }

    fn begin_body(
        &mut self,
        head_len: usize,
        used: usize,
        status: u16,
        body: AnswerBody,
        keeps_alive: bool,
    ) -> Step {
        self.answer.status = status;
        self.answer.head_bytes = head_len as u64;
        self.answer.keeps_alive = keeps_alive;
        self.stage = match body {
            AnswerBody::None | AnswerBody::Length(0) => return Step { used, done: true },
            AnswerBody::Length(length) => Stage::Length(length),
            AnswerBody::Chunked => {
                Stage::Chunked(Box::new(BodyDecoder::new(BodyLength::Chunked, u64::MAX)))
            }
            AnswerBody::UntilClose => {
                self.answer.keeps_alive = false;
                Stage::UntilClose
            }
        };
        Step { used, done: false }
    }

    fn feed_body(
        &mut self,
        input: &[u8],
        capture: Option<&mut Capture>,
    ) -> Result<Step, ErrorKind> {
        let (step, data) = match &mut self.stage {
            Stage::Head => return Ok(Step::default()),
            Stage::UntilClose => (Step { used: input.len(), done: false }, input),
            Stage::Length(left) => {
                let count =
                    usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= count as u64;
                (Step { used: count, done: *left == 0 }, &input[..count])
            }
            Stage::Chunked(decoder) => {
                let step = decoder.decode(input).map_err(|_| ErrorKind::Malformed)?;
                (Step { used: step.used, done: step.done }, &input[step.data])
            }
        };
        self.answer.body_bytes += data.len() as u64;
        if let Some(capture) = capture {
            capture.keep(data);
        }
        Ok(step)
    }
}

/// What the head means if it is the one that this entry was answered with before.
fn repeat(input: &[u8], frame: &Frame<'_>) -> Option<http1::Repeat> {
    let templates = frame.tools.templates.borrow();
    templates.get(frame.entry)?.as_ref()?.matches(input)
}

/// What a part of the answer has used.
#[derive(Default)]
struct Step {
    used: usize,
    done: bool,
}
