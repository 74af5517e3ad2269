//! Nouns of RFC 9110 that every protocol of the server shares: methods, statuses, targets, paths,
//! hosts, entity tags, conditions and byte ranges.
//!
//! Everything here is a pure function over byte slices. No socket, clock, file or thread can be
//! named: the crate is `no_std`, and a time is always a parameter. HTTP-date parsing needs `std`
//! and therefore lives with the callers, who pass unix seconds.
//!
//! ```
//! use message::{Method, Status, Target};
//!
//! let target = Target::parse(Some(Method::Get), b"/a%20b?x=1").unwrap();
//! let Target::Origin { path, query } = target else { panic!("not origin-form") };
//! assert_eq!(query, Some(&b"x=1"[..]));
//!
//! let mut decoded = Vec::new();
//! message::path::decode(path, &mut decoded, true).unwrap();
//! assert_eq!(decoded, b"/a b");
//! assert_eq!(Status::NOT_FOUND.line(), "404 Not Found");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod condition;
pub mod escape;
pub mod etag;
pub mod framing;
pub mod host;
pub mod known;
pub mod limits;
pub mod method;
pub mod owned_head;
pub mod path;
pub mod range;
pub mod refusal;
pub mod request;
pub mod response;
pub mod scan;
pub mod status;
pub mod target;
pub mod version;

pub use framing::{BodyLength, Framing, FramingSpans};
pub use host::{BadHost, HostAndPort};
pub use known::{Known, KnownSet};
pub use method::Method;
pub use owned_head::OwnedHead;
pub use refusal::Refusal;
pub use request::{Head, RequestHead, Span};
pub use response::{Field, ResponseHead};
pub use status::Status;
pub use target::{BadTarget, Target};
pub use version::Version;
