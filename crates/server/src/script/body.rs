//! The body of a request on its way to a program.

use super::spool::Spool;
use crate::incoming::Incoming;
use crate::lookup::{Lookup, Purpose};
use crate::modules::filter::input::Unpacker;
use http1::{BodyLength, Refusal};
use message::Method;
use std::io;
use std::rc::Rc;
use std::task::Poll;

/// Where it comes from.
pub(crate) enum Body {
    /// There is none.
    None,
    /// From the client, as it sends it.
    Incoming(Rc<Incoming>),
    /// It is here already.
    Spooled(Spool),
}

/// Why no more of it comes.
pub(crate) enum BodyFault {
    /// The client is at fault.
    Refused(Refusal),
    /// It cannot be read again.
    Lost(io::Error),
}

impl Body {
    /// The body of a request. A program has to be told how long it is, so one that does not say is
    /// kept until its end is known.
    ///
    /// # Errors
    /// The refusal that it ends in.
    pub(crate) async fn of(lookup: &Lookup<'_>) -> Result<Self, Refusal> {
        Self::through(lookup, None).await
    }

    /// The same of one that may have to be unpacked.
    ///
    /// # Errors
    /// As above, and what is wrong with the packed body.
    pub(crate) async fn through(
        lookup: &Lookup<'_>,
        unpacker: Option<Unpacker>,
    ) -> Result<Self, Refusal> {
        let Some(incoming) = lookup.request.incoming.clone() else { return Ok(Self::None) };
        // It belongs to the request that this one has come from.
        if lookup.has_lost_body {
            return Ok(Self::None);
        }
        let is_get = lookup.method == Some(Method::Get) && lookup.purpose == Purpose::Redirected;
        if is_get && lookup.request.method() != Some(Method::Get) {
            return Ok(Self::None);
        }
        incoming.want(lookup.settings.core.limit_request_body());
        let spent = &lookup.request.spent;
        match (unpacker, lookup.body()) {
            (Some(unpacker), _) => {
                Spool::unpack(&incoming, unpacker, spent).await.map(Self::Spooled)
            }
            (None, BodyLength::Chunked) => Spool::fill(&incoming, spent).await.map(Self::Spooled),
            (None, _) => Ok(Self::Incoming(incoming)),
        }
    }

    /// The next piece; `None` at the end.
    pub(crate) fn poll_next(&mut self) -> Poll<Result<Option<Vec<u8>>, BodyFault>> {
        match self {
            Self::None => Poll::Ready(Ok(None)),
            Self::Incoming(incoming) => incoming.poll_read().map_err(BodyFault::Refused),
            Self::Spooled(spool) => Poll::Ready(spool.next().map_err(BodyFault::Lost)),
        }
    }
}
