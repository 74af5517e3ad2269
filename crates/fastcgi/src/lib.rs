//! FastCGI 1.0 and what programs answer, without I/O: bytes go in, events come out.
//!
//! The caller owns the connection to the application, the clock and the buffers. One request goes
//! like this:
//!
//! 1. encode what all requests of a host have in common once, as [`Params`]; a request begins with
//!    a copy of it and adds its own variables ([`environment`] has the names of its fields);
//! 2. [`Params::finish`] gives the bytes to send, and an [`Exchange`];
//! 3. send the request's body with [`Exchange::stdin`], then its end, also when there is no body;
//! 4. give what comes back to [`Exchange::receive`], until it is the end;
//! 5. give the pieces of output to a [`ScriptHeadParser`] until the head is complete; what follows
//!    is the body;
//! 6. ask [`Exchange::may_reuse`] whether the connection may have another request.
//!
//! An [`ApplicationFault`] means: nothing more can be understood, close the connection. A
//! [`ScriptFault`] means that the answer cannot be used, and has the status and the words to say
//! so; it holds for CGI scripts as well. Nothing here knows a socket, a process, a clock or a
//! thread; timeouts are the caller's. No result depends on how the input was split, and nothing
//! grows with it but within the bounds of [`message::limits`].
//!
//! ```
//! use fastcgi::*;
//!
//! // 1. Once, and for each request.
//! let mut template = Params::new(true);
//! template.add(b"SERVER_SOFTWARE", b"Trivet")?;
//! let mut params = Params::from_template(&template, Vec::new());
//! params.add(b"REQUEST_METHOD", b"GET")?;
//!
//! // 2. and 3. All that is sent for a request without a body.
//! let (mut request, mut exchange) = params.finish();
//! request.extend_from_slice(&exchange.end_stdin());
//!
//! // The other end, which is another program.
//! let mut application = responder::Responder::default();
//! let (mut at, mut answer) = (0, Vec::new());
//! while let (used, Some(event)) = application.receive(&request[at..])? {
//!     at += used;
//!     if event == responder::ServerEvent::Params {
//!         let variables: Result<Vec<_>, _> = application.params().collect();
//!         assert_eq!(variables?[1], (&b"REQUEST_METHOD"[..], &b"GET"[..]));
//!     }
//! }
//! application.stdout(&mut answer, b"Status: 404 Gone Fishing\r\n\r\nTry later.");
//! let protocol_status = record::ProtocolStatus::REQUEST_COMPLETE;
//! application.end_request(&mut answer, record::EndRequest { app_status: 0, protocol_status });
//!
//! // 4. and 5. What comes of it.
//! let (mut parser, mut body, mut at) = (ScriptHeadParser::new(), Vec::new(), 0);
//! loop {
//!     let step = exchange.receive(&answer[at..])?;
//!     at += step.used;
//!     match step.event {
//!         Some(ApplicationEvent::Stdout(piece)) => {
//!             let Some(Complete { head, used }) = parser.advance(piece)? else { continue };
//!             assert_eq!(head.status().code(), 404);
//!             body.extend_from_slice(&piece[used..]);
//!         }
//!         Some(ApplicationEvent::End(_)) => break,
//!         _ => panic!("read more first"),
//!     }
//! }
//! assert_eq!(body, b"Try later.");
//!
//! // 6. All was said, and nothing else.
//! assert!(exchange.may_reuse());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod client;
pub mod environment;
mod fuzz;
mod params;
mod reader;
pub mod record;
pub mod responder;
mod script_fault;
mod script_head;
pub mod values;

pub use client::{ApplicationEvent, ApplicationFault, ApplicationStep, Exchange};
pub use fuzz::{fuzz_params, fuzz_records, fuzz_script_head};
pub use params::{DoesNotFit, MalformedPairs, Pairs, Params, RequestOpening, write_pair};
pub use script_fault::ScriptFault;
pub use script_head::{
    Complete, ScriptField, ScriptHead, ScriptHeadParser, ScriptRedirect, StatusLine,
};
