//! Asking an application what it is able to (FastCGI 1.0, section 4.1). It is asked on a connection
//! where no request runs; php-fpm answers it, others may not.

use crate::params::{Pairs, write_pair};
use crate::reader::{RecordPiece, RecordReader};
use crate::record::{BadVersion, MANAGEMENT, RecordHeader, RecordKind};
use alloc::vec::Vec;
use core::fmt;
use message::limits;

/// The names of what can be asked.
pub const MAX_CONNS: &[u8] = b"FCGI_MAX_CONNS";
/// See [`ApplicationValues::max_requests`].
pub const MAX_REQS: &[u8] = b"FCGI_MAX_REQS";
/// See [`ApplicationValues::multiplexes`].
pub const MPXS_CONNS: &[u8] = b"FCGI_MPXS_CONNS";

/// What an application says about itself. It need not say anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplicationValues {
    /// Connections that it accepts at the same time.
    pub max_connections: Option<u32>,
    /// Requests that it answers at the same time.
    pub max_requests: Option<u32>,
    /// Whether it answers several at a time on one connection.
    pub multiplexes: Option<bool>,
}

/// Why there is no answer, and never will be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoValues {
    /// A record of another version.
    Version(BadVersion),
    /// The question is not understood (`UNKNOWN_TYPE`), or something else is answered.
    Kind(RecordKind),
    /// The answer is longer than one could be.
    TooLong,
    /// The answer is no list of pairs.
    Malformed,
}

impl fmt::Display for NoValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => version.fmt(f),
            Self::Kind(kind) => write!(f, "Got bogus record {}", kind.0),
            Self::TooLong => f.write_str("values are too long"),
            Self::Malformed => f.write_str("values are malformed"),
        }
    }
}

impl core::error::Error for NoValues {}

/// Appends the question for all of [`ApplicationValues`].
pub fn ask(out: &mut Vec<u8>) {
    let mut names = Vec::new();
    for name in [MAX_CONNS, MAX_REQS, MPXS_CONNS] {
        write_pair(&mut names, name, b"");
    }
    crate::record::write(out, RecordKind::GET_VALUES, MANAGEMENT, &names);
}

/// Reads the answer.
#[derive(Clone, Debug)]
pub struct ValuesReader {
    reader: RecordReader,
    content: Vec<u8>,
}

impl Default for ValuesReader {
    fn default() -> Self {
        Self { reader: RecordReader::new(), content: Vec::new() }
    }
}

impl ValuesReader {
    /// Takes what has come: how much of it, and the answer if that is complete. After an answer or
    /// a failure the reader is of no more use.
    pub fn receive(
        &mut self,
        input: &[u8],
    ) -> Result<(usize, Option<ApplicationValues>), NoValues> {
        let mut used = 0;
        loop {
            let next = self.reader.next(&input[used..]).map_err(NoValues::Version);
            let (taken, piece) = next?;
            used += taken;
            match piece {
                None => return Ok((used, None)),
                Some(RecordPiece::Start(header)) => self.check(header)?,
                Some(RecordPiece::Content(_, content)) => self.content.extend_from_slice(content),
                Some(RecordPiece::End(_)) => return Ok((used, Some(values(&self.content)?))),
            }
        }
    }

    fn check(&self, header: RecordHeader) -> Result<(), NoValues> {
        if header.kind != RecordKind::GET_VALUES_RESULT || header.request_id != MANAGEMENT {
            return Err(NoValues::Kind(header.kind));
        }
        if usize::from(header.content_bytes) > limits::FASTCGI_VALUES_BYTES {
            return Err(NoValues::TooLong);
        }
        Ok(())
    }
}

fn values(content: &[u8]) -> Result<ApplicationValues, NoValues> {
    let mut values = ApplicationValues::default();
    for pair in Pairs::new(content) {
        let (name, value) = pair.map_err(|_| NoValues::Malformed)?;
        let number = core::str::from_utf8(value).ok().and_then(|text| text.parse::<u32>().ok());
        match name {
            MAX_CONNS => values.max_connections = number,
            MAX_REQS => values.max_requests = number,
            MPXS_CONNS => values.multiplexes = number.map(|number| number != 0),
            _ => {}
        }
    }
    Ok(values)
}
