//! The request body, whichever way its length is given.

use crate::chunked::{ChunkStep, ChunkedDecoder};
use alloc::vec::Vec;
use message::{BodyLength, Refusal};

#[derive(Clone, Copy, Debug)]
enum BodyKind {
    Length(u64),
    Chunked(ChunkedDecoder),
}

/// Decodes one request body.
#[derive(Clone, Copy, Debug)]
pub struct BodyDecoder {
    kind: BodyKind,
}

impl BodyDecoder {
    /// A decoder at the first byte after the head. `limit` is `LimitRequestBody`, 0 for none.
    pub const fn new(length: BodyLength, limit: u64) -> Self {
        let kind = match length {
            BodyLength::None => BodyKind::Length(0),
            BodyLength::Length(bytes) => BodyKind::Length(bytes),
            // HTTP/1 has no other way to send such a request (RFC 9112 section 6.3).
            BodyLength::Unknown => BodyKind::Chunked(ChunkedDecoder::new(limit)),
        };
        Self { kind }
    }

    /// Decodes up to the end of the next piece of data, of the body, or of `input`. A decoder that
    /// is done uses nothing and stays done.
    pub fn decode(&mut self, input: &[u8]) -> Result<ChunkStep, Refusal> {
        match &mut self.kind {
            BodyKind::Chunked(decoder) => decoder.decode(input),
            BodyKind::Length(left) => {
                let used = usize::try_from(*left).map_or(input.len(), |n| n.min(input.len()));
                *left -= used as u64;
                Ok(ChunkStep { used, data: 0..used, done: *left == 0 })
            }
        }
    }

    /// Bytes still to come, if the head told. Used to decide whether reading them is worth it.
    pub const fn bytes_left(&self) -> Option<u64> {
        match self.kind {
            BodyKind::Length(left) => Some(left),
            BodyKind::Chunked(_) => None,
        }
    }
}

/// For fuzz targets: the first two bytes choose the length, the rest is the body.
pub fn fuzz_body(data: &[u8]) {
    let [kind, length, input @ ..] = data else { return };
    let length = match kind % 3 {
        0 => BodyLength::None,
        1 => BodyLength::Length(u64::from(*length)),
        _ => BodyLength::Unknown,
    };
    fuzz_body_of(length, 1000, input);
}

/// Decodes `input` whole and byte by byte; data, end and refusal must agree.
pub(crate) fn fuzz_body_of(length: BodyLength, limit: u64, input: &[u8]) {
    let whole = drive(length, limit, input, input.len().max(1));
    let split = drive(length, limit, input, 1);
    assert_eq!(whole, split, "the result depends on how the input was split");
    let (data, used, end) = whole;
    assert!(data.len() <= used && used <= input.len());
    assert!(data.len() as u64 <= limit);
    assert!(end.is_err() || end == Ok(true) || used == input.len(), "input was left lying");
}

/// Data, bytes used, and whether the body was done or why it was refused.
type Driven = (Vec<u8>, usize, Result<bool, Refusal>);

fn drive(length: BodyLength, limit: u64, input: &[u8], step_bytes: usize) -> Driven {
    let mut decoder = BodyDecoder::new(length, limit);
    let (mut data, mut used) = (Vec::new(), 0);
    loop {
        let end = input.len().min(used + step_bytes);
        let step = match decoder.decode(&input[used..end]) {
            Ok(step) => step,
            // How far into a refused input the decoder came is not part of its contract.
            Err(refusal) => return (Vec::new(), 0, Err(refusal)),
        };
        data.extend(&input[used..end][step.data.clone()]);
        used += step.used;
        if step.done || used == input.len() {
            return (data, used, Ok(step.done));
        }
        assert!(step.used > 0, "no progress");
    }
}

/// For fuzz targets: decodes `data` whole and byte by byte; both must agree.
pub fn fuzz_chunked(data: &[u8]) {
    fuzz_body_of(BodyLength::Unknown, 1000, data);
}
