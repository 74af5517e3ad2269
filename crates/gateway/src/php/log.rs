//! What the error log hears of a script: what PHP says goes to the log of the host, as mod_php has
//! it (php_apache_sapi_log_message).

use super::settings::NAME;
use crate::proxy_fcgi::log::syslog_level;
use logging::message::Message;
use server::Server;
use server::request_context::RequestContext;
use server::site::settings::Settings;
use std::net::SocketAddr;
use std::sync::Arc;

/// Where lines go while a script runs, also when its request is known no more.
pub(super) struct PhpLog {
    server: Arc<Server>,
    host: usize,
    client: SocketAddr,
    settings: Arc<Settings>,
}

impl PhpLog {
    pub(super) fn of(request: &RequestContext<'_>) -> Self {
        Self {
            server: request.context.server(),
            host: request.host.index,
            client: SocketAddr::new(request.client(), request.received().client.port()),
            settings: request.settings.clone(),
        }
    }

    /// A line, with its level of syslog(3).
    pub(super) fn write(&self, level: i32, text: &[u8]) {
        let Some(host) = self.server.site.hosts.get(self.host) else { return };
        let message = Message::new(NAME, syslog_level(level), None, text).about(Some(self.client));
        host.error_log.write(self.settings.core.levels(), &message);
    }
}
