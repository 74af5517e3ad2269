//! Parts a stream of bytes into records. It keeps a header and a position, and no content: that is
//! handed on where it lies. Whose record it is, and what it means, is for the ends to say.

use crate::record::{BadVersion, HEADER_BYTES, RecordHeader};

/// Finds the records in what comes, however that is split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordReader {
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// So many bytes of a header are there.
    Header { bytes: [u8; HEADER_BYTES], have: usize },
    /// So many bytes of the content are to come.
    Content { header: RecordHeader, left: usize },
    /// So many bytes of the padding are to come.
    Padding { header: RecordHeader, left: usize },
}

const START: State = State::Header { bytes: [0; HEADER_BYTES], have: 0 };

/// Part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordPiece<'b> {
    /// Its header.
    Start(RecordHeader),
    /// Some of its content, never empty.
    Content(RecordHeader, &'b [u8]),
    /// All of it has come, padding included.
    End(RecordHeader),
}

impl RecordReader {
    pub(crate) const fn new() -> Self {
        Self { state: START }
    }

    /// The next piece, and how much of the input it took. Without a piece all of it is taken. A
    /// version that is wrong ends reading: nothing behind it has a place.
    pub(crate) fn next<'b>(
        &mut self,
        input: &'b [u8],
    ) -> Result<(usize, Option<RecordPiece<'b>>), BadVersion> {
        match self.state {
            State::Header { bytes, have } => self.header(bytes, have, input),
            State::Content { header, left: 0 } => {
                let left = usize::from(header.padding_bytes);
                Ok(self.padding(header, left, input))
            }
            State::Content { header, left } => Ok(self.content(header, left, input)),
            State::Padding { header, left } => Ok(self.padding(header, left, input)),
        }
    }

    /// Whether nothing of a record has come, or all of it.
    pub(crate) const fn is_between_records(&self) -> bool {
        matches!(self.state, State::Header { have: 0, .. })
    }

    fn header<'b>(
        &mut self,
        mut bytes: [u8; HEADER_BYTES],
        have: usize,
        input: &'b [u8],
    ) -> Result<(usize, Option<RecordPiece<'b>>), BadVersion> {
        let used = input.len().min(HEADER_BYTES - have);
        bytes[have..have + used].copy_from_slice(&input[..used]);
        self.state = State::Header { bytes, have: have + used };
        if have + used < HEADER_BYTES {
            return Ok((used, None));
        }
        let header = RecordHeader::decode(bytes)?;
        self.state = State::Content { header, left: usize::from(header.content_bytes) };
        Ok((used, Some(RecordPiece::Start(header))))
    }

    fn content<'b>(
        &mut self,
        header: RecordHeader,
        left: usize,
        input: &'b [u8],
    ) -> (usize, Option<RecordPiece<'b>>) {
        let used = input.len().min(left);
        self.state = State::Content { header, left: left - used };
        (used, (used > 0).then_some(RecordPiece::Content(header, &input[..used])))
    }

    fn padding<'b>(
        &mut self,
        header: RecordHeader,
        left: usize,
        input: &'b [u8],
    ) -> (usize, Option<RecordPiece<'b>>) {
        let used = input.len().min(left);
        if used < left {
            self.state = State::Padding { header, left: left - used };
            return (used, None);
        }
        self.state = START;
        (used, Some(RecordPiece::End(header)))
    }
}

/// Collects a body of fixed length. What is longer is cut, what is missing is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedBody {
    bytes: [u8; HEADER_BYTES],
    have: usize,
}

impl FixedBody {
    pub(crate) const EMPTY: Self = Self { bytes: [0; HEADER_BYTES], have: 0 };

    pub(crate) fn add(&mut self, content: &[u8]) {
        let taken = content.len().min(HEADER_BYTES - self.have);
        self.bytes[self.have..self.have + taken].copy_from_slice(&content[..taken]);
        self.have += taken;
    }

    pub(crate) const fn bytes(self) -> [u8; HEADER_BYTES] {
        self.bytes
    }
}
