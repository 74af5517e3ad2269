//! What this thread's connections have written to the logs.

use super::Context;
use crate::access_log::{self, Transaction};
use crate::failure::{Details, Failure};
use logging::level::Level;
use logging::message::Message;
use logging::recurring::{MessageVerdict, OmittedMessage};
use logging::sink::Sink;
use runtime::clock;
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;

impl Context {
    /// What is logged of a failure; nothing if it is one of many alike, which are counted.
    pub(crate) fn text_of<'f>(&self, failure: &'f Failure, host: usize) -> Option<Cow<'f, str>> {
        let text = Cow::Borrowed(failure.text.as_str());
        let Some(subject) = &failure.recurs else { return Some(text) };
        let Details { module, level, id, os_error, .. } = **failure;
        let said =
            OmittedMessage { host, module, level, id, os_error, text: text.clone().into_owned() };
        match self.server.recurring.judge(subject, &said, clock::monotonic_ms()) {
            MessageVerdict::Log(more) if more.is_empty() => Some(text),
            MessageVerdict::Log(more) => Some(Cow::Owned(format!("{text}{more}"))),
            MessageVerdict::Count => None,
        }
    }

    /// Log why a request head was refused.
    pub(crate) fn log_refusal(&self, failure: &Failure, host: usize, client: SocketAddr) {
        let Details { level, module, id, text, .. } = &**failure;
        let message = Message::new(module, *level, *id, text.as_bytes()).about(Some(client));
        self.host(host).error_log.write(None, &message);
    }

    /// Log something about a connection.
    pub(crate) fn log(&self, level: Level, id: Option<u32>, client: SocketAddr, text: &str) {
        self.server.log(level, "core", id, Some(client), text.as_bytes());
    }

    /// Append a line to every access log of the host.
    pub(crate) fn write_access(&self, finished: &Transaction<'_>) {
        let host = self.host(finished.logged.host);
        let mut writer = self.access.borrow_mut();
        access_log::write(host, &mut writer, finished, |sink, error| self.line_lost(sink, error));
    }

    /// A full disk must not stop service, nor fill the error log as well.
    fn line_lost(&self, sink: &Sink, error: &io::Error) {
        if let Some(row) = self.process_row() {
            row.log_line_lost();
        }
        if sink.complaint_is_due() {
            let text = format!("Error writing to {}: {error}; lines are lost", sink.name());
            self.server.log(Level::Warn, "log_config", Some(646), None, text.as_bytes());
        }
    }
}
