//! What the error log hears of a script while it runs, and what it says there itself.

use super::fault::CgiFault;
use super::flavor::Flavor;
use logging::level::Level;
use logging::message::Message;
use server::Server;
use server::request_context::RequestContext;
use std::net::SocketAddr;
use std::sync::Arc;

/// Bytes of a line: what httpd reads at a time (HUGE_STRING_LEN).
const LINE_BYTES: usize = 8191;

/// Bytes of its standard error that one script gets into the log. httpd has no bound; a script that
/// does nothing but complain would fill the disk.
const ERROR_BYTES: usize = 1 << 20;

/// Where lines go that come while the script runs.
pub(super) struct CgiLog {
    server: Arc<Server>,
    host: usize,
    client: SocketAddr,
    flavor: &'static Flavor,
    script: Vec<u8>,
    /// The line that has begun.
    line: Vec<u8>,
    /// What has come of its standard error.
    bytes: usize,
}

impl CgiLog {
    pub(super) fn of(request: &RequestContext<'_>, flavor: &'static Flavor) -> Self {
        let client = SocketAddr::new(request.client(), request.received().client.port());
        let (server, host) = (request.context.server(), request.host.index);
        let script = request.mapping.place.path();
        Self { server, host, client, flavor, script, line: Vec::new(), bytes: 0 }
    }

    /// A piece of its standard error.
    pub(super) fn errors(&mut self, bytes: &[u8]) {
        if self.bytes > ERROR_BYTES {
            return;
        }
        self.bytes += bytes.len();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.ends_with(b"\n") || self.line.len() >= LINE_BYTES {
                self.end_line();
            }
        }
        if self.bytes > ERROR_BYTES {
            self.end_line();
            let most = ERROR_BYTES >> 20;
            self.said(format!("more than {most} MiB: the rest is not logged").as_bytes());
        }
    }

    /// No more comes.
    pub(super) fn end_of_errors(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        self.said(text.strip_suffix(b"\r").unwrap_or(text));
    }

    fn said(&self, text: &[u8]) {
        let text = [b"stderr from ", &self.script[..], b": ", text].concat();
        self.write(Level::Error, Some(1215), None, &text);
    }

    /// It takes no more of the body of its request.
    pub(super) fn is_deaf(&self, error: &std::io::Error) {
        let text = [b"Error writing request body to script ", &self.script[..]].concat();
        self.write(Level::Error, Some(2651), error.raw_os_error(), &text);
    }

    /// Its answer has no end.
    pub(super) fn broken_off(&self, fault: &CgiFault) {
        match fault {
            CgiFault::TimedOut => self.timed_out(),
            CgiFault::Broken => {
                let text = [b"Error reading from CGI script ", &self.script[..]].concat();
                self.write(Level::Error, None, None, &text);
            }
            CgiFault::Script(_) | CgiFault::Request(_) => {} // of its head, or the client's
        }
    }

    /// It has been silent for too long.
    pub(super) fn timed_out(&self) {
        let text = [b"Timeout waiting for output from CGI script ", &self.script[..]].concat();
        self.write(Level::Warn, Some(1220), None, &text);
    }

    fn write(&self, level: Level, id: Option<u32>, os_error: Option<i32>, text: &[u8]) {
        let Some(host) = self.server.site.hosts.get(self.host) else { return };
        let message = Message::new(self.flavor.name, level, id, text).about(Some(self.client));
        // Not the request's own way into the log: these lines come while its response is on its
        // way, and after it (`Relay::attend`), when there is no `RequestContext` any more.
        host.error_log.write(None, &Message { os_error, ..message });
    }
}
