//! What is said in an error log, of whom, and when: what every form of a line is made of.

use super::id::LogIds;
use super::level::Level;
use super::time::LocalTimeFn;
use crate::access::NamedValues;
use crate::number::signed;
use message::escape::error_log_escape;
use std::net::SocketAddr;

/// What is to be said, and what it is about.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    /// Short name of the module, `core`.
    pub module: &'a str,
    /// How important it is.
    pub level: Level,
    /// httpd's number of the condition.
    pub id: Option<u32>,
    /// Number of the system call's error that led to it.
    pub os_error: Option<i32>,
    /// What is said; it is escaped when it is written.
    pub text: &'a [u8],
    /// The connection that it is about.
    pub connection: Option<OnConnection<'a>>,
    /// The request that it is about.
    pub request: Option<OnRequest<'a>>,
}

/// The connection that a message is about.
#[derive(Clone, Copy)]
pub struct OnConnection<'a> {
    /// The other end.
    pub peer: SocketAddr,
    /// Our end.
    pub local: Option<SocketAddr>,
    /// What was said about it before; `None` where nobody keeps it.
    pub ids: Option<&'a LogIds>,
}

/// The request that a message is about.
#[derive(Clone, Copy)]
pub struct OnRequest<'a> {
    /// The client as mod_remoteip sees it.
    pub client: SocketAddr,
    /// When the request began, microseconds since 1970.
    pub start_us: i64,
    /// The fields of the request.
    pub fields: &'a dyn NamedValues,
    /// The notes of the request (`r->notes`).
    pub notes: &'a dyn NamedValues,
    /// The variables of the request (`r->subprocess_env`).
    pub environment: &'a dyn NamedValues,
    /// UseCanonicalName decides.
    pub server_name: &'a dyn Fn() -> String,
}

impl<'a> Message<'a> {
    /// A message about nobody.
    pub fn new(module: &'a str, level: Level, id: Option<u32>, text: &'a [u8]) -> Self {
        Self { module, level, id, os_error: None, text, connection: None, request: None }
    }

    /// About a connection of which nothing else is known here.
    pub fn about(self, peer: Option<SocketAddr>) -> Self {
        let connection = peer.map(|peer| OnConnection { peer, local: None, ids: None });
        Self { connection, ..self }
    }
}

/// When and where a line is written.
pub(super) struct LogMoment<'a> {
    pub(super) time_us: i64,
    pub(super) local_time: LocalTimeFn,
    pub(super) pid: u32,
    pub(super) tid: u64,
    pub(super) host_name: &'a str,
}

impl LogMoment<'_> {
    /// `AH00111: message`
    pub(super) fn write_message(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        if let Some(id) = message.id {
            out.extend_from_slice(format!("AH{id:05}: ").as_bytes());
        }
        error_log_escape(message.text, out);
    }

    /// `(2)No such file or directory`
    pub(super) fn write_os_error(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        if let Some(number) = message.os_error {
            out.push(b'(');
            signed(i64::from(number), out);
            out.push(b')');
            out.extend_from_slice(os_error_text(number).as_bytes());
        }
    }
}

/// The kernel's words.
pub fn os_error_text(number: i32) -> String {
    runtime::os_error::text(&std::io::Error::from_raw_os_error(number))
}
