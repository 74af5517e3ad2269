//! A raw client: it sends exactly the bytes that a test gives it and reads responses strictly.
//! Everything has a deadline; nothing is retried.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use crate::response::{Framing, Response};
use crate::segment::Diagnostics;

/// How long a response may take. Long, for a loaded machine: a test that passes never waits so.
const RESPONSE_LIMIT: Duration = Duration::from_secs(20);
/// A head larger than this is no head of this server.
const HEAD_LIMIT: usize = 64 * 1024;

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The connection ended before the first byte.
    Closed,
    /// It was reset.
    Reset,
    /// The deadline passed.
    TimedOut,
    /// It ended in the middle of a response; so many bytes of content had come.
    Truncated(usize),
    /// The bytes are no response.
    Invalid(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    /// Connects; panics when the server does not accept.
    pub fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).unwrap_or_else(|error| panic!("connect to {address}: {error}"))
    }

    /// Connects if the server accepts.
    pub fn try_connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10))?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(RESPONSE_LIMIT))?;
        Ok(Self { stream, received: Vec::new() })
    }

    /// The socket, for tests that look at it.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends bytes. A server that refused already may have closed: that shows when reading.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = self.stream.write_all(bytes.as_ref());
        self
    }

    /// Sends bytes in pieces, each only when the server has read the one before.
    pub fn send_pieces<'a>(&mut self, pieces: impl IntoIterator<Item = &'a [u8]>) -> &mut Self {
        let diagnostics = Diagnostics::open().expect("socket diagnostics can be asked");
        for piece in pieces {
            if piece.is_empty() {
                continue;
            }
            if self.stream.write_all(piece).is_err() {
                break;
            }
            self.wait_until_read(&diagnostics);
        }
        self
    }

    /// Waits until the server has read all; a server that does not read now is not waited for long.
    fn wait_until_read(&self, diagnostics: &Diagnostics) {
        let deadline = Instant::now() + Duration::from_millis(200);
        while Instant::now() < deadline {
            let unread = diagnostics.unread_by_peer(&self.stream).expect("the kernel answers");
            if unread == 0 {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Ends the sending half.
    pub fn finish(&mut self) -> &mut Self {
        let _ = self.stream.shutdown(Shutdown::Write);
        self
    }

    /// Makes the kernel send a reset when this connection is dropped.
    pub fn reset_on_drop(&self) {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        self.set_option(libc::SO_LINGER, &linger);
    }

    /// Makes the receive buffer as small as the kernel allows (socket(7): 256 bytes).
    pub fn narrow(&self) {
        self.set_option(libc::SO_RCVBUF, &1_i32);
    }

    fn set_option<T>(&self, name: i32, value: &T) {
        let length = size_of::<T>() as libc::socklen_t;
        let fd = self.stream.as_raw_fd();
        let value = std::ptr::from_ref(value).cast();
        // SAFETY: `value` lives through the call and its true length is given.
        let code = unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, name, value, length) };
        assert_eq!(code, 0, "option {name} of a socket can be set");
    }

    /// Sends `GET target` with `Host: localhost` and reads the response.
    pub fn get(&mut self, target: &str) -> Response {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n")).response()
    }

    /// Reads the response to a request that was not HEAD; panics when there is none.
    pub fn response(&mut self) -> Response {
        self.try_response(false).unwrap_or_else(|failure| panic!("no response: {failure}"))
    }

    /// Reads the response to HEAD; panics when there is none.
    pub fn head_response(&mut self) -> Response {
        self.try_response(true).unwrap_or_else(|failure| panic!("no response: {failure}"))
    }

    /// Reads a response; `to_head` says that the request was HEAD.
    pub fn try_response(&mut self, to_head: bool) -> Result<Response, Failure> {
        let deadline = Instant::now() + RESPONSE_LIMIT;
        let mut interim = Vec::new();
        loop {
            let head = self.read_head(deadline)?;
            let mut response = Response::parse_head(&head).map_err(Failure::Invalid)?;
            if (100..=199).contains(&response.status) {
                response.framing(to_head).map_err(Failure::Invalid)?;
                interim.push(response.status);
                continue;
            }
            let framing = response.framing(to_head).map_err(Failure::Invalid)?;
            response.body = self.read_body(framing, deadline)?;
            response.interim = interim;
            return Ok(response);
        }
    }

    /// Reads up to and with the empty line.
    fn read_head(&mut self, deadline: Instant) -> Result<Vec<u8>, Failure> {
        loop {
            if let Some(at) = find(&self.received, b"\r\n\r\n") {
                return Ok(self.received.drain(..at + 4).collect());
            }
            if self.received.len() > HEAD_LIMIT {
                return Err(Failure::Invalid("a head without end".into()));
            }
            if self.fill(deadline)? == 0 {
                let empty = self.received.is_empty();
                return Err(if empty { Failure::Closed } else { Failure::Truncated(0) });
            }
        }
    }

    fn read_body(&mut self, framing: Framing, deadline: Instant) -> Result<Vec<u8>, Failure> {
        match framing {
            Framing::None => Ok(Vec::new()),
            Framing::Length(length) => self.take(length, deadline),
            Framing::Chunked => self.read_chunks(deadline),
            Framing::UntilClose => self.read_rest(deadline),
        }
    }

    /// Exactly so many bytes.
    fn take(&mut self, length: usize, deadline: Instant) -> Result<Vec<u8>, Failure> {
        while self.received.len() < length {
            if self.fill(deadline)? == 0 {
                return Err(Failure::Truncated(self.received.len()));
            }
        }
        Ok(self.received.drain(..length).collect())
    }

    fn read_chunks(&mut self, deadline: Instant) -> Result<Vec<u8>, Failure> {
        let mut content = Vec::new();
        loop {
            let line = self.read_line(deadline)?;
            let digits = line.split(';').next().unwrap_or("");
            let size = usize::from_str_radix(digits, 16);
            let size = size.map_err(|_| Failure::Invalid(format!("chunk size {line:?}")))?;
            if size == 0 {
                break;
            }
            content.extend(self.take(size, deadline)?);
            if self.take(2, deadline)? != b"\r\n" {
                return Err(Failure::Invalid("a chunk that does not end with CRLF".into()));
            }
        }
        while !self.read_line(deadline)?.is_empty() {} // trailers
        Ok(content)
    }

    fn read_line(&mut self, deadline: Instant) -> Result<String, Failure> {
        loop {
            if let Some(at) = find(&self.received, b"\r\n") {
                let line: Vec<u8> = self.received.drain(..at + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            if self.fill(deadline)? == 0 {
                return Err(Failure::Truncated(self.received.len()));
            }
        }
    }

    fn read_rest(&mut self, deadline: Instant) -> Result<Vec<u8>, Failure> {
        while self.fill(deadline)? > 0 {}
        Ok(std::mem::take(&mut self.received))
    }

    /// One read; 0 at the end.
    fn fill(&mut self, deadline: Instant) -> Result<usize, Failure> {
        let mut piece = [0; 64 * 1024];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::TimedOut);
            }
            self.stream.set_read_timeout(Some(left)).expect("the time left is not zero");
            match self.stream.read(&mut piece) {
                Ok(count) => {
                    self.received.extend(&piece[..count]);
                    return Ok(count);
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                    ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
                        return Err(Failure::Reset);
                    }
                    other => return Err(Failure::Invalid(format!("read: {other:?}"))),
                },
            }
        }
    }

    /// Everything until the server closes; panics when it does not.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        let deadline = Instant::now() + RESPONSE_LIMIT;
        self.read_rest(deadline).unwrap_or_else(|failure| panic!("reading to the end: {failure}"))
    }

    /// How many bytes come until the connection ends in whatever way; panics when it does not.
    pub fn count_rest(&mut self) -> usize {
        let deadline = Instant::now() + RESPONSE_LIMIT;
        let mut count = 0;
        loop {
            count += std::mem::take(&mut self.received).len();
            match self.fill(deadline) {
                Ok(0) | Err(Failure::Reset) => return count,
                Ok(_) => {}
                Err(failure) => panic!("the server does not close: {failure}"),
            }
        }
    }

    /// Reads at most `count` bytes that are there or come soon, as they stand on the wire.
    pub fn read_some(&mut self, count: usize) -> Vec<u8> {
        let deadline = Instant::now() + RESPONSE_LIMIT;
        let bytes = self.take(count, deadline);
        bytes.unwrap_or_else(|failure| panic!("reading {count} bytes: {failure}"))
    }

    /// Asserts that the server closes and sends nothing more.
    pub fn assert_closed(&mut self) {
        let deadline = Instant::now() + RESPONSE_LIMIT;
        match self.read_rest(deadline) {
            Ok(rest) if rest.is_empty() => {}
            // A server that was still being written to may reset instead of closing in order.
            Err(Failure::Reset) => {}
            Ok(rest) => panic!("more came: {:?}", String::from_utf8_lossy(&rest)),
            Err(failure) => panic!("the server does not close: {failure}"),
        }
    }

    /// Whether the server has closed by now, without waiting.
    pub fn is_closed(&self) -> bool {
        match self.peek() {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// Whether something has arrived that was not read, without waiting.
    pub fn has_input(&self) -> bool {
        matches!(self.peek(), Ok(1..))
    }

    fn peek(&self) -> std::io::Result<usize> {
        self.stream.set_nonblocking(true).expect("a socket can be non-blocking");
        let seen = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).expect("a socket can be blocking");
        seen
    }
}

/// Where `wanted` begins.
fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
