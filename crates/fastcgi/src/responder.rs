//! The application's end of a connection, one request at a time: what php-fpm is to the server.
//! Tests and fuzzing talk to it; it knows no handler, and what it answers is for them to say. One
//! that misbehaves is made of [`record`].

use crate::params::{MalformedPairs, Pairs, write_pair};
use crate::reader::{FixedBody, RecordPiece, RecordReader};
use crate::record::{
    self, BadVersion, BeginRequest, EndRequest, HEADER_BYTES, MANAGEMENT, RecordHeader, RecordKind,
};
use alloc::vec::Vec;
use core::fmt;
use message::limits;

/// One end of one connection.
#[derive(Clone, Debug)]
pub struct Responder {
    reader: RecordReader,
    stage: Stage,
    request_id: u16,
    /// The variables so far, as they came.
    params: Vec<u8>,
    /// The names of the values that are asked for, as they came.
    asked: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Between requests.
    Idle,
    /// Some of the content of `BEGIN_REQUEST`.
    Beginning(FixedBody),
    Params,
    Stdin,
    /// All has come, and may have been answered before that.
    Received,
}

/// What comes from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEvent<'b> {
    /// A request.
    Begin(BeginRequest),
    /// It has all its [`Responder::params`].
    Params,
    /// A piece of its body, not empty.
    Stdin(&'b [u8]),
    /// The end of its body, also if it was answered before.
    StdinEnd,
    /// The server gives it up.
    Abort,
    /// What is this application able to? Its answer is [`Responder::values`].
    GetValues,
    /// A record of management of another kind. The answer is [`Responder::unknown`].
    Unknown(RecordKind),
}

/// What no server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// A record of another version.
    Version(BadVersion),
    /// A record that does not belong where it came, and the request it says it is of.
    Unexpected(RecordKind, u16),
    /// A record of fixed length that has this one.
    Length(RecordKind, u16),
    /// More bytes of variables than [`limits::FASTCGI_PARAMS_BYTES`].
    TooLong,
}

impl fmt::Display for ServerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => version.fmt(f),
            Self::Unexpected(kind, id) => write!(f, "unexpected record {} of request {id}", kind.0),
            Self::Length(kind, length) => write!(f, "record {} of {length} bytes", kind.0),
            Self::TooLong => f.write_str("too many variables"),
        }
    }
}

impl core::error::Error for ServerFault {}

impl Default for Responder {
    fn default() -> Self {
        let reader = RecordReader::new();
        let (params, asked) = (Vec::new(), Vec::new());
        Self { reader, stage: Stage::Idle, request_id: MANAGEMENT, params, asked }
    }
}

impl Responder {
    /// Takes what has come: how much of it, and what it was. Ask until nothing comes of it,
    /// then with more. After a fault the connection is of no more use.
    pub fn receive<'b>(
        &mut self,
        input: &'b [u8],
    ) -> Result<(usize, Option<ServerEvent<'b>>), ServerFault> {
        let mut used = 0;
        loop {
            let (taken, piece) = self.reader.next(&input[used..]).map_err(ServerFault::Version)?;
            used += taken;
            let event = match piece {
                None => return Ok((used, None)),
                Some(RecordPiece::Start(header)) => self.start(header)?,
                Some(RecordPiece::Content(header, content)) => self.content(header, content)?,
                Some(RecordPiece::End(header)) => self.end(header),
            };
            if event.is_some() {
                return Ok((used, event));
            }
        }
    }

    fn start(&mut self, header: RecordHeader) -> Result<Option<ServerEvent<'static>>, ServerFault> {
        let RecordHeader { kind, request_id, content_bytes, .. } = header;
        if request_id == MANAGEMENT {
            self.asked.clear();
            let is_known = kind == RecordKind::GET_VALUES;
            return Ok((!is_known).then_some(ServerEvent::Unknown(kind)));
        }
        let is_empty = content_bytes == 0;
        match (kind, self.stage) {
            (RecordKind::BEGIN_REQUEST, Stage::Idle) => {
                if usize::from(content_bytes) != HEADER_BYTES {
                    return Err(ServerFault::Length(kind, content_bytes));
                }
                (self.request_id, self.stage) = (request_id, Stage::Beginning(FixedBody::EMPTY));
                self.params.clear();
                Ok(None)
            }
            _ if request_id != self.request_id => Err(ServerFault::Unexpected(kind, request_id)),
            (RecordKind::PARAMS, Stage::Params) => {
                Ok(self.at_end(is_empty, Stage::Stdin, ServerEvent::Params))
            }
            (RecordKind::STDIN, Stage::Stdin) => {
                Ok(self.at_end(is_empty, Stage::Received, ServerEvent::StdinEnd))
            }
            // It may cross with the answer on its way.
            (RecordKind::ABORT_REQUEST, _) => Ok(Some(ServerEvent::Abort)),
            // What is left of the body of a request that was answered before its end.
            (RecordKind::STDIN, Stage::Idle) => Ok(is_empty.then_some(ServerEvent::StdinEnd)),
            _ => Err(ServerFault::Unexpected(kind, request_id)),
        }
    }

    fn at_end(
        &mut self,
        is_empty: bool,
        next: Stage,
        event: ServerEvent<'static>,
    ) -> Option<ServerEvent<'static>> {
        if !is_empty {
            return None;
        }
        self.stage = next;
        Some(event)
    }

    fn content<'b>(
        &mut self,
        header: RecordHeader,
        content: &'b [u8],
    ) -> Result<Option<ServerEvent<'b>>, ServerFault> {
        match (header.kind, &mut self.stage) {
            // One record has at most 64 KiB, and the next one begins anew.
            (RecordKind::GET_VALUES, _) if header.request_id == MANAGEMENT => {
                self.asked.extend_from_slice(content);
            }
            _ if header.request_id == MANAGEMENT => {}
            (RecordKind::STDIN, Stage::Stdin) => return Ok(Some(ServerEvent::Stdin(content))),
            (RecordKind::BEGIN_REQUEST, Stage::Beginning(body)) => body.add(content),
            (RecordKind::PARAMS, _) => {
                if self.params.len() + content.len() > limits::FASTCGI_PARAMS_BYTES {
                    return Err(ServerFault::TooLong);
                }
                self.params.extend_from_slice(content);
            }
            _ => {}
        }
        Ok(None)
    }

    fn end(&mut self, header: RecordHeader) -> Option<ServerEvent<'static>> {
        match (header.kind, self.stage) {
            (RecordKind::BEGIN_REQUEST, Stage::Beginning(body)) => {
                self.stage = Stage::Params;
                Some(ServerEvent::Begin(BeginRequest::decode(body.bytes())))
            }
            (RecordKind::GET_VALUES, _) if header.request_id == MANAGEMENT => {
                Some(ServerEvent::GetValues)
            }
            _ => None,
        }
    }

    /// The variables of the request.
    pub fn params(&self) -> Pairs<'_> {
        Pairs::new(&self.params)
    }

    /// Appends a piece of the answer.
    pub fn stdout(&self, out: &mut Vec<u8>, data: &[u8]) {
        record::write(out, RecordKind::STDOUT, self.request_id, data);
    }

    /// Appends text for the server's log.
    pub fn stderr(&self, out: &mut Vec<u8>, data: &[u8]) {
        record::write(out, RecordKind::STDERR, self.request_id, data);
    }

    /// Appends the end of the answer.
    pub fn end_stdout(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&RecordHeader::new(RecordKind::STDOUT, self.request_id, 0).encode());
    }

    /// Appends the end of the request, after which another may come. What is still to come of its
    /// body is passed over.
    pub fn end_request(&mut self, out: &mut Vec<u8>, end: EndRequest) {
        record::write(out, RecordKind::END_REQUEST, self.request_id, &end.encode());
        self.stage = Stage::Idle;
    }

    /// Appends those values that were asked for.
    pub fn values(
        &self,
        out: &mut Vec<u8>,
        known: &[(&[u8], &[u8])],
    ) -> Result<(), MalformedPairs> {
        let mut answer = Vec::new();
        for pair in Pairs::new(&self.asked) {
            let (name, _) = pair?;
            for (_, value) in known.iter().filter(|value| value.0 == name) {
                write_pair(&mut answer, name, value);
            }
        }
        let length = u16::try_from(answer.len()).map_err(|_| MalformedPairs)?;
        let header = RecordHeader::new(RecordKind::GET_VALUES_RESULT, MANAGEMENT, length);
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(&answer);
        Ok(())
    }

    /// Appends that a kind of management record is not known here.
    pub fn unknown(&self, out: &mut Vec<u8>, kind: RecordKind) {
        record::write(out, RecordKind::UNKNOWN_TYPE, MANAGEMENT, &[kind.0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
