//! Records, of which everything consists that is said (FastCGI 1.0, sections 3.3 and 8): the header
//! and the fixed bodies. What a sequence of them means is for the other files to say.

use alloc::vec::Vec;
use core::fmt;

/// The only version there is.
pub const VERSION: u8 = 1;

/// Bytes of every header, and of the body of `BEGIN_REQUEST` and `END_REQUEST`.
pub const HEADER_BYTES: usize = 8;

/// Bytes of content that a record can have.
pub const CONTENT_BYTES_MAX: usize = u16::MAX as usize;

/// The request of records that belong to none.
pub const MANAGEMENT: u16 = 0;

/// The flag of `BEGIN_REQUEST` by which the connection stays open after the answer.
const KEEP_CONN: u8 = 1;

/// What a record is. Other values than those below can come, and have to be dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordKind(pub u8);

impl RecordKind {
    /// A request begins.
    pub const BEGIN_REQUEST: Self = Self(1);
    /// The server gives a request up.
    pub const ABORT_REQUEST: Self = Self(2);
    /// A request is answered.
    pub const END_REQUEST: Self = Self(3);
    /// Variables; empty when there are no more.
    pub const PARAMS: Self = Self(4);
    /// The body of the request; empty at its end.
    pub const STDIN: Self = Self(5);
    /// The answer; empty at its end.
    pub const STDOUT: Self = Self(6);
    /// Text for the error log.
    pub const STDERR: Self = Self(7);
    /// A file, for filters.
    pub const DATA: Self = Self(8);
    /// What is asked about the application.
    pub const GET_VALUES: Self = Self(9);
    /// What it says.
    pub const GET_VALUES_RESULT: Self = Self(10);
    /// It does not know a kind of management record.
    pub const UNKNOWN_TYPE: Self = Self(11);
}

/// What the application is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role(pub u16);

impl Role {
    /// Answer, as a CGI script does.
    pub const RESPONDER: Self = Self(1);
    /// Say whether a request is allowed.
    pub const AUTHORIZER: Self = Self(2);
    /// Change a file on its way out.
    pub const FILTER: Self = Self(3);
}

/// How the application sees the end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolStatus(pub u8);

impl ProtocolStatus {
    /// All is said.
    pub const REQUEST_COMPLETE: Self = Self(0);
    /// It answers one request at a time on a connection.
    pub const CANT_MPX_CONN: Self = Self(1);
    /// It has run out of something.
    pub const OVERLOADED: Self = Self(2);
    /// It does not do what was asked.
    pub const UNKNOWN_ROLE: Self = Self(3);
}

impl fmt::Display for ProtocolStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::REQUEST_COMPLETE => f.write_str("complete"),
            Self::CANT_MPX_CONN => f.write_str("it takes one at a time on a connection"),
            Self::OVERLOADED => f.write_str("it is overloaded"),
            Self::UNKNOWN_ROLE => f.write_str("it is no responder"),
            Self(status) => write!(f, "protocol status {status}"),
        }
    }
}

/// A version that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadVersion(pub u8);

impl fmt::Display for BadVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Got bogus version {}", self.0)
    }
}

impl core::error::Error for BadVersion {}

/// What stands before the content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// What it is.
    pub kind: RecordKind,
    /// The request it belongs to, or [`MANAGEMENT`].
    pub request_id: u16,
    /// Bytes of content.
    pub content_bytes: u16,
    /// Bytes behind the content that mean nothing.
    pub padding_bytes: u8,
}

impl RecordHeader {
    /// A header of a record without padding.
    pub const fn new(kind: RecordKind, request_id: u16, content_bytes: u16) -> Self {
        Self { kind, request_id, content_bytes, padding_bytes: 0 }
    }

    /// As it is sent.
    pub const fn encode(self) -> [u8; HEADER_BYTES] {
        let [id_1, id_0] = self.request_id.to_be_bytes();
        let [length_1, length_0] = self.content_bytes.to_be_bytes();
        [VERSION, self.kind.0, id_1, id_0, length_1, length_0, self.padding_bytes, 0]
    }

    /// As it came. Nothing but the version can be wrong with a header by itself.
    pub const fn decode(bytes: [u8; HEADER_BYTES]) -> Result<Self, BadVersion> {
        let [version, kind, id_1, id_0, length_1, length_0, padding_bytes, _reserved] = bytes;
        if version != VERSION {
            return Err(BadVersion(version));
        }
        Ok(Self {
            kind: RecordKind(kind),
            request_id: u16::from_be_bytes([id_1, id_0]),
            content_bytes: u16::from_be_bytes([length_1, length_0]),
            padding_bytes,
        })
    }
}

/// The content of `BEGIN_REQUEST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginRequest {
    /// What is asked for.
    pub role: Role,
    /// Whether the connection stays open afterwards.
    pub keep_conn: bool,
}

impl BeginRequest {
    /// As it is sent.
    pub const fn encode(self) -> [u8; HEADER_BYTES] {
        let [role_1, role_0] = self.role.0.to_be_bytes();
        [role_1, role_0, if self.keep_conn { KEEP_CONN } else { 0 }, 0, 0, 0, 0, 0]
    }

    /// As it came; other flags mean nothing.
    pub const fn decode(bytes: [u8; HEADER_BYTES]) -> Self {
        let [role_1, role_0, flags, ..] = bytes;
        let role = Role(u16::from_be_bytes([role_1, role_0]));
        Self { role, keep_conn: flags & KEEP_CONN != 0 }
    }
}

/// The content of `END_REQUEST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndRequest {
    /// What a CGI script would have ended with.
    pub app_status: u32,
    /// Whether the request was understood at all.
    pub protocol_status: ProtocolStatus,
}

impl EndRequest {
    /// As it is sent.
    pub const fn encode(self) -> [u8; HEADER_BYTES] {
        let [app_3, app_2, app_1, app_0] = self.app_status.to_be_bytes();
        [app_3, app_2, app_1, app_0, self.protocol_status.0, 0, 0, 0]
    }

    /// As it came.
    pub const fn decode(bytes: [u8; HEADER_BYTES]) -> Self {
        let [app_3, app_2, app_1, app_0, protocol, ..] = bytes;
        Self {
            app_status: u32::from_be_bytes([app_3, app_2, app_1, app_0]),
            protocol_status: ProtocolStatus(protocol),
        }
    }
}

/// Appends `data` to a stream, in as many records as it takes: none for no data, because an empty
/// record is the end of a stream.
pub fn write(out: &mut Vec<u8>, kind: RecordKind, request_id: u16, data: &[u8]) {
    for content in data.chunks(CONTENT_BYTES_MAX) {
        // Chunks are at most as long as that, so nothing is cut.
        let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&RecordHeader::new(kind, request_id, length).encode());
        out.extend_from_slice(content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    #[test]
    fn a_header_has_the_layout_of_the_specification() {
        let padding_bytes = 7;
        let header =
            RecordHeader { padding_bytes, ..RecordHeader::new(RecordKind::STDOUT, 0x0102, 0x0304) };
        assert_eq!(header.encode(), [1, 6, 1, 2, 3, 4, 7, 0]);
        assert_eq!(RecordHeader::decode([1, 6, 1, 2, 3, 4, 7, 99]), Ok(header));
        assert_eq!(RecordHeader::decode([2, 6, 1, 2, 3, 4, 7, 0]), Err(BadVersion(2)));
        assert_eq!(RecordHeader::decode([0; 8]), Err(BadVersion(0)));
    }

    #[test]
    fn the_ends_of_a_request_have_the_layout_of_the_specification() {
        let begin = BeginRequest { role: Role::RESPONDER, keep_conn: true };
        assert_eq!(begin.encode(), [0, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(BeginRequest::decode([0, 3, 0xfe, 1, 2, 3, 4, 5]).role, Role::FILTER);
        assert!(!BeginRequest::decode([0, 3, 0xfe, 1, 2, 3, 4, 5]).keep_conn);
        let end = EndRequest { app_status: 0x0102_0304, protocol_status: ProtocolStatus(2) };
        assert_eq!(end.encode(), [1, 2, 3, 4, 2, 0, 0, 0]);
        assert_eq!(EndRequest::decode([1, 2, 3, 4, 2, 9, 9, 9]), end);
    }

    #[test]
    fn long_data_takes_several_records_and_none_takes_no_record() {
        let mut out = Vec::new();
        write(&mut out, RecordKind::STDIN, 1, b"");
        assert!(out.is_empty());
        write(&mut out, RecordKind::STDIN, 1, &std::vec![b'x'; CONTENT_BYTES_MAX + 1]);
        assert_eq!(out.len(), 2 * HEADER_BYTES + CONTENT_BYTES_MAX + 1);
        assert_eq!(out[..8], [1, 5, 0, 1, 0xff, 0xff, 0, 0]);
        assert_eq!(out[8 + CONTENT_BYTES_MAX..], [1, 5, 0, 1, 0, 1, 0, 0, b'x']);
    }

    proptest! {
        #[test]
        fn what_is_written_can_be_read(kind: u8, request_id: u16, length: u16, padding_bytes: u8) {
            let header = RecordHeader::new(RecordKind(kind), request_id, length);
            let header = RecordHeader { padding_bytes, ..header };
            prop_assert_eq!(RecordHeader::decode(header.encode()), Ok(header));
        }

        #[test]
        fn bodies_that_are_written_can_be_read(role: u16, keep_conn: bool, app_status: u32, p: u8) {
            let begin = BeginRequest { role: Role(role), keep_conn };
            prop_assert_eq!(BeginRequest::decode(begin.encode()), begin);
            let end = EndRequest { app_status, protocol_status: ProtocolStatus(p) };
            prop_assert_eq!(EndRequest::decode(end.encode()), end);
        }
    }
}
