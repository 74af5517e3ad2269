//! One connection of the load: sends any bytes, reads answers strictly, and tells an answer that
//! is wrong from a connection that broke. On purpose not trivet's own protocol code.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// No answer may take longer, however many children are killed: a child that dies resets its
/// connections at once, and a new one takes over the queue.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest head of an answer; trivet's have a few hundred bytes.
const MOST_HEAD_BYTES: usize = 16 << 10;

/// Why an act ended early.
#[derive(Debug, PartialEq)]
pub(super) enum Trouble {
    /// The server answered wrongly, or not at all. Nothing excuses this.
    Wrong(String),
    /// The connection broke. Excused if a child was killed meanwhile.
    Broken(String),
    /// It ended cleanly before an answer began, after others: excused by a restart, too, as a
    /// draining child closes idle connections (RFC 9112 section 9.3.1: the client asks again).
    Ended,
}

/// A complete answer.
#[derive(Debug, PartialEq)]
pub(super) struct SoakResponse {
    pub(super) status: u16,
    head: String,
    pub(super) body: Vec<u8>,
}

impl SoakResponse {
    /// The first value of a field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut found = fields.filter(|(found, _)| found.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.trim())
    }

    /// Whether the server closes after this answer.
    pub(super) fn closes(&self) -> bool {
        self.field("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// See the module's text.
pub(super) struct SoakConnection {
    stream: TcpStream,
    /// Read and not yet used.
    buffer: Vec<u8>,
    answers: usize,
}

impl SoakConnection {
    /// The parent holds the listening socket all the time, so nothing excuses a refusal.
    pub(super) fn open(port: u16) -> Result<Self, Trouble> {
        let wrong = |error| Trouble::Wrong(format!("cannot connect: {error}"));
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(wrong)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(wrong)?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).map_err(wrong)?;
        stream.set_nodelay(true).map_err(wrong)?;
        Ok(Self { stream, buffer: Vec::new(), answers: 0 })
    }

    /// Sends all of `bytes`. A server that has closed meanwhile is noticed when reading, where
    /// its last answer may still be.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        match self.stream.write_all(bytes) {
            Err(error) if is_timeout(&error) => {
                Err(Trouble::Wrong("the server takes no more bytes".into()))
            }
            _ => Ok(()),
        }
    }

    /// Reads one answer; `to_head` says that it has no body whatever its length says.
    pub(super) fn read(&mut self, to_head: bool) -> Result<SoakResponse, Trouble> {
        let head = self.read_head()?;
        let status = status_of(&head)?;
        let mut response = SoakResponse { status, head, body: Vec::new() };
        // RFC 9112 section 6.3: no body, a chunked one, or one of a length.
        if to_head || status == 204 || status == 304 || status / 100 == 1 {
            // The head is all.
        } else if response.field("Transfer-Encoding") == Some("chunked") {
            response.body = self.read_chunks()?;
        } else {
            let length = response.field("Content-Length").and_then(|value| value.parse().ok());
            let length = length.ok_or_else(|| wrong_head("no length in", &response.head))?;
            response.body = self.take(length)?;
        }
        self.answers += 1;
        Ok(response)
    }

    /// Reads at most `most` bytes of a body, for clients that do not want all of it.
    pub(super) fn read_some(&mut self, most: usize) -> Result<Vec<u8>, Trouble> {
        if self.buffer.is_empty() {
            self.fill("in a body")?;
        }
        let count = most.min(self.buffer.len());
        Ok(self.buffer.drain(..count).collect())
    }

    /// Reads a head up to its empty line. It starts an answer; the rest is up to the caller.
    pub(super) fn read_head(&mut self) -> Result<String, Trouble> {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            if self.buffer.len() > MOST_HEAD_BYTES {
                return Err(Trouble::Wrong("a head without an end".into()));
            }
            if self.buffer.is_empty() && self.answers > 0 {
                self.fill_between()?;
            } else {
                self.fill("in a head")?;
            }
        };
        let head = self.buffer.drain(..end).collect::<Vec<u8>>();
        String::from_utf8(head).map_err(|_| Trouble::Wrong("a head that is not ASCII".into()))
    }

    /// Nothing is outstanding: there must not be a byte more.
    pub(super) fn expect_silence(&self) -> Result<(), Trouble> {
        match self.buffer.len() {
            0 => Ok(()),
            count => Err(Trouble::Wrong(format!("{count} bytes after the end of an answer"))),
        }
    }

    /// The server is to close now, cleanly and without a byte more.
    pub(super) fn expect_end(&mut self) -> Result<(), Trouble> {
        self.expect_silence()?;
        match self.fill_between() {
            Err(Trouble::Ended) => Ok(()),
            Err(other) => Err(other),
            Ok(()) => Err(Trouble::Wrong("bytes after the last answer".into())),
        }
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, Trouble> {
        while self.buffer.len() < count {
            self.fill("in a body")?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    /// RFC 9112 section 7.1, without extensions and trailers, which trivet does not send.
    fn read_chunks(&mut self) -> Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        loop {
            let line = self.read_line()?;
            let size = usize::from_str_radix(&line, 16)
                .map_err(|_| Trouble::Wrong(format!("a chunk of size {line:?}")))?;
            body.extend(self.take(size)?);
            if self.take(2)? != b"\r\n" {
                return Err(Trouble::Wrong("a chunk that goes on after its end".into()));
            }
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn read_line(&mut self) -> Result<String, Trouble> {
        let end = loop {
            match find(&self.buffer, b"\r\n") {
                Some(at) => break at,
                None => self.fill("in a chunk")?,
            }
        };
        let line = self.take(end + 2)?;
        Ok(String::from_utf8_lossy(&line[..end]).into_owned())
    }

    /// Reads what is there, at least one byte.
    fn fill(&mut self, place: &str) -> Result<(), Trouble> {
        match self.fill_between() {
            Err(Trouble::Ended) => Err(Trouble::Broken(format!("ended {place}"))),
            Err(Trouble::Broken(why)) => Err(Trouble::Broken(format!("{why} {place}"))),
            other => other,
        }
    }

    /// The same between two answers, where the end is no fault in itself.
    fn fill_between(&mut self) -> Result<(), Trouble> {
        let mut bytes = [0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(Trouble::Ended),
            Ok(count) => {
                self.buffer.extend_from_slice(&bytes[..count]);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(error) if is_timeout(&error) => {
                Err(Trouble::Wrong(format!("silence for {} s", ANSWER_TIMEOUT.as_secs())))
            }
            Err(error) => Err(Trouble::Broken(format!("{:?}", error.kind()))),
        }
    }
}

/// A blocking socket whose time is over says either.
fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn status_of(head: &str) -> Result<u16, Trouble> {
    let digits = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    let status = digits.and_then(|digits| digits.parse().ok());
    status.ok_or_else(|| wrong_head("no status in", head))
}

fn wrong_head(what: &str, head: &str) -> Trouble {
    Trouble::Wrong(format!("{what} {:?}", head.chars().take(200).collect::<String>()))
}

/// Where `part` first stands.
pub(super) fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A connection to a peer that sends `answer` and closes.
    fn answered(answer: &[u8]) -> SoakConnection {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let connection = SoakConnection::open(listener.local_addr().unwrap().port()).unwrap();
        listener.accept().unwrap().0.write_all(answer).unwrap();
        connection
    }

    #[test]
    fn pipelined_answers_are_kept_apart_and_the_end_is_clean() {
        let mut connection = answered(
            b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab\
              HTTP/1.1 304 Not Modified\r\n\r\n\
              HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n\
              HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\n",
        );
        assert_eq!(connection.read(false).unwrap().body, b"ab");
        assert_eq!(connection.read(false).unwrap().status, 304);
        assert_eq!(connection.read(false).unwrap().body, b"abc");
        assert!(connection.read(true).unwrap().closes());
        assert_eq!(connection.expect_end(), Ok(()));
        assert_eq!(connection.read(false), Err(Trouble::Ended));
    }

    #[test]
    fn an_end_within_an_answer_is_broken_and_nonsense_is_wrong() {
        let broken = |place: &str| Err(Trouble::Broken(format!("ended {place}")));
        assert_eq!(answered(b"").read(false), broken("in a head"));
        assert_eq!(answered(b"HTTP/1.1 200").read(false), broken("in a head"));
        let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na";
        assert_eq!(answered(cut).read(false), broken("in a body"));
        let wrong = [
            &b"HTTP/1.1 200 OK\r\n\r\n"[..],
            b"220 ready\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        ];
        for answer in wrong {
            assert!(matches!(answered(answer).read(false), Err(Trouble::Wrong(_))), "{answer:?}");
        }
    }

    #[test]
    fn bytes_after_the_last_answer_are_wrong() {
        let mut connection = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab");
        connection.read(false).unwrap();
        let extra = Trouble::Wrong("1 bytes after the end of an answer".into());
        assert_eq!(connection.expect_end(), Err(extra));
    }
}
