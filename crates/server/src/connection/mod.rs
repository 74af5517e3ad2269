//! The life of a connection: what reads requests from it and sends their responses. Each protocol
//! has its folder and works on a [`Transport`]; which requests there are and how they are answered
//! is known below (`exchange.rs`), and nothing there names a connection.

mod body_clock;
mod body_faults;
#[cfg(test)]
mod body_reader;
mod http1;
mod log;
mod refusal;
mod serve_request;
mod stream;
#[cfg(test)]
mod test_module;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
#[cfg(test)]
mod toy_tests;
mod unread;
mod waits;

pub(crate) use refusal::raw_path;

use crate::context::Context;
use crate::transport::Transport;
use runtime::Stream;
use std::net::SocketAddr;
use std::rc::Rc;

/// Serve `stream` until it ends. This is all that an MPM calls per connection.
/// The connection counts from the call on, before the future is first polled.
pub fn serve(
    context: Rc<Context>,
    stream: Stream,
    peer: SocketAddr,
) -> impl Future<Output = ()> + 'static {
    http1::serve(context, Transport::Socket(stream), peer)
}
