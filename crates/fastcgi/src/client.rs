//! The server's end of one request: what it sends behind the variables, and what the records mean
//! that come back (mod_proxy_fcgi.c, `dispatch`). Nothing is kept of what comes but eight bytes.

use crate::reader::{FixedBody, RecordPiece, RecordReader};
use crate::record::{
    self, BadVersion, EndRequest, HEADER_BYTES, ProtocolStatus, RecordHeader, RecordKind,
};
use alloc::vec::Vec;
use core::fmt;

/// The number of every request: there is one at a time on a connection, as with httpd.
pub(crate) const REQUEST_ID: u16 = 1;

/// One request at an application, on one connection: from behind its variables to its end.
#[derive(Clone, Debug)]
pub struct Exchange {
    reader: RecordReader,
    keep_conn: bool,
    stdin: Stdin,
    stage: Stage,
}

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stdin {
    Open,
    Ended,
    Aborted,
}

/// What has come.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The answer.
    Answer,
    /// The end of it, with `END_REQUEST` still to come.
    AnswerEnded,
    /// Some of the content of `END_REQUEST`.
    Ending(FixedBody),
    /// All of the request. Clean means that the connection is where another one can begin.
    Ended { is_clean: bool },
    /// What cannot be understood.
    Failed(ApplicationFault),
}

/// What comes from the application. Pieces are as long as the input happened to be, and not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationEvent<'b> {
    /// A piece of the answer: a head as of a script, then its body.
    Stdout(&'b [u8]),
    /// There is no more of the answer. Without it the answer ends with the request.
    StdoutEnd,
    /// A piece of text for the error log (AH01071).
    Stderr(&'b [u8]),
    /// A record that does not belong here, and which is passed over (AH01072).
    Unknown(RecordKind),
    /// The request is answered. Comes once; whatever the input has behind it is no part of it.
    End(EndRequest),
}

/// What came of a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicationStep<'b> {
    /// Bytes of the input that are used up.
    pub used: usize,
    /// What was in it; nothing if all of the input is used up. After an event ask again, even with
    /// nothing left of the input: it may have held another.
    pub event: Option<ApplicationEvent<'b>>,
}

/// What comes is not an answer to this request. Nothing that follows can be understood, so the
/// connection has to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationFault {
    /// A record of another version.
    Version(BadVersion),
    /// A record of this request id, which is not ours. Zero is one of management, and none of
    /// those was asked for.
    RequestId(u16),
    /// More of the answer behind its end. httpd sends it, behind the last chunk (measured).
    StdoutAfterEnd,
}

impl ApplicationFault {
    /// httpd's number of the message. It does not mind the last one.
    pub const fn id(self) -> Option<u32> {
        match self {
            Self::Version(_) => Some(1068),
            Self::RequestId(_) => Some(1069),
            Self::StdoutAfterEnd => None,
        }
    }
}

impl fmt::Display for ApplicationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => version.fmt(f),
            Self::RequestId(id) => write!(f, "Got bogus rid {id}, expected {REQUEST_ID}"),
            Self::StdoutAfterEnd => f.write_str("Got output behind the end of output"),
        }
    }
}

impl core::error::Error for ApplicationFault {}

impl Exchange {
    pub(crate) const fn new(keep_conn: bool) -> Self {
        let (reader, stage) = (RecordReader::new(), Stage::Answer);
        Self { reader, keep_conn, stdin: Stdin::Open, stage }
    }

    /// Appends a piece of the request's body; without any there is nothing to append.
    pub fn stdin(&self, out: &mut Vec<u8>, data: &[u8]) {
        debug_assert!(self.stdin == Stdin::Open, "a body goes on behind its end");
        record::write(out, RecordKind::STDIN, REQUEST_ID, data);
    }

    /// What to send in front of so many bytes of the body, if they need not be copied; with no
    /// bytes, or more than a record holds, there is no such thing.
    pub fn stdin_header(&self, bytes: usize) -> Option<[u8; HEADER_BYTES]> {
        debug_assert!(self.stdin == Stdin::Open, "a body goes on behind its end");
        let length = u16::try_from(bytes).ok().filter(|length| *length > 0)?;
        Some(RecordHeader::new(RecordKind::STDIN, REQUEST_ID, length).encode())
    }

    /// What to send at the end of the body, and at once when there is no body.
    pub fn end_stdin(&mut self) -> [u8; HEADER_BYTES] {
        self.stdin = Stdin::Ended;
        RecordHeader::new(RecordKind::STDIN, REQUEST_ID, 0).encode()
    }

    /// Whether all of the request was handed over, or is with what it began with.
    pub const fn is_stdin_ended(&self) -> bool {
        !matches!(self.stdin, Stdin::Open)
    }

    /// What to send to give the request up. The application may go on nevertheless (php-fpm does),
    /// so the connection is not used again.
    pub fn abort(&mut self) -> [u8; HEADER_BYTES] {
        self.stdin = Stdin::Aborted;
        RecordHeader::new(RecordKind::ABORT_REQUEST, REQUEST_ID, 0).encode()
    }

    /// Takes what has come: ask until there is no event, then with more. Once there is a fault, it
    /// stays. That bytes came behind the end of the request is remembered, and they are dropped.
    pub fn receive<'b>(
        &mut self,
        input: &'b [u8],
    ) -> Result<ApplicationStep<'b>, ApplicationFault> {
        let mut used = 0;
        loop {
            if let Stage::Failed(fault) = self.stage {
                return Err(fault);
            }
            if let Stage::Ended { is_clean } = &mut self.stage {
                *is_clean &= used == input.len();
                return Ok(ApplicationStep { used: input.len(), event: None });
            }
            let next = self.reader.next(&input[used..]).map_err(ApplicationFault::Version);
            let (taken, piece) = next.map_err(|fault| self.fail(fault))?;
            used += taken;
            let Some(piece) = piece else { return Ok(ApplicationStep { used, event: None }) };
            let event = self.event(piece).map_err(|fault| self.fail(fault))?;
            if event.is_some() {
                return Ok(ApplicationStep { used, event });
            }
        }
    }

    fn fail(&mut self, fault: ApplicationFault) -> ApplicationFault {
        self.stage = Stage::Failed(fault);
        fault
    }

    fn event<'b>(
        &mut self,
        piece: RecordPiece<'b>,
    ) -> Result<Option<ApplicationEvent<'b>>, ApplicationFault> {
        match piece {
            RecordPiece::Start(header) => self.start(header),
            RecordPiece::Content(header, content) => Ok(self.content(header, content)),
            RecordPiece::End(header) => Ok(self.end(header)),
        }
    }

    fn start(
        &mut self,
        header: RecordHeader,
    ) -> Result<Option<ApplicationEvent<'static>>, ApplicationFault> {
        if header.request_id != REQUEST_ID {
            return Err(ApplicationFault::RequestId(header.request_id));
        }
        let is_ended = matches!(self.stage, Stage::AnswerEnded);
        match header.kind {
            RecordKind::STDOUT if is_ended && header.content_bytes > 0 => {
                Err(ApplicationFault::StdoutAfterEnd)
            }
            RecordKind::STDOUT if !is_ended && header.content_bytes == 0 => {
                self.stage = Stage::AnswerEnded;
                Ok(Some(ApplicationEvent::StdoutEnd))
            }
            RecordKind::END_REQUEST => {
                self.stage = Stage::Ending(FixedBody::EMPTY);
                Ok(None)
            }
            RecordKind::STDOUT | RecordKind::STDERR => Ok(None),
            // httpd logs these and goes on.
            kind => Ok(Some(ApplicationEvent::Unknown(kind))),
        }
    }

    fn content<'b>(
        &mut self,
        header: RecordHeader,
        content: &'b [u8],
    ) -> Option<ApplicationEvent<'b>> {
        if let Stage::Ending(body) = &mut self.stage {
            body.add(content);
        }
        match header.kind {
            RecordKind::STDOUT => Some(ApplicationEvent::Stdout(content)),
            RecordKind::STDERR => Some(ApplicationEvent::Stderr(content)),
            _ => None,
        }
    }

    fn end(&mut self, header: RecordHeader) -> Option<ApplicationEvent<'static>> {
        let Stage::Ending(body) = self.stage else { return None };
        let end = EndRequest::decode(body.bytes());
        // To httpd the content does not matter at all; here a wrong length ends a request as well,
        // but an application that is wrong about that is not trusted with another one.
        let is_clean = usize::from(header.content_bytes) == HEADER_BYTES
            && end.protocol_status == ProtocolStatus::REQUEST_COMPLETE;
        self.stage = Stage::Ended { is_clean };
        Some(ApplicationEvent::End(end))
    }

    /// Whether only part of a record has come.
    pub const fn is_within_record(&self) -> bool {
        !self.reader.is_between_records()
    }

    /// Whether the request has ended.
    pub const fn is_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended { .. })
    }

    /// Whether another request may be sent on the connection: it was to be kept, all of the body
    /// was sent, the request was ended as complete, and nothing came behind that.
    pub const fn may_reuse(&self) -> bool {
        let is_sent = matches!(self.stdin, Stdin::Ended);
        self.keep_conn && is_sent && matches!(self.stage, Stage::Ended { is_clean: true })
    }
}
