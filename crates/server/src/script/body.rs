//! The body of a request on its way to a program.

use super::gather::{GatheredBody, gather};
use super::spool::Spool;
use crate::input_filter::InputFilter;
use crate::phase;
use crate::request_body::RequestBody;
use crate::request_context::{LookupPurpose, RequestContext};
use crate::site::settings::DirectoryKey;
use crate::site::store::Merge;
use message::{BodyLength, Method, Refusal, Status};
use std::io;
use std::rc::Rc;
use std::task::Poll;

/// The body of a request as a program is given it, by where it comes from.
pub enum ScriptBody {
    /// There is none.
    None,
    /// From the client, as it sends it.
    Streamed(Rc<RequestBody>),
    /// It is here already, or will be soon, and is as long as the client has said.
    Gathered(GatheredBody),
    /// It is here already, and only that tells how long it is.
    Spooled(Spool),
}

/// Why no more of it comes.
pub enum BodyFault {
    /// The client is at fault.
    Refused(Refusal),
    /// It cannot be read again.
    Lost(io::Error),
}

impl ScriptBody {
    /// The body of a request. A program has to be told how long it is, so one that does not say is
    /// kept until its end is known.
    ///
    /// # Errors
    /// The refusal that it ends in.
    pub async fn of(request: &RequestContext<'_>) -> Result<Self, Refusal> {
        Self::through(request, None).await
    }

    /// The body of a request, unpacked on its way if there is an `unpacker`.
    ///
    /// # Errors
    /// As above, and what is wrong with the packed body.
    pub async fn through(
        request: &RequestContext<'_>,
        unpacker: Option<Box<dyn InputFilter>>,
    ) -> Result<Self, Refusal> {
        // It belongs to the request that this one has come from.
        let is_get = request.exact_method() == Some(Method::Get)
            && request.lineage.purpose == LookupPurpose::Redirected;
        let is_anothers = is_get && request.received().method() != Some(Method::Get);
        let is_part = request.lineage.purpose == LookupPurpose::Sub;
        if request.lineage.is_error_document || is_anothers {
            return Ok(Self::None);
        }
        let incoming = request.received().incoming.clone().filter(|_| !is_part);
        let kept = request.kept_body().filter(|_| is_part || incoming.is_some());
        if let Some(kept) = kept {
            return Ok(Self::Spooled(Spool::of(request.context, kept.to_vec())));
        }
        let Some(incoming) = incoming else { return Ok(Self::None) };
        incoming.want(request.settings.core.limit_request_body());
        match (request.body(), buffering(request)) {
            (BodyLength::Length(length), Some(enough)) if unpacker.is_none() => {
                gather(request, &incoming, (Some(length), enough), None).await.map(Self::Gathered)
            }
            (BodyLength::Length(_), None) if unpacker.is_none() => Ok(Self::Streamed(incoming)),
            _ => Self::whole(request, &incoming, unpacker).await,
        }
    }

    /// Keep the body of a request for all that is asked on its behalf, unpacked, unless it has more
    /// than `most` bytes (keep_body_filter of mod_request.c).
    ///
    /// # Errors
    /// 413 if it has, or what is wrong with it.
    pub async fn keep(request: &RequestContext<'_>, most: u64) -> Result<(), Refusal> {
        let Some(incoming) = request.received().incoming.clone() else {
            request.keep_body(Vec::new());
            return Ok(());
        };
        let too_large = || Refusal::new(Status::CONTENT_TOO_LARGE, "more than KeptBodySize");
        if matches!(request.body(), BodyLength::Length(length) if length > most) {
            return Err(too_large());
        }
        incoming.want(request.settings.core.limit_request_body().min(most));
        let gathered = gather(request, &incoming, (None, u64::MAX), phase::input_filter(request));
        let (mut spool, mut body) = (gathered.await?.spool, Vec::new());
        // It may have become larger when it was unpacked.
        if spool.length() > most {
            return Err(too_large());
        }
        while let Ok(Some(piece)) = spool.next() {
            body.extend(piece);
        }
        request.keep_body(body);
        Ok(())
    }

    /// All of the body, however long it is, in memory or in a file.
    ///
    /// # Errors
    /// As above.
    pub async fn whole(
        request: &RequestContext<'_>,
        incoming: &Rc<RequestBody>,
        unpacker: Option<Box<dyn InputFilter>>,
    ) -> Result<Self, Refusal> {
        let gathered = gather(request, incoming, (None, u64::MAX), unpacker).await?;
        Ok(Self::Spooled(gathered.spool))
    }

    /// The body once more, for another try, as long as nothing of it was read.
    pub fn again(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::Streamed(incoming) => Self::Streamed(incoming.clone()),
            Self::Gathered(gathered) => Self::Gathered(gathered.clone()),
            Self::Spooled(spool) => Self::Spooled(spool.clone()),
        }
    }

    /// The next piece; `None` at the end.
    pub fn poll_next(&mut self) -> Poll<Result<Option<Vec<u8>>, BodyFault>> {
        match self {
            Self::None => Poll::Ready(Ok(None)),
            Self::Streamed(incoming) => incoming.poll_read().map_err(BodyFault::Refused),
            Self::Gathered(GatheredBody { spool, rest }) => match (spool.next(), rest) {
                (Ok(None), Some(rest)) => rest.poll_read().map_err(BodyFault::Refused),
                (next, _) => Poll::Ready(next.map_err(BodyFault::Lost)),
            },
            Self::Spooled(spool) => Poll::Ready(spool.next().map_err(BodyFault::Lost)),
        }
    }
}

/// The key of `RequestBuffering`.
pub static BUFFERING: DirectoryKey<Buffering> = DirectoryKey::new();

/// `RequestBuffering On`, and what holds without a line: files that people upload are smaller.
pub const BUFFERING_BYTES: u64 = 16 << 20;

/// `RequestBuffering`; the inner `None` is `Off`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffering(pub Option<Option<u64>>);

impl Merge for Buffering {}

/// How much of a body is gathered before its request is answered; `None` is nothing
/// (`RequestBuffering Off`, or the variable by which httpd is told to pass a body on as it comes).
fn buffering(request: &RequestContext<'_>) -> Option<u64> {
    let set = BUFFERING.of(&request.settings).0.unwrap_or(Some(BUFFERING_BYTES));
    set.filter(|_| !request.tables.env.has("proxy-sendchunked"))
}
