//! The error log of a host: which messages reach it, and how they look there.

use super::error_format::{ErrorFormat, ErrorFormats};
use super::error_log::{LINE_BYTES_MAX, Line, Peer};
use super::id::{LogId, LogIds, RequestLogId};
use super::level::{Level, Levels};
use super::sink::{Sink, local_time};
use super::time::LocalTimeFn;
use crate::modules::log_config::Fields;
use crate::number::signed;
use message::escape::error_log_escape;
use runtime::{clock, process};
use std::net::SocketAddr;
use std::sync::Arc;

/// What is to be said, and what it is about.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    /// Short name of the module, `core`.
    pub(crate) module: &'a str,
    pub(crate) level: Level,
    /// httpd's number of the condition.
    pub(crate) id: Option<u32>,
    /// Number of the system call's error that led to it.
    pub(crate) os_error: Option<i32>,
    pub(crate) text: &'a [u8],
    pub(crate) connection: Option<OnConnection<'a>>,
    pub(crate) request: Option<OnRequest<'a>>,
}

/// The connection that a message is about.
#[derive(Clone, Copy)]
pub(crate) struct OnConnection<'a> {
    pub(crate) peer: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    /// What was said about it before; `None` where nobody keeps it.
    pub(crate) ids: Option<&'a LogIds>,
}

/// The request that a message is about.
#[derive(Clone, Copy)]
pub(crate) struct OnRequest<'a> {
    /// The client as mod_remoteip sees it.
    pub(crate) client: SocketAddr,
    /// When it began, microseconds since 1970.
    pub(crate) start_us: i64,
    pub(crate) fields: &'a dyn Fields,
    pub(crate) notes: &'a dyn Fields,
    pub(crate) environment: &'a dyn Fields,
    /// UseCanonicalName decides.
    pub(crate) server_name: &'a dyn Fn() -> String,
}

impl<'a> Message<'a> {
    /// A message about nobody.
    pub(crate) fn new(module: &'a str, level: Level, id: Option<u32>, text: &'a [u8]) -> Self {
        Self { module, level, id, os_error: None, text, connection: None, request: None }
    }

    /// About a connection of which nothing else is known here.
    pub(crate) fn about(self, peer: Option<SocketAddr>) -> Self {
        let connection = peer.map(|peer| OnConnection { peer, local: None, ids: None });
        Self { connection, ..self }
    }
}

/// When and where a line is written.
pub(super) struct Moment<'a> {
    pub(super) time_us: i64,
    pub(super) local_time: LocalTimeFn,
    pub(super) pid: u32,
    pub(super) tid: u64,
    pub(super) host_name: &'a str,
}

impl Moment<'_> {
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
pub(crate) fn os_error_text(number: i32) -> String {
    runtime::os_error::text(&std::io::Error::from_raw_os_error(number))
}

/// The error log of a host.
#[derive(Debug)]
pub(crate) struct ErrorLog {
    pub(crate) sink: Arc<Sink>,
    /// Whether an `ErrorLog` line asks for it.
    pub(crate) is_configured: bool,
    pub(crate) levels: Levels,
    pub(crate) formats: Arc<ErrorFormats>,
    /// `%v`
    pub(crate) host_name: String,
}

impl ErrorLog {
    /// Whether a message of this kind is wanted, where `levels` hold.
    pub(crate) fn allows(&self, levels: Option<&Levels>, module: &str, level: Level) -> bool {
        let levels = levels.unwrap_or(&self.levels);
        // httpd logs notices to a file or a program whatever LogLevel says (log.c,
        // log_error_core).
        let is_forced = level == Level::Notice && self.is_configured;
        (is_forced && self.sink.syslog().is_none()) || level <= levels.of(module)
    }

    /// Write a message if the levels of its place want it, where they differ from those of the
    /// host. What cannot be written is lost: there is nowhere left to say so.
    pub(crate) fn write(&self, levels: Option<&Levels>, message: &Message<'_>) {
        if self.allows(levels, message.module, message.level) {
            self.put(message);
        }
    }

    fn put(&self, message: &Message<'_>) {
        let moment = Moment {
            time_us: clock::unix_us(),
            local_time,
            pid: std::process::id(),
            tid: u64::from(process::thread_id().cast_unsigned()),
            host_name: &self.host_name,
        };
        let mut line = Vec::with_capacity(192 + message.text.len());
        if let Some(ids) = message.connection.and_then(|connection| connection.ids) {
            self.introduce(message, &moment, ids, &mut line);
        }
        match &self.formats.main {
            Some(format) => format.write(message, &moment, false, &mut line),
            None => self.write_default(message, &moment, &mut line),
        }
        self.send(message.level, &moment, &mut line);
    }

    /// The first message about a connection or a request makes its id, and has lines of its own
    /// before it, if they are configured.
    fn introduce(
        &self,
        message: &Message<'_>,
        moment: &Moment<'_>,
        ids: &LogIds,
        line: &mut Vec<u8>,
    ) {
        let lane = |message: &Message<'_>| {
            let port = message.connection.map_or(0, |connection| connection.peer.port());
            u32::from(port)
        };
        if ids.connection.get().is_none() {
            ids.connection.set(Some(LogId::new(moment.time_us, moment.pid, lane(message))));
            let about = Message { request: None, ..*message };
            self.put_extra(self.formats.connection.as_deref(), &about, moment, line);
        }
        if let Some(request) = message.request
            && ids.request.get().is_none()
        {
            // As generate_log_id of mod_unique_id.c, whose hook comes before the core's.
            let own = LogId::new(request.start_us, moment.pid, lane(message));
            let id = ids.unique.get().map_or(RequestLogId::Own(own), RequestLogId::Unique);
            ids.request.set(Some(id));
            self.put_extra(self.formats.request.as_deref(), message, moment, line);
        }
    }

    fn put_extra(
        &self,
        formats: Option<&[ErrorFormat]>,
        message: &Message<'_>,
        moment: &Moment<'_>,
        line: &mut Vec<u8>,
    ) {
        for format in formats.unwrap_or_default() {
            format.write(message, moment, true, line);
            self.send(message.level, moment, line);
        }
    }

    fn write_default(&self, message: &Message<'_>, moment: &Moment<'_>, out: &mut Vec<u8>) {
        let text = message.os_error.map(os_error_text).unwrap_or_default();
        let request = message.request;
        let line = Line {
            time_us: moment.time_us,
            module: message.module,
            level: message.level,
            pid: moment.pid,
            tid: moment.tid,
            source: None,
            os_error: message.os_error.map(|number| (number, text.as_str())),
            peer: match (request, message.connection) {
                (Some(request), _) => Some(Peer::Client(request.client)),
                (None, Some(connection)) => Some(Peer::Client(connection.peer)),
                (None, None) => None,
            },
            id: message.id,
            message: message.text,
            referer: request.and_then(|request| request.fields.field("Referer")),
        };
        match self.sink.syslog() {
            Some(_) => line.write_without_time(out),
            None => line.write(moment.local_time, out),
        }
    }

    /// Write the line, and leave it empty. An empty one is none.
    fn send(&self, level: Level, moment: &Moment<'_>, line: &mut Vec<u8>) {
        if line.is_empty() {
            return;
        }
        line.truncate(LINE_BYTES_MAX);
        let _ = match self.sink.syslog() {
            Some(syslog) => {
                syslog.send(level, &local_time(moment.time_us.div_euclid(1_000_000)), line)
            }
            None => {
                line.push(b'\n');
                self.sink.write(line)
            }
        };
        line.clear();
    }
}
