//! A tunnel through a proxy: CONNECT (RFC 9110 section 9.3.6), behind which TLS is spoken with the
//! server itself.

use crate::{ErrorKind, UpstreamError};
use http1::{AnswerParser, HeadLimits, HeadProgress};
use runtime::Stream;
use std::future::poll_fn;
use std::io;
use std::task::{Poll, ready};

/// Bytes of a proxy's answer at most.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

/// Let the proxy at the other end lead on; `request` says where to.
///
/// # Errors
/// What the proxy says instead.
pub(super) async fn open(stream: &mut Stream, request: &[u8]) -> Result<(), UpstreamError> {
    send(stream, request).await.map_err(|error| UpstreamError::of_connect(&error))?;
    let (mut answer, mut parser) = (Vec::new(), AnswerParser::new());
    let mut bytes = [0; 1024];
    loop {
        let read = poll_fn(|context| stream.poll_read(context, &mut bytes)).await;
        let count = read.map_err(|error| UpstreamError::of_connect(&error))?;
        answer.extend_from_slice(&bytes[..count]);
        match parser.advance(&answer, &HeadLimits::default()) {
            Ok(HeadProgress::Complete { len }) => {
                let head = parser.answer(&answer);
                return match head.status() {
                    // The server speaks when it is spoken to: what has come already is not its.
                    200..=299 if len == answer.len() => Ok(()),
                    200..=299 => {
                        Err(broken("the proxy sent data of its own once it had connected"))
                    }
                    status => {
                        let reason = String::from_utf8_lossy(head.reason()).into_owned();
                        Err(refused(&format!("{status} {reason}")))
                    }
                };
            }
            Ok(HeadProgress::Partial) if count == 0 => {
                return Err(broken("the proxy closed the connection before it answered CONNECT"));
            }
            Ok(HeadProgress::Partial) if answer.len() < ANSWER_BYTES_MAX => {}
            _ => return Err(broken("the proxy's response to CONNECT is not HTTP")),
        }
    }
}

async fn send(stream: &mut Stream, request: &[u8]) -> io::Result<()> {
    let mut sent = 0;
    poll_fn(|context| {
        while sent < request.len() {
            match stream.try_send(&request[sent..], false) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(stream.poll_writable(context))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}

fn refused(answer: &str) -> UpstreamError {
    let text = format!("the proxy answers CONNECT with {}", answer.trim_end());
    UpstreamError { kind: ErrorKind::Unreachable, text }
}

fn broken(text: &str) -> UpstreamError {
    UpstreamError { kind: ErrorKind::ConnectBroken, text: text.to_owned() }
}
