//! Connections to other servers: dialling, TLS, and what is spoken on them.
//!
//! A [`Route`] says where a connection leads and how it is made, a [`Transport`] carries its bytes,
//! and a [`Link`] (HTTP/1) or a [`Seat`] (HTTP/2) is what requests are sent on. [`Tools`] are what
//! the connections of one thread share. [`fastcgi`] shares the children of applications out, over
//! all processes of a server.
//!
//! What somebody measures, logs or decides by is a value that is given back: nothing here knows who
//! asks, how many there are, or what they are counted by.

mod answer;
mod error;
mod exchange;
pub mod fastcgi;
mod h2;
mod race;
mod transport;
mod tunnel;

pub use answer::{Answer, Capture, Tools};
pub use error::{Error, ErrorKind};
pub use exchange::{Asking, Broken, Link, Sent, Unseen};
pub use h2::{Joined, Pool, Seat, Translations};
pub use transport::{Route, Security, Transport};
