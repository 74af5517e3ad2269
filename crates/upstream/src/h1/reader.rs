//! One answer of HTTP/1 as it comes in: head, body, end. Bytes go in, whatever way they were
//! split; nothing is copied that nobody wants to keep.

use crate::{AnswerSummary, Capture, ErrorKind, HttpClient};
use http1::{
    AnswerBody, AnswerParser, AnswerTemplate, AskedMethod, ChunkedDecoder, HeadLimits, HeadProgress,
};

/// The reader of one answer after the other: what is known of the one that is coming in.
pub(super) struct AnswerReader {
    /// The beginning of a head that has not ended yet, and the parser that has seen it.
    held: Option<Box<(Vec<u8>, AnswerParser)>>,
    stage: Stage,
    answer: AnswerSummary,
}

enum Stage {
    Head,
    /// So many bytes are left.
    Length(u64),
    Chunked(Box<ChunkedDecoder>),
    UntilClose,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// All was used and more is to come.
    More,
    /// It ends behind so many of the bytes.
    End(usize),
}

/// Whose answer it is, and who looks at it.
pub(super) struct AnswerContext<'a> {
    pub(super) client: &'a HttpClient,
    pub(super) template: usize,
    pub(super) asked: AskedMethod,
    pub(super) now_ns: u64,
}

impl Default for AnswerReader {
    fn default() -> Self {
        Self { held: None, stage: Stage::Head, answer: AnswerSummary::default() }
    }
}

impl AnswerReader {
    /// Whether nothing of an answer has come yet.
    pub(super) const fn is_blank(&self) -> bool {
        self.answer.first_byte_ns == 0
    }

    /// How many bytes may be thrown away unseen.
    pub(super) const fn skippable(&self) -> u64 {
        match self.stage {
            Stage::Length(left) => left,
            _ => 0,
        }
    }

    /// So many bytes were thrown away.
    pub(super) fn skip(&mut self, count: u64, now_ns: u64) -> bool {
        if let Stage::Length(left) = &mut self.stage {
            *left = left.saturating_sub(count);
            self.answer.body_bytes += count;
            self.answer.received_bytes += count;
            self.answer.end_ns = now_ns;
            return *left == 0;
        }
        false
    }

    /// The answer, which has ended; the next one may begin.
    pub(super) fn take(&mut self) -> AnswerSummary {
        self.stage = Stage::Head;
        std::mem::take(&mut self.answer)
    }

    /// The stream has ended.
    ///
    /// # Errors
    /// Unless that is the end of the answer as well.
    pub(super) fn close(&mut self, now_ns: u64) -> Result<(), ErrorKind> {
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
    pub(super) fn feed(
        &mut self,
        input: &[u8],
        context: &AnswerContext<'_>,
        mut capture: Option<&mut Capture>,
    ) -> Result<Fed, ErrorKind> {
        if self.is_blank() {
            self.answer.first_byte_ns = context.now_ns;
        }
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let fed = match self.stage {
                Stage::Head => self.feed_head(rest, context, capture.as_deref_mut()),
                _ => self.feed_body(rest, capture.as_deref_mut()),
            };
            // What is no HTTP has come all the same.
            let step = fed.inspect_err(|_| self.answer.received_bytes += rest.len() as u64)?;
            used += step.used;
            self.answer.received_bytes += step.used as u64;
            if step.done {
                self.answer.end_ns = context.now_ns;
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
        context: &AnswerContext<'_>,
        capture: Option<&mut Capture>,
    ) -> Result<Step, ErrorKind> {
        if self.held.is_some() {
            return self.feed_held(input, context, capture);
        }
        // Whoever looks at the head wants its fields, which a template does not have.
        if capture.is_none()
            && let Some(repeat) = repeat(input, context)
        {
            let (length, status) = (repeat.head_len, repeat.status);
            return Ok(self.begin_body(length, length, status, repeat.body, repeat.keeps_alive));
        }
        let mut parser = context.client.parser.borrow_mut();
        parser.reset();
        match parser.advance(input, &HeadLimits::OF_ANSWERS).map_err(|_| ErrorKind::Malformed)? {
            HeadProgress::Complete { len } => {
                self.interpret(&parser, &input[..len], len, context, capture)
            }
            HeadProgress::Partial => {
                // Rare: servers send a head in one piece. The parser goes with the bytes, as it
                // knows positions in them; the thread gets a new one.
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
        context: &AnswerContext<'_>,
        capture: Option<&mut Capture>,
    ) -> Result<Step, ErrorKind> {
        let Some(mut held) = self.held.take() else { return Ok(Step::default()) };
        let before = held.0.len();
        held.0.extend_from_slice(input);
        let (bytes, parser) = &mut *held;
        match parser.advance(bytes, &HeadLimits::OF_ANSWERS).map_err(|_| ErrorKind::Malformed)? {
            HeadProgress::Complete { len } => {
                let used = len.saturating_sub(before);
                self.interpret(parser, &bytes[..len], used, context, capture)
            }
            HeadProgress::Partial => {
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
        context: &AnswerContext<'_>,
        capture: Option<&mut Capture>,
    ) -> Result<Step, ErrorKind> {
        let answer = parser.answer(head);
        if answer.is_interim() {
            return match answer.status() {
                101 => Err(ErrorKind::Malformed),
                _ => Ok(Step { used, done: false }),
            };
        }
        let body = answer.body(context.asked).map_err(|_| ErrorKind::Malformed)?;
        let (status, keeps_alive) = (answer.status(), answer.keeps_alive(body));
        if let Some(capture) = capture {
            capture.head.copy_from(&answer);
        } else if let Some(slot) = context.client.templates.borrow_mut().get_mut(context.template) {
            *slot = AnswerTemplate::learn(&answer, context.asked);
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
            AnswerBody::Chunked => Stage::Chunked(Box::new(ChunkedDecoder::new(u64::MAX))),
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

/// What the head means if it is the one that such a request was answered with before.
fn repeat(input: &[u8], context: &AnswerContext<'_>) -> Option<http1::Repeat> {
    let templates = context.client.templates.borrow();
    templates.get(context.template)?.as_ref()?.matches(input)
}

/// What a part of the answer has used.
#[derive(Default)]
struct Step {
    used: usize,
    done: bool,
}
