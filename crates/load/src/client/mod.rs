//! How: connections and exchanges on them. Nothing here knows how many users there are, what they
//! ask next or who counts.

mod answer;
mod error;
mod exchange;
mod h2;
mod race;
mod transport;
mod tunnel;

pub(crate) use answer::{Answer, Capture, Tools};
pub(crate) use error::{Error, ErrorKind};
pub(crate) use exchange::{Asking, Broken, Link, Sent, Unseen};
pub(crate) use h2::{Joined, Seat};
pub(crate) use transport::{Route, Security, Transport};
