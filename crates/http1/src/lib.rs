//! HTTP/1.0 and 1.1 without I/O: bytes go in, decisions come out (RFC 9112).
//!
//! The caller owns the socket, the clock and the buffer. At the server's end one request goes like
//! this:
//!
//! 1. read into a buffer and call [`HeadParser::advance`] until it is `Complete` or a
//!    [`message::Refusal`];
//! 2. ask [`framing()`] what the head means: target, host, body length, persistence;
//! 3. feed the bytes after the head to a [`BodyDecoder`] until it is `done`;
//! 4. let [`Persistence`] decide what the response says about persistence, write the response with
//!    [`HeadWriter`], and ask [`Persistence::finish`] whether to go on.
//!
//! A refusal at any step means: answer with its status, then close. Nothing here knows a socket, a
//! file, a clock or a thread; timeouts are the caller's.
//!
//! ```
//! use http1::*;
//! use message::{BodyLength, Known, Refusal};
//!
//! let input = b"POST /form HTTP/1.1\r\nHost: example.org\r\nContent-Length: 3\r\n\r\na=1";
//! let mut persistence = Persistence::new();
//! let mut parser = HeadParser::new();
//!
//! // 1. The head, here all at once; it may as well come byte by byte.
//! let progress = parser.advance(input, &HeadLimits::default())?;
//! let HeadProgress::Complete { len } = progress else { panic!("read more first") };
//! let request = parser.request(input);
//! assert_eq!(request.method(), b"POST");
//! assert_eq!(request.get(Known::Host), Some(&b"example.org"[..]));
//!
//! // 2. What it means.
//! let (framing, keep_alive) = framing(&request, message::limits::LIMIT_REQUEST_BODY)?;
//! assert_eq!(framing.body, BodyLength::Length(3));
//! persistence.begin(framing.body, keep_alive);
//!
//! // 3. The body.
//! let mut body = BodyDecoder::new(framing.body, message::limits::LIMIT_REQUEST_BODY);
//! let step = body.decode(&input[len..])?;
//! assert_eq!(&input[len..][step.data], b"a=1");
//! assert!(step.done);
//! persistence.body_done();
//!
//! // 4. The response.
//! let persist = persistence.decide(100, false, false);
//! let mut out = Vec::new();
//! HeadWriter::start(&mut out, message::Status::OK)
//!     .field("Content-Length", b"0")
//!     .persist(persist, 5)
//!     .end();
//! assert_eq!(out, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
//! assert_eq!(persistence.finish(), AfterResponse::Idle);
//! # Ok::<(), Refusal>(())
//! ```
//!
//! At the client's end one answer goes like this; [`AnswerTemplate`] makes the next ones cheap:
//!
//! ```
//! use http1::*;
//!
//! let input = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
//! let mut parser = AnswerParser::new();
//! let progress = parser.advance(input, &HeadLimits::default())?;
//! let HeadProgress::Complete { len } = progress else { panic!("read more first") };
//! let answer = parser.answer(input);
//! assert_eq!(answer.status(), 200);
//! let body = answer.body(AskedMethod::Other)?;
//! assert_eq!(body, AnswerBody::Length(2));
//! assert!(answer.keeps_alive(body));
//!
//! let template = AnswerTemplate::learn(&answer, AskedMethod::Other);
//! let template = template.expect("plain heads are learned");
//! assert_eq!(template.matches(input).map(|repeat| repeat.head_len), Some(len));
//! assert_eq!(template.matches(b"HTTP/1.1 404 Not Found\r\n\r\n"), None);
//! # Ok::<(), AnswerFault>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod answer;
mod answer_fault;
mod answer_fuzz;
mod answer_head;
mod answer_template;
mod body;
mod chunked;
mod close_reason;
mod error_page;
mod framing;
mod head;
mod owned_answer;
mod persistence;
pub mod proxy_protocol;
mod response;

pub use answer::AnswerParser;
pub use answer_fault::AnswerFault;
pub use answer_fuzz::fuzz_answer;
pub use answer_head::{AnswerBody, AnswerHead, AskedMethod};
pub use answer_template::{AnswerTemplate, Repeat};
pub use body::{BodyDecoder, fuzz_body, fuzz_chunked};
pub use chunked::{ChunkStep, ChunkedDecoder};
pub use close_reason::CloseReason;
pub use error_page::{PageFacts, error_page};
pub use framing::{KeepAlive, framing, fuzz_framing};
pub use head::{HeadLimits, HeadParser, HeadProgress, fuzz_head};
pub use owned_answer::OwnedAnswerHead;
pub use persistence::{AfterResponse, Persist, Persistence};
pub use response::{CHUNK_END, HeadWriter, LAST_CHUNK, chunk_start, chunked_field};
