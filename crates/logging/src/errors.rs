//! The error log of a host: which messages reach it, and how they look there.

use super::error_format::{ErrorFormat, ErrorFormats};
use super::error_log::{ErrorLine, LINE_BYTES_MAX, Peer};
use super::id::{LogId, LogIds, RequestLogId};
use super::level::{Level, Levels};
use super::message::{LogMoment, Message, os_error_text};
use super::sink::{Sink, local_time};
use runtime::{clock, process};
use std::sync::Arc;

/// The error log of a host.
#[derive(Debug)]
pub struct ErrorLog {
    /// Where lines go.
    pub sink: Arc<Sink>,
    /// Whether an `ErrorLog` line asks for it.
    pub is_configured: bool,
    /// `LogLevel` outside of sections.
    pub levels: Levels,
    /// `ErrorLogFormat`, for messages about a request, a connection or neither.
    pub formats: Arc<ErrorFormats>,
    /// `%v`
    pub host_name: String,
}

impl ErrorLog {
    /// Whether a message of this kind is wanted, where `levels` hold.
    pub fn allows(&self, levels: Option<&Levels>, module: &str, level: Level) -> bool {
        let levels = levels.unwrap_or(&self.levels);
        // httpd logs notices to a file or a program whatever LogLevel says (log.c,
        // log_error_core).
        let is_forced = level == Level::Notice && self.is_configured;
        (is_forced && self.sink.syslog().is_none()) || level <= levels.of(module)
    }

    /// Write a message if the levels of its place want it, where they differ from those of the
    /// host. What cannot be written is lost: there is nowhere left to say so.
    pub fn write(&self, levels: Option<&Levels>, message: &Message<'_>) {
        if self.allows(levels, message.module, message.level) {
            self.put(message);
        }
    }

    fn put(&self, message: &Message<'_>) {
        let moment = LogMoment {
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
        moment: &LogMoment<'_>,
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
        moment: &LogMoment<'_>,
        line: &mut Vec<u8>,
    ) {
        for format in formats.unwrap_or_default() {
            format.write(message, moment, true, line);
            self.send(message.level, moment, line);
        }
    }

    fn write_default(&self, message: &Message<'_>, moment: &LogMoment<'_>, out: &mut Vec<u8>) {
        let text = message.os_error.map(os_error_text).unwrap_or_default();
        let request = message.request;
        let line = ErrorLine {
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
    fn send(&self, level: Level, moment: &LogMoment<'_>, line: &mut Vec<u8>) {
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
