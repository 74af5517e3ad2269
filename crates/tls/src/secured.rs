//! A connection with TLS on it. Records are decrypted and encrypted in buffers that the thread
//! shares; a connection keeps only what is left over: a record that has not come whole, bytes that
//! the socket did not take.

use crate::agreed::Agreed;
use crate::buffers::Buffers;
use crate::refused::TlsRefused;
use runtime::{AsyncRead, AsyncWrite, ReadBuf, Stream};
use rustls::client::{ClientConfig, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
};
use rustls::{Error, client::ClientConnectionData};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Read at once at most: a socket's receive buffer rarely holds more.
const READ_BYTES_MAX: usize = 256 * 1024;

/// Read at once at least, so that a record comes whole (RFC 8446 section 5.2).
const READ_BYTES_MIN: usize = 18 * 1024;

/// Encrypted at once at most.
const SEND_BYTES_MAX: usize = 64 * 1024;

/// A record has at most so much besides its content: header, nonce, type, tag. Contents are of up
/// to 16 KB, so that twice this for each 8 KB is more than enough.
const RECORD_OVERHEAD_BYTES: usize = 64;

/// An alert, encrypted or not, is shorter.
const ALERT_BYTES: usize = 128;

/// A connection whose bytes nobody else can read.
pub struct Secured {
    stream: Stream,
    session: UnbufferedClientConnection,
    buffers: Rc<Buffers>,
    /// Came, and cannot be decrypted before more has come.
    incoming: Vec<u8>,
    /// Decrypted, and nobody has asked for it yet.
    plain: Vec<u8>,
    /// How much of that has been taken.
    plain_taken: usize,
    /// Encrypted, and not sent yet.
    outgoing: Vec<u8>,
    /// The server has said that nothing follows.
    is_ended: bool,
}

/// Where decrypted bytes go: into the reader's buffer, and what does not fit behind it.
struct DecryptedSink<'a> {
    out: &'a mut [u8],
    filled: usize,
    beyond: &'a mut Vec<u8>,
}

impl DecryptedSink<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let fits = bytes.len().min(self.out.len() - self.filled);
        self.out[self.filled..][..fits].copy_from_slice(&bytes[..fits]);
        self.filled += fits;
        self.beyond.extend_from_slice(&bytes[fits..]);
    }
}

impl Secured {
    pub(crate) fn new(
        stream: Stream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        buffers: Rc<Buffers>,
    ) -> io::Result<Self> {
        let session = UnbufferedClientConnection::new(config, name);
        let mut secured = Self {
            stream,
            session: session.map_err(|error| TlsRefused::error(&error))?,
            buffers,
            incoming: Vec::new(),
            plain: Vec::new(),
            plain_taken: 0,
            outgoing: Vec::new(),
            is_ended: false,
        };
        // The first message is ours.
        secured.advance(&mut [], &mut [])?;
        Ok(secured)
    }

    /// What was agreed on.
    pub fn agreed(&self) -> Agreed {
        Agreed::of(&self.session)
    }

    /// The protocol that the server chose (ALPN).
    pub fn protocol(&self) -> Option<&[u8]> {
        self.session.alpn_protocol()
    }

    /// Ready when the handshake has ended. Our last message may still be here: it leaves together
    /// with the first bytes, in one segment instead of two.
    pub(crate) fn poll_agree(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.session.is_handshaking() {
            ready!(self.poll_flush(context))?;
            ready!(self.poll_receive(context, &mut []))?;
            if self.is_ended {
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Read what has come into `buffer`; ready with 0 at the end.
    ///
    /// A stream that ends although the server has not said so may have been cut by anybody: that
    /// is an error of the kind `UnexpectedEof` (RFC 9112 section 9.8).
    pub fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let taken = self.take_plain(buffer);
            if taken > 0 || self.is_ended || buffer.is_empty() {
                return Poll::Ready(Ok(taken));
            }
            if !self.outgoing.is_empty()
                && let Poll::Ready(Err(error)) = self.poll_flush(context)
            {
                return Poll::Ready(Err(error));
            }
            let count = ready!(self.poll_receive(context, buffer))?;
            if count > 0 {
                return Poll::Ready(Ok(count));
            }
        }
    }

    /// Encrypts and sends; ready with how much of `bytes` was taken. What of that the socket did
    /// not take leaves with the next call of anything here.
    pub fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // The end of the handshake is waiting for company; anything longer is a reader who is slow.
        if self.outgoing.len() > SEND_BYTES_MAX {
            ready!(self.poll_flush(context))?;
        }
        let bytes = &bytes[..bytes.len().min(SEND_BYTES_MAX)];
        let buffers = self.buffers.clone();
        let mut shared = buffers.outgoing.borrow_mut();
        let waiting = self.outgoing.len();
        let records = bytes.len() / 8192 + 1;
        let room = waiting + bytes.len() + records * RECORD_OVERHEAD_BYTES;
        let room = Buffers::room(&mut shared, room);
        let added = self.encrypt(bytes, &mut room[waiting..])?;
        // Encrypting may have found something to say first, as when keys are renewed.
        let waiting_now = self.outgoing.len();
        if waiting_now > waiting {
            self.outgoing.extend_from_slice(&room[waiting..waiting + added]);
            let _ = Self::poll_flush(self, context)?;
            return Poll::Ready(Ok(bytes.len()));
        }
        room[..waiting].copy_from_slice(&self.outgoing);
        let all = &room[..waiting + added];
        let sent = match self.poll_socket(context, all) {
            Poll::Ready(sent) => sent?,
            Poll::Pending => 0,
        };
        self.outgoing.clear();
        self.outgoing.extend_from_slice(&all[sent..]);
        Poll::Ready(Ok(bytes.len()))
    }

    /// Ready when everything that was encrypted has been sent.
    ///
    /// # Errors
    /// What the system says.
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            let outgoing = std::mem::take(&mut self.outgoing);
            let sent = self.poll_socket(context, &outgoing);
            self.outgoing = outgoing;
            let sent = ready!(sent)?;
            self.outgoing.drain(..sent);
        }
        // It is rarely needed, and there may be ten thousand connections.
        self.outgoing = Vec::new();
        Poll::Ready(Ok(()))
    }

    fn poll_socket(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            match self.stream.try_send(bytes, false) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_writable(context))?;
                }
                sent => return Poll::Ready(sent),
            }
        }
    }

    /// Reads records and decrypts them into `out`; ready with how much that has come to.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        out: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let buffers = self.buffers.clone();
        let mut shared = buffers.incoming.borrow_mut();
        let held = self.incoming.len();
        if held >= READ_BYTES_MAX {
            return Poll::Ready(Err(TlsRefused::error(&Error::PeerSentOversizedRecord)));
        }
        let more = (out.len() + out.len() / 64).clamp(READ_BYTES_MIN, READ_BYTES_MAX);
        let room = Buffers::room(&mut shared, held + more);
        let count = ready!(self.stream.poll_read(context, &mut room[held..]))?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        room[..held].copy_from_slice(&self.incoming);
        self.incoming = Vec::new();
        let came = &mut room[..held + count];
        let (used, filled) = match self.advance(came, out) {
            Ok(advanced) => advanced,
            Err(error) => {
                self.say_why(context, came);
                return Poll::Ready(Err(error));
            }
        };
        self.incoming.extend_from_slice(&came[used..]);
        Poll::Ready(Ok(filled))
    }

    /// Lets the session work on what has come: how much of it is used up, and how much was
    /// decrypted into `out`.
    fn advance(&mut self, came: &mut [u8], out: &mut [u8]) -> io::Result<(usize, usize)> {
        let mut sink = DecryptedSink { out, filled: 0, beyond: &mut self.plain };
        let mut used = 0;
        loop {
            let status = self.session.process_tls_records(&mut came[used..]);
            let mut done = status.discard;
            match status.state.map_err(|error| TlsRefused::error(&error))? {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(|error| TlsRefused::error(&error))?;
                        done += record.discard;
                        sink.put(record.payload);
                    }
                }
                ConnectionState::EncodeTlsData(message) => encode(message, &mut self.outgoing),
                ConnectionState::TransmitTlsData(message) => message.done(),
                ConnectionState::PeerClosed => self.is_ended = true,
                // There is nothing left to do before more comes, or somebody wants to send.
                _ => return Ok((used + done, sink.filled)),
            }
            used += done;
        }
    }

    /// Encrypts into `out`, which has room.
    fn encrypt(&mut self, bytes: &[u8], out: &mut [u8]) -> io::Result<usize> {
        let mut held = std::mem::take(&mut self.incoming);
        let advanced = self.advance(&mut held, &mut []);
        held.drain(..advanced.as_ref().map_or(0, |done| done.0));
        let status = self.session.process_tls_records(&mut held);
        let encrypted = match status.state {
            Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                traffic.encrypt(bytes, out).map_err(|error| unencrypted(&error))
            }
            Ok(_) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(error) => Err(TlsRefused::error(&error)),
        };
        self.incoming = held;
        advanced.and(encrypted)
    }

    /// After an error the other end is told why, if it hears it: its log shall say so, too.
    fn say_why(&mut self, context: &mut Context<'_>, came: &mut [u8]) {
        let state = self.session.process_tls_records(came).state;
        if let Ok(ConnectionState::EncodeTlsData(message)) = state {
            encode(message, &mut self.outgoing);
            // An error more changes nothing, and a socket that is full is one.
            let _ = self.poll_flush(context);
        }
    }

    fn take_plain(&mut self, buffer: &mut [u8]) -> usize {
        let waiting = &self.plain[self.plain_taken..];
        let count = waiting.len().min(buffer.len());
        buffer[..count].copy_from_slice(&waiting[..count]);
        self.plain_taken += count;
        if self.plain_taken == self.plain.len() && self.plain_taken > 0 {
            (self.plain, self.plain_taken) = (Vec::new(), 0);
        }
        count
    }

    /// Says that nothing follows (RFC 8446 section 6.1). Whether it is heard makes no difference.
    fn say_goodbye(&mut self) {
        if self.is_ended || self.session.is_handshaking() || !self.outgoing.is_empty() {
            return;
        }
        let mut alert = [0; ALERT_BYTES];
        let status = self.session.process_tls_records(&mut self.incoming);
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state
            && let Ok(length) = traffic.queue_close_notify(&mut alert)
        {
            let _ = self.stream.try_send(&alert[..length], false);
        }
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        self.say_goodbye();
    }
}

/// Appends a message of the session to what waits to be sent.
fn encode(mut message: EncodeTlsData<'_, ClientConnectionData>, outgoing: &mut Vec<u8>) {
    let before = outgoing.len();
    let mut room = ALERT_BYTES;
    loop {
        outgoing.resize(before + room, 0);
        match message.encode(&mut outgoing[before..]) {
            Ok(length) => return outgoing.truncate(before + length),
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                room = required_size;
            }
            Err(EncodeError::AlreadyEncoded) => return outgoing.truncate(before),
        }
    }
}

fn unencrypted(error: &EncryptError) -> io::Error {
    match error {
        EncryptError::EncryptExhausted => TlsRefused::error(&Error::EncryptError),
        EncryptError::InsufficientSize(_) => io::ErrorKind::InvalidInput.into(),
    }
}

/// For libraries that speak over any stream of bytes.
impl AsyncRead for Secured {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = ready!(Self::poll_read(self.get_mut(), context, buffer.initialize_unfilled()))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().poll_send(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Self::poll_flush(self.get_mut(), context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let secured = self.get_mut();
        ready!(Self::poll_flush(secured, context))?;
        secured.say_goodbye();
        // Once is enough.
        secured.is_ended = true;
        secured.stream.shutdown_write();
        Poll::Ready(Ok(()))
    }
}
