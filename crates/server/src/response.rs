//! A response before it is written: status, fields, and a body of known length.

use crate::failure::Failure;
use crate::representation::Representation;
use http1::PageFacts;
use message::Status;
use std::rc::Rc;

/// A response. `Date`, `Server`, `Content-Length` and the fields about the connection are added
/// when it is written.
pub(crate) struct Response {
    pub(crate) status: Status,
    pub(crate) fields: Vec<(&'static str, Vec<u8>)>,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Body,
    /// What made it, for `%R`.
    pub(crate) handler: Option<&'static str>,
    /// The decoded URL path, once known.
    pub(crate) path: Option<Vec<u8>>,
    /// The file behind it, for `%f`.
    pub(crate) filename: Option<Vec<u8>>,
}

/// Pieces that are sent one after the other.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) pieces: Vec<Piece>,
}

/// A piece of a body.
pub(crate) enum Piece {
    /// Bytes in memory.
    Bytes(Vec<u8>),
    /// Part of a file.
    File {
        /// The open file.
        source: Rc<Representation>,
        /// Position of the first byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
}

impl Body {
    /// A body in memory.
    pub(crate) fn bytes(bytes: Vec<u8>) -> Self {
        Self { pieces: vec![Piece::Bytes(bytes)] }
    }

    /// Total length.
    pub(crate) fn len(&self) -> u64 {
        self.pieces.iter().map(Piece::len).sum()
    }
}

impl Piece {
    /// Its length.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }
}

/// What httpd says about the pages it makes itself.
const PAGE_TYPE: &str = "text/html; charset=iso-8859-1";

impl Response {
    /// A response without fields and body.
    pub(crate) fn new(status: Status) -> Self {
        Self {
            status,
            fields: Vec::new(),
            content_type: None,
            body: Body::default(),
            handler: None,
            path: None,
            filename: None,
        }
    }

    /// Add a field.
    pub(crate) fn field(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// A page in memory.
    pub(crate) fn page(content_type: impl Into<String>, body: Vec<u8>) -> Self {
        let mut page = Self::new(Status::OK);
        page.content_type = Some(content_type.into());
        page.body = Body::bytes(body);
        page
    }

    /// httpd's page for `status`.
    pub(crate) fn canned(status: Status, facts: &PageFacts<'_>) -> Self {
        let mut body = Vec::new();
        http1::error_page(status, facts, &mut body);
        Self { status, ..Self::page(PAGE_TYPE, body) }
    }

    /// A redirect.
    pub(crate) fn redirect(status: Status, location: Vec<u8>) -> Self {
        let facts = PageFacts { location: Some(&location), ..PageFacts::default() };
        let page = Self::canned(status, &facts);
        page.field("Location", location)
    }

    /// The page for a failure. `method` and `expect` are what the client sent.
    pub(crate) fn failure(failure: &Failure, method: &[u8], expect: Option<&[u8]>) -> Self {
        let facts = PageFacts { method, expect, ..PageFacts::default() };
        let mut page = Self::canned(failure.status, &facts);
        if failure.status == Status::METHOD_NOT_ALLOWED {
            page = page.field("Allow", ALLOWED_METHODS);
        }
        match failure.retry_after_s {
            Some(seconds) => page.field("Retry-After", seconds.to_string()),
            None => page,
        }
    }
}

/// What a static resource answers (default handler of core.c).
pub(crate) const ALLOWED_METHODS: &str = "GET,POST,OPTIONS,HEAD";
