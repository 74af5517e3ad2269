//! The smallest HTTP/1.1 client that can check an answer byte for byte.
//!
//! It is used to verify each server before it is measured and to open idle connections. It is on
//! purpose not trivet's own protocol code: a fault there must not hide itself here.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// No answer of these small and local requests may take longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A complete answer.
#[derive(Debug, PartialEq)]
pub(super) struct BenchResponse {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// One request on a connection of its own.
pub(super) fn get(port: u16, path: &str) -> Result<BenchResponse, String> {
    let mut stream = connect(port)?;
    send(&mut stream, path)?;
    read(&mut stream)
}

/// Connects to a server of the benchmark.
pub(super) fn connect(port: u16) -> Result<TcpStream, String> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(text("connect"))?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(text("set a timeout"))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).map_err(text("set a timeout"))?;
    Ok(stream)
}

/// Sends a GET that leaves the connection open (RFC 9112 section 9.3: 1.1 persists by default).
pub(super) fn send(stream: &mut TcpStream, path: &str) -> Result<(), String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(text("send"))
}

/// Reads exactly one answer. One without Content-Length is an error: every server here serves
/// plain files, whose length is known.
pub(super) fn read(stream: &mut impl Read) -> Result<BenchResponse, String> {
    let mut bytes = Vec::new();
    let head_end = loop {
        read_more(stream, &mut bytes)?;
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let (status, length) = parse_head(&head).ok_or(format!("unexpected answer head: {head:?}"))?;
    let mut body = bytes.split_off(head_end);
    while body.len() < length {
        read_more(stream, &mut body)?;
    }
    if length < body.len() {
        return Err(format!("{} bytes after the end of the answer", body.len() - length));
    }
    Ok(BenchResponse { status, body })
}

/// Appends what one read gives; the end of the stream is an error here.
fn read_more(stream: &mut impl Read, bytes: &mut Vec<u8>) -> Result<(), String> {
    let mut buffer = [0; 16 << 10];
    match stream.read(&mut buffer).map_err(text("read"))? {
        0 => Err("connection closed before the answer was complete".into()),
        count => {
            bytes.extend_from_slice(&buffer[..count]);
            Ok(())
        }
    }
}

/// Status and Content-Length of an HTTP/1.1 answer.
pub(super) fn parse_head(head: &str) -> Option<(u16, usize)> {
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let (_, length) = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    Some((status, length.trim().parse().ok()?))
}

/// Turns an I/O error into a message that names the step.
fn text(step: &'static str) -> impl Fn(std::io::Error) -> String {
    move |error| format!("cannot {step}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_answer_in_any_pieces() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\n\r\nhello";
        for cut in 1..answer.len() {
            let (first, second) = answer.split_at(cut);
            let response = read(&mut first.chain(second)).unwrap();
            assert_eq!(
                response,
                BenchResponse { status: 200, body: b"hello".to_vec() },
                "cut {cut}"
            );
        }
    }

    #[test]
    fn refuses_what_it_cannot_check() {
        for (answer, word) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "closed before"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", "1 bytes after"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "unexpected"),
            ("220 ready\r\n\r\n", "unexpected"),
        ] {
            let message = read(&mut answer.as_bytes()).unwrap_err();
            assert!(message.contains(word), "{answer:?}: {message}");
        }
    }
}
