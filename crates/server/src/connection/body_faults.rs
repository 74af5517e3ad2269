//! What may go wrong with the body of a response while it is sent.

use crate::context::Context;
use crate::representation::Representation;
use crate::response::BodySource;
use logging::level::Level;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{self, Poll};

/// A source that panics ends its own response and nothing else; it is not asked again.
pub(crate) fn poll_source(
    source: &mut dyn BodySource,
    task: &mut task::Context<'_>,
) -> Poll<io::Result<Option<Vec<u8>>>> {
    catch_unwind(AssertUnwindSafe(|| source.poll_next(task)))
        .unwrap_or_else(|_| Poll::Ready(Err(io::Error::other("the handler panicked"))))
}

/// A source has failed. The end of the body is never said, so that the client knows that something
/// is missing; the result is whose fault it is.
pub(crate) fn cut_short(context: &Context, client: SocketAddr, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::ConnectionReset {
        return error;
    }
    let text = format!("a response was cut short and its connection closed: {error}");
    context.log(Level::Error, None, client, &text);
    io::ErrorKind::UnexpectedEof.into() // not the client's fault
}

/// A file has less than was promised: no other bytes may take the place of the missing ones.
pub(crate) fn truncated(
    context: &Context,
    client: SocketAddr,
    source: &Representation,
) -> io::Error {
    let name = String::from_utf8_lossy(&source.origin.below);
    let text = format!("{name} was truncated while it was sent: the connection is closed");
    context.log(Level::Warn, None, client, &text);
    io::ErrorKind::UnexpectedEof.into()
}
