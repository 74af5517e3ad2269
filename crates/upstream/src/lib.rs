//! Connections to other servers: dialling, TLS, and what is spoken on them.
//!
//! A [`Route`] says where a connection leads and how it is made, a [`ClientTransport`] carries its
//! bytes, and requests are sent on an [`h1::H1Connection`] or an [`h2::ConnectionShare`] of one. An
//! [`HttpClient`] is what the connections of one thread share. [`fastcgi`] shares the children of
//! applications out, over all processes of a server.
//!
//! What somebody measures, logs or decides by is a value that is given back: nothing here knows who
//! asks, how many there are, or what they are counted by.
#![cfg_attr(test, allow(clippy::disallowed_macros, clippy::disallowed_methods))]

mod client;
mod error;
mod exchange;
pub mod fastcgi;
pub mod h1;
pub mod h2;
mod race;
mod transport;
mod tunnel;

pub use client::HttpClient;
pub use error::{ErrorKind, UpstreamError};
pub use exchange::{AnswerSummary, Batch, Capture, ExchangeError, PriorAttempt, Unprocessed};
pub use transport::{ClientTransport, Route, Security};
