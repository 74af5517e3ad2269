//! What the error log hears of an application while its answer is on the way, in the words of the
//! module that asks it.

use super::fault::BackendFault;
use super::{FcgiTarget, NAME};
use fastcgi::record::RecordKind;
use logging::level::Level;
use logging::message::Message;
use logging::ration::Ration;
use server::Server;
use server::received_request::ReceivedRequest;
use server::request_context::RequestContext;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Where lines go that come while the answer is on its way.
pub(crate) struct BackendLog {
    server: Arc<Server>,
    host: usize,
    client: SocketAddr,
    voice: Voice,
    received: Rc<ReceivedRequest>,
    /// For the complaints of one request.
    ration: Ration,
}

/// In the words of which httpd module an application's errors are logged.
#[derive(Clone, Debug)]
pub(crate) enum Voice {
    /// mod_proxy_fcgi's, of a request to this application.
    Proxy(Arc<FcgiTarget>),
    /// mod_fcgid's.
    Fcgid,
    /// mod_php's, of a request to processes of this server.
    Php(Arc<FcgiTarget>),
}

impl BackendLog {
    pub(crate) fn of(request: &RequestContext<'_>, voice: Voice) -> Self {
        let client = SocketAddr::new(request.client(), request.received().client.port());
        let (server, host) = (request.context.server(), request.host.index);
        let received = request.received().clone();
        Self { server, host, client, voice, received, ration: Ration::default() }
    }

    /// What the application has written to its standard error.
    pub(crate) fn error(&mut self, text: &[u8]) {
        match self.voice {
            Voice::Proxy(_) => self.complain(Some(1071), &[b"Got error '", text, b"'"]),
            Voice::Php(_) => self.complain(None, &[text]),
            Voice::Fcgid => {
                // fcgid_bucket.c, fcgid_header_bucket_read
                let lines = text.split(|byte| matches!(byte, b'\r' | b'\n'));
                for line in lines.filter(|line| !line.is_empty()) {
                    self.complain(None, &[b"mod_fcgid: stderr: ", line]);
                }
            }
        }
    }

    pub(crate) fn unknown(&mut self, kind: RecordKind) {
        if matches!(self.voice, Voice::Proxy(_)) {
            self.complain(Some(1072), &[format!("Got bogus record {}", kind.0).as_bytes()]);
        }
    }

    /// A line of what it complains about, while there is room.
    fn complain(&mut self, id: Option<u32>, text: &[&[u8]]) {
        let length: usize = text.iter().map(|part| part.len()).sum();
        if self.ration.takes(length) {
            self.write(id, &text.concat());
        }
    }

    /// The answer to the request has no end; and how far it came.
    pub(crate) fn broken_off(&self, fault: &BackendFault, progress: &str) {
        let line = String::from_utf8_lossy(self.received.view().request_line());
        let tried = format!("[{line}, {progress}]");
        match &self.voice {
            Voice::Proxy(target) | Voice::Php(target) => {
                let (shown, why) = (target.shown(), words(fault));
                let text = format!("Error dispatching request to {shown}: ({why}) {tried}");
                self.write(Some(1075), text.as_bytes());
            }
            Voice::Fcgid => {
                let (os_error, text) = fcgid_words(fault);
                self.write_with(None, os_error, format!("{text} {tried}").as_bytes());
            }
        }
    }

    fn write(&self, id: Option<u32>, text: &[u8]) {
        self.write_with(id, None, text);
    }

    fn write_with(&self, id: Option<u32>, os_error: Option<i32>, text: &[u8]) {
        let Some(host) = self.server.site.hosts.get(self.host) else { return };
        let (name, level, text) = match self.voice {
            Voice::Proxy(_) => (NAME, Level::Error, text),
            Voice::Fcgid => ("fcgid", Level::Warn, text),
            Voice::Php(_) => {
                let (level, text) = levelled(text);
                ("php", level, text)
            }
        };
        let message = Message::new(name, level, id, text).about(Some(self.client));
        host.error_log.write(None, &Message { os_error, ..message });
    }
}

/// The end of the request.
impl Drop for BackendLog {
    fn drop(&mut self) {
        let Some(bytes) = self.ration.settle() else { return };
        let most = Ration::MEBIBYTES;
        let text = format!("more than {most} MiB of errors: {bytes} bytes were not logged");
        match self.voice {
            Voice::Proxy(_) => self.write(Some(1071), format!("Got error '{text}'").as_bytes()),
            Voice::Fcgid => self.write(None, format!("mod_fcgid: stderr: {text}").as_bytes()),
            Voice::Php(_) => self.write(None, text.as_bytes()),
        }
    }
}

/// A line as a process of this server that runs PHP writes it: `<4>text`, with the level of
/// syslog(3).
fn levelled(line: &[u8]) -> (Level, &[u8]) {
    match line {
        [b'<', digit @ b'0'..=b'9', b'>', text @ ..] => {
            (syslog_level(i32::from(digit - b'0')), text)
        }
        text => (Level::Error, text),
    }
}

/// httpd's levels are those of syslog; what is none of them is an error.
pub(crate) fn syslog_level(level: i32) -> Level {
    match level {
        0 => Level::Emerg,
        1 => Level::Alert,
        2 => Level::Crit,
        4 => Level::Warn,
        5 => Level::Notice,
        6 => Level::Info,
        7 => Level::Debug,
        _ => Level::Error,
    }
}

/// What mod_fcgid says where there is no more of an answer (fcgid_proc_unix.c, proc_read_ipc).
fn fcgid_words(fault: &BackendFault) -> (Option<i32>, String) {
    let text = match fault {
        BackendFault::TimedOut(ms, _) => {
            format!("mod_fcgid: read data timeout in {} seconds", ms / 1000)
        }
        BackendFault::Closed => {
            "mod_fcgid: error reading data, FastCGI server closed connection".to_owned()
        }
        BackendFault::Broken(error) if error.raw_os_error().is_some() => {
            let text = "mod_fcgid: error reading data from FastCGI server".to_owned();
            return (error.raw_os_error(), text);
        }
        other => format!("mod_fcgid: error reading data from FastCGI server: {}", words(other)),
    };
    (None, text)
}

/// What went wrong, in the middle of a sentence.
pub(super) fn words(fault: &BackendFault) -> String {
    match fault {
        BackendFault::Unreachable(error) | BackendFault::Broken(error) => error.to_string(),
        BackendFault::Full(full, _) => {
            let crowd = full.crowd.as_deref().unwrap_or("no connection became free");
            format!("{crowd}; waited for {} s", full.waited_ms.div_ceil(1000))
        }
        BackendFault::TimedOut(ms, crowd) => {
            let crowd = crowd.as_ref().map(|crowd| format!("; {crowd}")).unwrap_or_default();
            format!("silent for {} s{crowd}", ms / 1000)
        }
        BackendFault::Unread => "the application has not read the request".to_owned(),
        BackendFault::Closed => {
            "the application closed the connection: it was stopped, or it crashed".into()
        }
        BackendFault::Protocol(fault) => fault.to_string(),
        BackendFault::Refused(status) => format!("the application refuses the request: {status}"),
        BackendFault::Script(fault) => String::from_utf8_lossy(&fault.message(b"")).into_owned(),
        BackendFault::Request(refusal) => refusal.why.to_owned(),
    }
}
