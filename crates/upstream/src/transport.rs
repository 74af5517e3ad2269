//! Streams of bytes to a server.

use crate::{ErrorKind, UpstreamError, race, tunnel};
use runtime::{AsyncWrite, Dial, Stream};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tls::{Buffers, Connector, Secured, ServerName, TlsRefused};

/// Where a connection leads and how it is made: what resolving a URL once came to.
#[derive(Clone, Debug)]
pub struct Route {
    /// The addresses of the host, in the resolver's order.
    pub addresses: Vec<SocketAddr>,
    /// The one of them that answered last: `localhost` has two, and a server on only one of them.
    /// It is tried first.
    pub preferred: Arc<AtomicUsize>,
    /// Addresses of this machine to come from, in turn.
    pub from: Vec<IpAddr>,
    /// Options of the sockets.
    pub dial: Dial,
    /// What is said to a proxy that these addresses are of, so that it leads on to the server.
    pub tunnel: Option<Arc<[u8]>>,
    /// For https.
    pub security: Option<Security>,
}

/// How connections are secured, and with whom.
#[derive(Clone, Debug)]
pub struct Security {
    /// Versions, protocols and trust.
    pub connector: Connector,
    /// Whom the certificate has to be for.
    pub name: ServerName<'static>,
}

impl Route {
    /// Connect to the first of the addresses that answers; `turn` chooses where to come from.
    /// (httpd's ab moves on to the next address as well, in `start_connect` of support/ab.c.)
    ///
    /// # Errors
    /// What went wrong with the last of them.
    pub(crate) async fn connect(
        &self,
        turn: usize,
        buffers: &Rc<Buffers>,
    ) -> Result<ClientTransport, UpstreamError> {
        let mut stream =
            self.dial(turn).await.map_err(|error| UpstreamError::of_connect(&error))?;
        if let Some(request) = &self.tunnel {
            tunnel::open(&mut stream, request).await?;
        }
        let Some(security) = &self.security else { return Ok(ClientTransport::Plain(stream)) };
        let connecting = security.connector.connect(stream, security.name.clone(), buffers);
        match connecting.await {
            Ok(secured) => {
                Ok(ClientTransport::Secured(Box::new(TlsConnection { secured, reason: None })))
            }
            Err(error) => Err(unsecured(&error)),
        }
    }

    async fn dial(&self, turn: usize) -> io::Result<Stream> {
        let mut dial = self.dial;
        if !self.from.is_empty() {
            dial.from = Some(self.from[turn % self.from.len()]);
        }
        if let [only] = self.addresses[..] {
            return runtime::dial::connect(only, &dial).await;
        }
        let (count, preferred) = (self.addresses.len(), self.preferred.load(Ordering::Relaxed));
        let places = (0..count).map(|step| (preferred + step) % count);
        let connect = |place: usize| runtime::dial::connect(self.addresses[place], &dial);
        let (place, stream) = race::first_of(places, connect).await?;
        if place != preferred {
            // All threads share it, and whoever comes last wins: it is a hint, and each value is
            // one that has just answered.
            self.preferred.store(place, Ordering::Relaxed);
        }
        Ok(stream)
    }
}

/// Why there is a connection and no TLS on it, with a way out.
fn unsecured(error: &io::Error) -> UpstreamError {
    let text = match TlsRefused::of(error) {
        Some(refused) if refused.is_of_certificate => {
            format!("{refused}; --insecure (-k) does without a valid one")
        }
        Some(refused) => refused.text.clone(),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the server closed the connection during the TLS handshake".to_owned()
        }
        None => return UpstreamError::of_connect(error),
    };
    UpstreamError { kind: ErrorKind::Tls, text }
}

/// A connection, secured or not.
pub enum ClientTransport {
    /// Bytes as they are.
    Plain(Stream),
    /// TLS.
    Secured(Box<TlsConnection>),
}

/// A secured connection, and why it is none any more.
pub struct TlsConnection {
    secured: Secured,
    reason: Option<String>,
}

impl TlsConnection {
    /// Remembers what the other end says.
    fn noted<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Some(refused) = result.as_ref().err().and_then(TlsRefused::of) {
            self.reason = Some(refused.text.clone());
        }
        result
    }
}

impl ClientTransport {
    /// What was agreed on, if it is secured.
    pub fn agreed(&self) -> Option<tls::Agreed> {
        match self {
            Self::Plain(_) => None,
            Self::Secured(tls) => Some(tls.secured.agreed()),
        }
    }

    /// Whether it is TLS.
    pub const fn is_secured(&self) -> bool {
        matches!(self, Self::Secured(_))
    }

    /// Whether the server chose HTTP/2 (RFC 9113 section 3.2).
    pub fn is_http2(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Secured(tls) => tls.secured.protocol() == Some(b"h2"),
        }
    }

    /// What the other end has said against TLS on this connection.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Plain(_) => None,
            Self::Secured(tls) => tls.reason.clone(),
        }
    }

    /// Read what is there into `buffer`; ready with 0 at the end of the stream.
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_read(context, buffer),
            Self::Secured(tls) => {
                let read = ready!(tls.secured.poll_read(context, buffer));
                Poll::Ready(tls.noted(read))
            }
        }
    }

    /// Let bytes vanish that nobody looks at, at most as many as `buffer` has room for. Its
    /// contents are lost.
    pub fn poll_discard(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => stream.poll_discard(context, buffer),
            Self::Secured(_) => self.poll_read(context, buffer),
        }
    }

    /// Send what the connection takes now.
    pub fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Plain(stream) => loop {
                match stream.try_send(bytes, false) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready!(stream.poll_writable(context))?;
                    }
                    sent => return Poll::Ready(sent),
                }
            },
            Self::Secured(tls) => tls.secured.poll_send(context, bytes),
        }
    }

    /// Ready when nothing is left here of what was sent.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            Self::Secured(tls) => tls.secured.poll_flush(context),
        }
    }

    /// Says that nothing follows.
    pub fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Secured(tls) => Pin::new(&mut tls.secured).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::Thread;
    use runtime::blocking::Blocking;
    use std::net::TcpListener;

    #[test]
    fn the_address_that_has_answered_is_the_first_one_from_then_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let good = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let route = Route {
            addresses: vec![closed, good],
            preferred: Arc::default(),
            from: Vec::new(),
            dial: Dial::default(),
            tunnel: None,
            security: None,
        };
        let executor = Thread::new(Blocking::Inline).unwrap();
        for _ in 0..2 {
            executor.block_on(route.dial(0)).unwrap();
            assert_eq!(route.preferred.load(Ordering::Relaxed), 1);
        }
        drop(listener);
        let refused = executor.block_on(route.dial(0)).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
