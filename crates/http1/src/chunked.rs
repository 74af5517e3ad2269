//! The chunked coding (RFC 9112 section 7.1), decoded in place.
//!
//! ```text
//!            +--------------------------------- CR LF --------------------------------+
//!            v                                                                        |
//!  --> SizeStart --> Size --> [Padding] --> [Extension] --> SizeLf --> Data --> DataCr, DataLf
//!                                                             | size 0
//!                                                             v
//!      Done <-- EndLf <------------- CR -------------- TrailerStart <--> Name, Value, TrailerLf
//! ```
//!
//! Every byte of framing is checked, and each kind of it has a budget: what is no data must not let
//! a client keep the server busy for free.

use crate::framing::too_large;
use core::ops::Range;
use message::Refusal;
use message::{limits, scan};

/// What one call of a decoder did with its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkStep {
    /// Bytes of the input that are used up. Unless `done`, call again with the rest, if there is
    /// one, else with more.
    pub used: usize,
    /// The piece of the input that is data; within the used part, and empty when there is none.
    pub data: Range<usize>,
    /// Whether the body is complete. The rest of the input is the next request.
    pub done: bool,
}

/// Digits of a chunk size at most. 16 fill 64 bits; more could only be zeros or an overflow.
const SIZE_DIGITS_MAX: u8 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    SizeStart,
    Size,
    Padding,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// Decodes one chunked body.
#[derive(Clone, Copy, Debug)]
pub struct ChunkedDecoder {
    /// Bytes left of the current chunk; while its size is read, the size so far.
    left: u64,
    /// Bytes that may still come before `LimitRequestBody` is reached.
    budget: u64,
    extension_budget: u32,
    trailer_budget: u32,
    /// Digits of the size, then bytes of padding.
    count: u8,
    state: State,
}

impl ChunkedDecoder {
    /// A decoder at the first chunk. `limit` is `LimitRequestBody`, 0 for none.
    pub const fn new(limit: u64) -> Self {
        Self {
            left: 0,
            budget: if limit == 0 { u64::MAX } else { limit },
            extension_budget: limits::CHUNK_EXTENSION_BYTES,
            trailer_budget: limits::TRAILER_BYTES,
            count: 0,
            state: State::SizeStart,
        }
    }

    /// Decodes up to the end of the next piece of data, of the body, or of `input`.
    pub fn decode(&mut self, input: &[u8]) -> Result<ChunkStep, Refusal> {
        let mut at = 0;
        while self.state != State::Done {
            if self.state == State::Data {
                let piece = self.data(&input[at..]);
                let data = at..at + piece;
                return Ok(ChunkStep { used: data.end, data, done: false });
            }
            let Some(&byte) = input.get(at) else { break };
            self.state = self.framing_byte(byte)?;
            at += 1;
        }
        Ok(ChunkStep { used: at, data: at..at, done: self.state == State::Done })
    }

    /// Takes as much of the chunk as there is.
    fn data(&mut self, input: &[u8]) -> usize {
        let piece = usize::try_from(self.left).map_or(input.len(), |left| left.min(input.len()));
        self.left -= piece as u64;
        if self.left == 0 {
            self.state = State::DataCr;
        }
        piece
    }

    /// One byte that is no data.
    fn framing_byte(&mut self, byte: u8) -> Result<State, Refusal> {
        match self.state {
            State::SizeStart | State::Size | State::Padding => self.size(byte),
            State::Extension => self.extension(byte),
            State::SizeLf => {
                expect(byte, b'\n', "chunk size line has a bare CR")?;
                self.size_complete()
            }
            State::DataCr => {
                expect(byte, b'\r', "chunk data is not followed by CRLF")?;
                Ok(State::DataLf)
            }
            State::DataLf => {
                expect(byte, b'\n', "chunk data is not followed by CRLF")?;
                Ok(State::SizeStart)
            }
            State::EndLf => {
                expect(byte, b'\n', "trailer section ends with a bare CR")?;
                Ok(State::Done)
            }
            State::TrailerStart | State::TrailerName | State::TrailerValue | State::TrailerLf => {
                self.trailer(byte)
            }
            State::Data | State::Done => Ok(self.state),
        }
    }

    /// `chunk-size = 1*HEXDIG`, then the padding httpd allows, then an extension or the line end.
    fn size(&mut self, byte: u8) -> Result<State, Refusal> {
        let digit = char::from(byte).to_digit(16);
        match (self.state, digit, byte) {
            (State::SizeStart, Some(digit), _) => {
                self.left = u64::from(digit);
                self.count = 1;
                Ok(State::Size)
            }
            (State::Size, Some(digit), _) if self.count < SIZE_DIGITS_MAX => {
                self.left = (self.left << 4) | u64::from(digit);
                self.count += 1;
                Ok(State::Size)
            }
            (State::Size, Some(_), _) => {
                Err(Refusal::bad_request("chunk size has too many digits"))
            }
            (State::Size, None, b' ' | b'\t') => {
                self.count = 1;
                Ok(State::Padding)
            }
            (State::Padding, None, b' ' | b'\t') if self.count < limits::CHUNK_SIZE_PADDING => {
                self.count += 1;
                Ok(State::Padding)
            }
            (State::Size | State::Padding, None, b';') => Ok(State::Extension),
            (State::Size | State::Padding, None, b'\r') => Ok(State::SizeLf),
            _ => Err(Refusal::bad_request("chunk size is not a hexadecimal number")),
        }
    }

    /// Extensions are dropped; only the bytes that no line may hold are looked for.
    fn extension(&mut self, byte: u8) -> Result<State, Refusal> {
        if byte == b'\r' {
            return Ok(State::SizeLf);
        }
        if byte != b'\t' && byte.is_ascii_control() {
            return Err(Refusal::bad_request("chunk extension has a control byte"));
        }
        let left = self.extension_budget.checked_sub(1);
        self.extension_budget = left.ok_or(Refusal::bad_request("too many chunk extensions"))?;
        Ok(State::Extension)
    }

    fn size_complete(&mut self) -> Result<State, Refusal> {
        if self.left == 0 {
            return Ok(State::TrailerStart);
        }
        if i64::try_from(self.left).is_err() {
            return Err(Refusal::bad_request("chunk size is too large a number"));
        }
        self.budget = self.budget.checked_sub(self.left).ok_or(too_large())?;
        Ok(State::Data)
    }

    /// Trailer fields are checked as fields of a head are, and dropped: RFC 9110 section 6.5.1
    /// forbids merging them into the head without knowing each one.
    fn trailer(&mut self, byte: u8) -> Result<State, Refusal> {
        let left = self.trailer_budget.checked_sub(1);
        self.trailer_budget = left.ok_or(Refusal::bad_request("trailer section is too long"))?;
        match (self.state, byte) {
            (State::TrailerStart, b'\r') => Ok(State::EndLf),
            (State::TrailerStart | State::TrailerName, byte) if scan::is_token_byte(byte) => {
                Ok(State::TrailerName)
            }
            (State::TrailerName, b':') => Ok(State::TrailerValue),
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerValue, byte) if byte == b'\t' || !byte.is_ascii_control() => {
                Ok(State::TrailerValue)
            }
            (State::TrailerLf, b'\n') => Ok(State::TrailerStart),
            _ => Err(Refusal::bad_request("malformed trailer field")),
        }
    }
}

fn expect(byte: u8, wanted: u8, why: &'static str) -> Result<(), Refusal> {
    if byte == wanted { Ok(()) } else { Err(Refusal::bad_request(why)) }
}
