//! What of a response is collected until it is sent in one call, and which of its bytes are framing
//! (head and chunk lines) and which are content. It does no I/O.

use std::ops::Range;

/// Small pieces are collected up to this size, and no further: a response of many ranges must
/// not lie in memory as a whole while a slow client reads it.
const COLLECTED_BYTES: usize = 64 * 1024;

/// Bytes to be sent.
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    /// The parts of `bytes` that are no content, in order.
    framing: Vec<Range<usize>>,
    is_chunked: bool,
}

impl Outbox {
    /// An outbox that begins with the head of a response; `is_chunked` says whether the body is
    /// framed as chunks.
    pub(crate) fn new(head: Vec<u8>, is_chunked: bool) -> Self {
        let whole = 0..head.len();
        Self { bytes: head, framing: Vec::from([whole]), is_chunked }
    }

    /// What is to be sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where content is appended.
    pub(crate) fn body(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether what was collected should be sent before more is added.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= COLLECTED_BYTES
    }

    /// Everything was sent, or nothing will be any more.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.framing.clear();
    }

    /// `length` bytes of content follow, in one chunk. A chunk without bytes would end the body,
    /// so that there is none for it (RFC 9112 section 7.1).
    pub(crate) fn open_chunk(&mut self, length: Option<u64>) {
        if let Some(length) = length.filter(|length| self.is_chunked && *length > 0) {
            self.frame(|out| http1::chunk_start(length, out));
        }
    }

    /// Ends the chunk that [`Self::open_chunk`] began with the same `length`.
    pub(crate) fn close_chunk(&mut self, length: Option<u64>) {
        if length.is_some_and(|length| self.is_chunked && length > 0) {
            self.frame(|out| out.extend_from_slice(http1::CHUNK_END));
        }
    }

    /// Content of its own chunk.
    pub(crate) fn chunk(&mut self, content: &[u8]) {
        let length = Some(content.len() as u64);
        self.open_chunk(length);
        self.bytes.extend_from_slice(content);
        self.close_chunk(length);
    }

    /// The body is complete.
    pub(crate) fn end(&mut self) {
        if self.is_chunked {
            self.frame(|out| out.extend_from_slice(http1::LAST_CHUNK));
        }
    }

    /// How many of the first `sent` bytes are no content.
    pub(crate) fn framing_within(&self, sent: u64) -> u64 {
        let within = |at: usize| (at as u64).min(sent);
        self.framing.iter().map(|part| within(part.end) - within(part.start)).sum()
    }

    fn frame(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.framing.push(start..self.bytes.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_and_content_are_told_apart_wherever_sending_stops() {
        let mut outbox = Outbox::new(b"HEAD".to_vec(), true);
        outbox.chunk(b"abc");
        outbox.chunk(b"");
        outbox.end();
        assert_eq!(outbox.bytes(), b"HEAD3\r\nabc\r\n0\r\n\r\n");
        let content: Vec<u64> = (0..=17).map(|sent| sent - outbox.framing_within(sent)).collect();
        assert_eq!(content, [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3]);
    }

    #[test]
    fn without_chunks_nothing_is_added() {
        let mut outbox = Outbox::new(b"HEAD".to_vec(), false);
        outbox.chunk(b"abc");
        outbox.end();
        assert_eq!((outbox.bytes(), outbox.framing_within(7)), (&b"HEADabc"[..], 4));
    }
}
