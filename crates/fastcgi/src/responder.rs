//! The application's end of a connection, one request at a time: what php-fpm is to the server.
//! Tests and fuzzing talk to it; it knows no handler, and what it answers is for them to say. One
//! that misbehaves is made of [`record`].

use crate::params::{MalformedPairs, Pairs, write_pair};
use crate::reader::{FixedBody, Piece, RecordReader};
use crate::record::{
    self, BadVersion, BeginRequest, EndRequest, HEADER_BYTES, Header, Kind, MANAGEMENT,
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
pub enum Event<'b> {
    /// A request.
    Begin(BeginRequest),
    /// It has all its [`Responder::params`].
    Params,
    /// A piece of its body, not empty.
    Stdin(&'b [u8]),
    /// The end of its body.
    StdinEnd,
    /// The server gives it up.
    Abort,
    /// What is this application able to? Its answer is [`Responder::values`].
    GetValues,
    /// A record of management of another kind. The answer is [`Responder::unknown`].
    Unknown(Kind),
}

/// What no server may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A record of another version.
    Version(BadVersion),
    /// A record that does not belong where it came, and the request it says it is of.
    Unexpected(Kind, u16),
    /// A record of fixed length that has this one.
    Length(Kind, u16),
    /// More bytes of variables than [`limits::FASTCGI_PARAMS_BYTES`].
    TooLong,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => version.fmt(f),
            Self::Unexpected(kind, id) => write!(f, "unexpected record {} of request {id}", kind.0),
            Self::Length(kind, length) => write!(f, "record {} of {length} bytes", kind.0),
            Self::TooLong => f.write_str("too many variables"),
        }
    }
}

impl core::error::Error for Fault {}

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
    pub fn receive<'b>(&mut self, input: &'b [u8]) -> Result<(usize, Option<Event<'b>>), Fault> {
        let mut used = 0;
        loop {
            let (taken, piece) = self.reader.next(&input[used..]).map_err(Fault::Version)?;
            used += taken;
            let event = match piece {
                None => return Ok((used, None)),
                Some(Piece::Start(header)) => self.start(header)?,
                Some(Piece::Content(header, content)) => self.content(header, content)?,
                Some(Piece::End(header)) => self.end(header),
            };
            if event.is_some() {
                return Ok((used, event));
            }
        }
    }

    fn start(&mut self, header: Header) -> Result<Option<Event<'static>>, Fault> {
        let Header { kind, request_id, content_bytes, .. } = header;
        if request_id == MANAGEMENT {
            self.asked.clear();
            let is_known = kind == Kind::GET_VALUES;
            return Ok((!is_known).then_some(Event::Unknown(kind)));
        }
        let is_empty = content_bytes == 0;
        match (kind, self.stage) {
            (Kind::BEGIN_REQUEST, Stage::Idle) => {
                if usize::from(content_bytes) != HEADER_BYTES {
                    return Err(Fault::Length(kind, content_bytes));
                }
                (self.request_id, self.stage) = (request_id, Stage::Beginning(FixedBody::EMPTY));
                self.params.clear();
                Ok(None)
            }
            _ if request_id != self.request_id => Err(Fault::Unexpected(kind, request_id)),
            (Kind::PARAMS, Stage::Params) => Ok(self.at_end(is_empty, Stage::Stdin, Event::Params)),
            (Kind::STDIN, Stage::Stdin) => {
                Ok(self.at_end(is_empty, Stage::Received, Event::StdinEnd))
            }
            // It may cross with the answer on its way.
            (Kind::ABORT_REQUEST, _) => Ok(Some(Event::Abort)),
            (Kind::STDIN, Stage::Idle) => Ok(None),
            _ => Err(Fault::Unexpected(kind, request_id)),
        }
    }

    fn at_end(
        &mut self,
        is_empty: bool,
        next: Stage,
        event: Event<'static>,
    ) -> Option<Event<'static>> {
        if !is_empty {
            return None;
        }
        self.stage = next;
        Some(event)
    }

    fn content<'b>(
        &mut self,
        header: Header,
        content: &'b [u8],
    ) -> Result<Option<Event<'b>>, Fault> {
        match (header.kind, &mut self.stage) {
            // One record has at most 64 KiB, and the next one begins anew.
            (Kind::GET_VALUES, _) if header.request_id == MANAGEMENT => {
                self.asked.extend_from_slice(content);
            }
            _ if header.request_id == MANAGEMENT => {}
            (Kind::STDIN, Stage::Stdin) => return Ok(Some(Event::Stdin(content))),
            (Kind::BEGIN_REQUEST, Stage::Beginning(body)) => body.add(content),
            (Kind::PARAMS, _) => {
                if self.params.len() + content.len() > limits::FASTCGI_PARAMS_BYTES {
                    return Err(Fault::TooLong);
                }
                self.params.extend_from_slice(content);
            }
            _ => {}
        }
        Ok(None)
    }

    fn end(&mut self, header: Header) -> Option<Event<'static>> {
        match (header.kind, self.stage) {
            (Kind::BEGIN_REQUEST, Stage::Beginning(body)) => {
                self.stage = Stage::Params;
                Some(Event::Begin(BeginRequest::decode(body.bytes())))
            }
            (Kind::GET_VALUES, _) if header.request_id == MANAGEMENT => Some(Event::GetValues),
            _ => None,
        }
    }

    /// The variables of the request.
    pub fn params(&self) -> Pairs<'_> {
        Pairs::new(&self.params)
    }

    /// Appends a piece of the answer.
    pub fn stdout(&self, out: &mut Vec<u8>, data: &[u8]) {
        record::write(out, Kind::STDOUT, self.request_id, data);
    }

    /// Appends text for the server's log.
    pub fn stderr(&self, out: &mut Vec<u8>, data: &[u8]) {
        record::write(out, Kind::STDERR, self.request_id, data);
    }

    /// Appends the end of the answer.
    pub fn end_stdout(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&Header::new(Kind::STDOUT, self.request_id, 0).encode());
    }

    /// Appends the end of the request, after which another may come. What is still to come of its
    /// body is passed over.
    pub fn end_request(&mut self, out: &mut Vec<u8>, end: EndRequest) {
        record::write(out, Kind::END_REQUEST, self.request_id, &end.encode());
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
        let header = Header::new(Kind::GET_VALUES_RESULT, MANAGEMENT, length);
        out.extend_from_slice(&header.encode());
        out.extend_from_slice(&answer);
        Ok(())
    }

    /// Appends that a kind of management record is not known here.
    pub fn unknown(&self, out: &mut Vec<u8>, kind: Kind) {
        record::write(out, Kind::UNKNOWN_TYPE, MANAGEMENT, &[kind.0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
