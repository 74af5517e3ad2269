//! What is said about a request in the error log.

use super::{Because, RequestContext};
use crate::failure::{Details, Failure};
use crate::steps::StepKind;
use logging::level::Level;
use logging::message::{Message, OnConnection, OnRequest};
use runtime::file::Errno;
use std::net::SocketAddr;

impl RequestContext<'_> {
    /// Log something about this request.
    pub fn log(&self, level: Level, module: &'static str, id: Option<u32>, text: &str) {
        let failure = Failure::at(level, module, id, text);
        self.log_failure(&failure);
    }

    /// Log something about this request that would come with every request: what is wrong with the
    /// configuration, say. Those like it are counted.
    pub fn log_recurring(&self, level: Level, module: &'static str, id: Option<u32>, text: &str) {
        let failure = Failure::at(level, module, id, text).recurring(text.to_owned());
        self.log_failure(&failure);
    }

    /// Log what the system said about a file that the configuration names.
    pub fn log_errno(&self, errno: Errno, module: &'static str, id: u32, text: &str) {
        let failure = Failure::at(Level::Error, module, Some(id), text).recurring(text.to_owned());
        self.log_failure(&failure.os_error(errno.raw_os_error()));
    }

    /// Log why the request failed.
    pub fn log_failure(&self, failure: &Failure) {
        if failure.text.is_empty() {
            return;
        }
        if self.is_explained() {
            let Details { module, text, .. } = &**failure;
            return self.explain(StepKind::Message, || format!("{module}: {text}"));
        }
        let Self { settings, host, .. } = self;
        // Asked first: the rest costs more than most messages are worth.
        if !host.error_log.allows(settings.core.levels(), failure.module, failure.level) {
            return;
        }
        let Some(text) = self.context.text_of(failure, host.index) else { return };
        let message = Message::new(failure.module, failure.level, failure.id, text.as_bytes());
        self.write(Message { os_error: failure.os_error, ..message });
    }

    /// Log something that need not be UTF-8.
    pub fn log_bytes(&self, level: Level, module: &'static str, text: &[u8]) {
        self.write(Message::new(module, level, None, text));
    }

    fn write(&self, message: Message<'_>) {
        let client = self.unmarked(Because::NotInAnswer);
        let received = &client.received;
        let client_ip = client.ip.unwrap_or(received.client.ip());
        let message = Message {
            connection: Some(OnConnection {
                peer: received.other_end(),
                local: Some(received.local),
                ids: Some(&received.ids),
            }),
            request: Some(OnRequest {
                client: SocketAddr::new(client_ip, received.client.port()),
                start_us: received.start_us,
                fields: &**received,
                notes: &self.tables.notes,
                environment: &self.tables.env,
                server_name: &|| self.server_name_for_log().to_ascii_lowercase(),
            }),
            ..message
        };
        self.host.error_log.write(self.settings.core.levels(), &message);
    }
}
