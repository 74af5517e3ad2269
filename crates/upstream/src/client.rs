//! What the connections of one thread share: only one of them has a turn at a time.

use crate::{ClientTransport, Route, UpstreamError, h2};
use http1::{AnswerParser, AnswerTemplate};
use std::cell::RefCell;
use std::rc::Rc;

/// What is read at once; also what is thrown away at once of a body that nobody looks at.
const SCRATCH_BYTES: usize = 256 * 1024;

/// Templates that are remembered. Requests behind them have their heads parsed each time: there may
/// be a million.
const TEMPLATES_MAX: usize = 10_000;

/// The HTTP client of one thread: its buffers, the connections of HTTP/2 that requests share, and
/// what is remembered of answers. Nothing in it is locked.
pub struct HttpClient {
    /// Connections of HTTP/2, which requests share.
    pub h2: h2::Connections,
    /// Requests as HTTP/2 has them, remembered.
    pub translated_requests: h2::TranslatedRequests,
    /// What was read from a connection, until it is looked at.
    pub(crate) scratch: RefCell<Box<[u8]>>,
    pub(crate) tls: Rc<tls::Buffers>,
    pub(crate) parser: RefCell<AnswerParser>,
    /// For each [`crate::Batch::template`], up to a limit, the head that it was answered with last.
    pub(crate) templates: RefCell<Vec<Option<AnswerTemplate>>>,
}

impl HttpClient {
    /// A client that remembers the heads of so many templates.
    pub fn new(templates: usize) -> Self {
        let mut heads = Vec::new();
        heads.resize_with(templates.min(TEMPLATES_MAX), || None);
        Self {
            h2: h2::Connections::default(),
            translated_requests: h2::TranslatedRequests::default(),
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into()),
            tls: Rc::default(),
            parser: RefCell::new(AnswerParser::new()),
            templates: RefCell::new(heads),
        }
    }

    /// Connect; `turn` chooses the address to come from.
    ///
    /// # Errors
    /// What went wrong with the last of the route's addresses.
    pub async fn connect(
        &self,
        route: &Route,
        turn: usize,
    ) -> Result<ClientTransport, UpstreamError> {
        route.connect(turn, &self.tls).await
    }
}
