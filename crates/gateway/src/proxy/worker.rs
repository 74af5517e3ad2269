//! A backend of the configuration (httpd's proxy_worker): its name, where it listens, and what is
//! known of its health. What its parameters mean is in `parameters`.

use super::parameters::Parameters;
use super::url::{self, NoUrl};
use logging::level::Level;
use runtime::clock;
use server::request_context::RequestContext;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How long a backend is left alone that could not be reached, where `retry` says nothing: long
/// enough that the others answer, and short enough that nobody waits for one that is back.
const RETRY_MS: u64 = 5_000;

/// A backend as the configuration names it. Its clones share what is known of its health.
#[derive(Clone, Debug)]
pub(crate) struct ProxyWorker {
    /// `scheme://host[:port][/path]`, scheme and host in lower case, without the usual port.
    pub(crate) name: String,
    /// The socket before the URL, which is connected to instead of the host.
    pub(crate) socket: Option<PathBuf>,
    pub(crate) parameters: Parameters,
    /// Whether its name has groups of a regular expression in it, or may have.
    pub(super) is_match: bool,
    health: Arc<Health>,
}

/// What is known of a backend's health, shared by the threads of a process; another process finds
/// out for itself.
#[derive(Debug, Default)]
struct Health {
    /// Until when it is left alone, on the coarse monotonic clock; 0 if it is not.
    until_ms: AtomicU64,
}

impl ProxyWorker {
    /// One for a URL of the configuration.
    ///
    /// # Errors
    /// httpd's words (`ap_proxy_define_worker_ex`).
    pub(super) fn new(text: &str, is_match: bool, is_member: bool) -> Result<Self, String> {
        let (socket, bare) = url::split_socket(text).ok_or_else(|| relative(text))?;
        let (bare, dollars) = match is_match {
            true => without_dollars(&bare),
            false => (bare.into_owned(), String::new()),
        };
        let parts = url::parts(&bare).map_err(|why| match why {
            NoUrl::Malformed => format!("Unable to parse URL: {text}"),
            NoUrl::Relative => relative(text),
        })?;
        let scheme = parts.scheme.to_ascii_lowercase();
        let user = parts.user.map(|user| format!("{user}@")).unwrap_or_default();
        let port = parts.port.filter(|port| *port != 0 && Some(*port) != url::usual_port(&scheme));
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let host = parts.host.to_ascii_lowercase();
        let name = format!("{scheme}://{user}{host}{port}{dollars}{}", parts.path);
        let parameters = Parameters::new(is_member);
        Ok(Self { name, socket, parameters, is_match, health: Arc::default() })
    }

    /// An application that is named in another way.
    pub(crate) fn of_server(
        authority: &str,
        timeout_ms: u64,
        connect_ms: Option<u64>,
    ) -> Result<Self, String> {
        let mut worker = Self::new(&format!("fcgi://{authority}"), false, false)?;
        worker.parameters.timeout_ms = Some(timeout_ms);
        worker.parameters.connect_ms = connect_ms;
        Ok(worker)
    }

    /// How many bytes of a URL its name covers, if it is the backend of that URL; `host_end` is
    /// where the host of the URL ends, which has to be covered (`worker_matches` of proxy_util.c).
    pub(super) fn covers(&self, url: &[u8], host_end: usize) -> Option<usize> {
        let name = self.name.as_bytes();
        (name.len() >= host_end && url.starts_with(name)).then_some(name.len())
    }

    /// Whether it may be the one for a request that names this socket. A backend without a socket
    /// is one for any: `<Proxy "fcgi://localhost/">` has parameters for handlers with sockets.
    pub(super) fn suits(&self, socket: Option<&Path>) -> bool {
        self.socket.is_none() || socket.is_none() || self.socket.as_deref() == socket
    }

    /// The backend could not be reached: log that and leave it alone for a while, if
    /// [`Self::may_fail`] (`ap_proxy_connect_backend`).
    pub(crate) fn leave_alone(&self, request: &RequestContext<'_>) {
        if !self.may_fail() {
            return;
        }
        self.fail();
        let retry_s = self.parameters.retry_ms.unwrap_or(RETRY_MS) / 1000;
        let text = format!(
            "ap_proxy_connect_backend disabling worker for ({}) for {retry_s}s",
            self.address()
        );
        request.log(Level::Error, "proxy", Some(959), &text);
    }

    /// Host and port of its URL.
    fn address(&self) -> String {
        let Ok(parts) = url::parts(&self.name) else { return self.name.clone() };
        let port = parts.port.or_else(|| url::usual_port(parts.scheme));
        format!("{}:{}", parts.host, port.unwrap_or(u16::MAX))
    }

    /// Leave the backend alone from now on, for `retry` or [`RETRY_MS`].
    pub(crate) fn fail(&self) {
        let until_ms = clock::monotonic_ms() + self.parameters.retry_ms.unwrap_or(RETRY_MS);
        self.health.until_ms.store(until_ms.max(1), Relaxed);
    }

    /// The backend has answered: it is no longer left alone.
    pub(crate) fn recover(&self) {
        if self.health.until_ms.load(Relaxed) != 0 {
            self.health.until_ms.store(0, Relaxed);
        }
    }

    /// Whether the backend has failed so recently that it is not asked now.
    pub(crate) fn is_left_alone(&self) -> bool {
        clock::monotonic_ms() < self.health.until_ms.load(Relaxed)
    }

    /// Whether requests may go to it now (PROXY_WORKER_IS_USABLE).
    pub(super) fn is_usable(&self) -> bool {
        let states = self.parameters.states;
        !states.is_disabled && !states.is_stopped && !states.is_failed && !self.is_left_alone()
    }

    /// Whether a failure makes it be left alone.
    pub(crate) fn may_fail(&self) -> bool {
        self.parameters.may_fail()
    }
}

fn relative(text: &str) -> String {
    format!("URL must be absolute!: {text}")
}

/// Groups in a port (`fcgi://host:90$1/x`) are no part of it: what follows the digits is put
/// before the path, as httpd does it.
fn without_dollars(url: &str) -> (String, String) {
    let Some(start) = url.find("://").map(|at| at + 3) else {
        return (url.to_owned(), String::new());
    };
    let end = url[start..].find('/').map_or(url.len(), |at| start + at);
    let Some(colon) = url[start..end].rfind(':').map(|at| start + at) else {
        return (url.to_owned(), String::new());
    };
    let Some(dollar) = url[colon..end].find('$').map(|at| colon + at) else {
        return (url.to_owned(), String::new());
    };
    ([&url[..dollar], &url[end..]].concat(), url[dollar..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_is_called_by_its_url() {
        let name = |url| ProxyWorker::new(url, false, false).map(|worker| worker.name);
        for (url, expected) in [
            ("FCGI://Host.Example:8000/A", Ok("fcgi://host.example/A")),
            ("fcgi://h:9000", Ok("fcgi://h:9000")),
            ("unix:/s|fcgi://X/", Ok("fcgi://x/")),
            ("http://h:80/x", Ok("http://h/x")),
            ("x", Err("URL must be absolute!: x")),
            ("fcgi://", Err("URL must be absolute!: fcgi://")),
            ("fcgi://h:x/", Err("Unable to parse URL: fcgi://h:x/")),
        ] {
            assert_eq!(name(url).as_deref(), expected.map_err(str::to_owned).as_deref(), "{url}");
        }
        let name = |url| ProxyWorker::new(url, true, false).map(|worker| worker.name);
        assert_eq!(name("fcgi://h:90$1/a$2").as_deref(), Ok("fcgi://h:90$1/a$2"));
    }

    #[test]
    fn a_backend_covers_urls_that_begin_with_its_name() {
        for (name, url, expected) in [
            ("fcgi://h", "fcgi://h/x", Some(8)),
            ("fcgi://h/", "fcgi://h/x", Some(9)),
            ("fcgi://h/y", "fcgi://h/x", None),
            ("fcgi://h", "fcgi://host/x", None),
        ] {
            let worker = ProxyWorker::new(name, false, false).unwrap();
            let host_end = url.rfind('/').unwrap();
            assert_eq!(worker.covers(url.as_bytes(), host_end), expected, "{name} {url}");
        }
    }
}
