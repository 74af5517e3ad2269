//! Ids that tie the lines of the error log about a request or a connection to its line in the
//! access log (`%L`). One is made with the first such line.

use std::cell::Cell;

/// Eleven letters (log.c, core_generate_log_id).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogId([u8; 11]);

/// The id of a request: one like that of a connection, or that of mod_unique_id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestLogId {
    /// One of ours.
    Own(LogId),
    /// That of mod_unique_id.
    Unique(UniqueId),
}

/// What mod_unique_id calls a request.
pub type UniqueId = [u8; 27];

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl LogId {
    /// The id of what began at `time_us` in this process; `lane` tells those apart that began at
    /// the same time.
    pub(crate) fn new(time_us: i64, pid: u32, lane: u32) -> Self {
        let pid = u64::from(pid);
        let id =
            time_us.cast_unsigned() ^ (pid << 40) ^ (pid >> 24 << 56) ^ (u64::from(lane) << 32);
        let mut bytes = [0; 9];
        bytes[..8].copy_from_slice(&id.to_le_bytes());
        let mut text = [0; 11];
        for (at, letter) in text.iter_mut().enumerate() {
            let bit = at * 6;
            let pair = u16::from_be_bytes([bytes[bit / 8], bytes[bit / 8 + 1]]);
            *letter = LETTERS[usize::from(pair >> (10 - bit % 8)) & 63];
        }
        Self(text)
    }

    /// The letters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl RequestLogId {
    /// The letters.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Own(id) => id.as_bytes(),
            Self::Unique(id) => id,
        }
    }
}

/// What the error log has said about a request and its connection so far.
#[derive(Clone, Debug, Default)]
pub struct LogIds {
    /// Of the request.
    pub request: Cell<Option<RequestLogId>>,
    /// What mod_unique_id calls the request. It is the id as soon as one is needed.
    pub unique: Cell<Option<UniqueId>>,
    /// Of the connection, which outlives the request.
    pub connection: Cell<Option<LogId>>,
    /// Requests that the connection had carried before.
    pub keepalives: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_base64_of_its_number() {
        for (id, text) in
            [(0, "AAAAAAAAAAA"), (i64::MAX, "/////////38"), (0x0807_0605_0403_0201, "AQIDBAUGBwg")]
        {
            assert_eq!(LogId::new(id, 0, 0).as_bytes(), text.as_bytes());
        }
    }

    #[test]
    fn processes_and_connections_differ() {
        let one = LogId::new(1_767_225_600_000_000, 100, 40_000);
        assert_ne!(one, LogId::new(1_767_225_600_000_000, 101, 40_000));
        assert_ne!(one, LogId::new(1_767_225_600_000_000, 100, 40_001));
        assert_ne!(one, LogId::new(1_767_225_600_000_001, 100, 40_000));
    }
}
