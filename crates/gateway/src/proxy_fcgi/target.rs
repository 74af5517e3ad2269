//! Where a FastCGI application listens, read from the URL that a configuration has for it, and what
//! goes before the name of a script for it. Nothing is connected to here.

use crate::proxy;
use runtime::backend::Address;
use scoreboard::WaitCause;
use server::accounting::{self, TimeSpent};
use std::io;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The application that a handler names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FcgiTarget {
    pub(super) place: TargetAddress,
    /// What stands before the path of the script in `SCRIPT_FILENAME`: `proxy:fcgi://localhost`.
    /// php-fpm cuts it off, and knows by it that it need not guess which file is meant.
    pub(super) prefix: String,
    /// Host and port of the URL.
    name: String,
    /// Where to connect to, if nobody has to be asked for that.
    known: Option<Arc<[Address]>>,
    /// What the log calls it, where its socket has no name that tells anything.
    label: Option<&'static str>,
}

/// Where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetAddress {
    /// A socket in the file system.
    Socket(PathBuf),
    /// Host and port.
    Port(String),
}

impl TargetAddress {
    /// The address that it is, unless it is a name.
    fn address(&self) -> Option<Arc<[Address]>> {
        let address = match self {
            Self::Socket(path) => Address::Unix(path.clone()),
            Self::Port(host) => Address::Tcp(host.parse().ok()?),
        };
        Some([address].into())
    }
}

/// The handler of a place that names a target: read once, with the configuration.
#[derive(Debug)]
pub(crate) struct TargetHandler {
    name: String,
    /// The application has a part of the URL space for itself: there need not be a file.
    pub(crate) owns_urls: bool,
    target: Result<Arc<FcgiTarget>, String>,
}

impl TargetHandler {
    /// Of the name of a handler: `proxy:unix:/path|fcgi://localhost`. A socket without an absolute
    /// path is below `runtime_dir`.
    pub(crate) fn new(name: &str, runtime_dir: &Path, owns_urls: bool) -> Self {
        let url = name.strip_prefix(super::PREFIX).unwrap_or(name);
        let url = proxy::with_absolute_socket(url, runtime_dir);
        Self { name: name.to_owned(), owns_urls, target: parse(&url).map(Arc::new) }
    }

    /// Whether this was read from the handler name `name`.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.name == name
    }

    /// Whether a group is meant, and not a target.
    pub(crate) fn is_group(&self) -> bool {
        self.url().starts_with("balancer:")
    }

    pub(crate) fn url(&self) -> &str {
        self.name.strip_prefix(super::PREFIX).unwrap_or(&self.name)
    }

    /// The target, or what is wrong with the name.
    pub(crate) fn target(&self) -> Result<&Arc<FcgiTarget>, &str> {
        self.target.as_ref().map_err(String::as_str)
    }
}

/// `unix:/path|fcgi://localhost` or `fcgi://host:port`.
fn parse(url: &str) -> Result<FcgiTarget, String> {
    let invalid = || format!("Invalid proxy UDS filename (proxy:{url})");
    let (socket, rest) = proxy::split_socket(url).ok_or_else(invalid)?;
    let authority = match rest.strip_prefix("fcgi:") {
        Some(rest) => rest.trim_start_matches('/'),
        None => {
            return Err(format!(
                "No protocol handler was valid for the URL {url} (scheme '{}'). Only \
                 fcgi:// is supported",
                rest.split(':').next().unwrap_or_default()
            ));
        }
    };
    match authority.split('/').next().unwrap_or_default() {
        "" if socket.is_none() => Err(format!("no host in {url}")),
        "" => FcgiTarget::new(socket, "localhost"),
        authority => FcgiTarget::new(socket, authority),
    }
}

/// Host and port of an authority; what stands before an `@` is nobody's here
/// (ap_proxy_canon_netloc).
fn host_and_port(authority: &str) -> Option<(String, u16)> {
    let address = authority.rsplit_once('@').map_or(authority, |row| row.1);
    let behind = if address.starts_with('[') { address.rfind(']')? + 1 } else { 0 };
    let (host, port) = match address[behind..].find(':') {
        Some(colon) => (&address[..behind + colon], &address[behind + colon + 1..]),
        None => (address, ""),
    };
    let is_host = |host: &str| {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let inner = bare.unwrap_or(host);
        !inner.is_empty()
            && inner.bytes().all(|byte| byte.is_ascii_graphic() && !b"/\\[]".contains(&byte))
            && (bare.is_some() || !inner.contains(':'))
    };
    let port = match port {
        "" => proxy::FCGI_PORT,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    (is_host(host) && port > 0).then(|| (host.to_ascii_lowercase(), port))
}

impl FcgiTarget {
    /// The application at a socket, else at `authority`, which is a host that may have a port. Both
    /// are a part of what scripts are called.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn new(socket: Option<PathBuf>, authority: &str) -> Result<Self, String> {
        let (host, port) = host_and_port(authority).ok_or("Invalid host/port")?;
        let shown = match port {
            proxy::FCGI_PORT => host.clone(),
            port => format!("{host}:{port}"),
        };
        let place = match socket {
            Some(path) if path.is_absolute() => TargetAddress::Socket(path),
            Some(path) => {
                let path = path.display();
                return Err(format!("the path of the socket is not absolute: {path}"));
            }
            None => TargetAddress::Port(format!("{host}:{port}")),
        };
        let known = place.address();
        let (prefix, name) = (format!("proxy:fcgi://{shown}"), format!("{host}:{port}"));
        Ok(Self { place, prefix, name, known, label: None })
    }

    /// The same application, which the log calls so.
    pub(crate) fn called(self, label: &'static str) -> Self {
        Self { label: Some(label), ..self }
    }

    /// The same application, at a socket.
    pub(super) fn at_socket(&self, socket: PathBuf) -> Self {
        let place = TargetAddress::Socket(socket);
        Self { known: place.address(), place, ..self.clone() }
    }

    /// The socket in the file system that the application listens at; `None` if it has a host and
    /// port.
    pub(crate) fn socket(&self) -> Option<&Path> {
        match &self.place {
            TargetAddress::Socket(path) => Some(path),
            TargetAddress::Port(_) => None,
        }
    }

    /// `fcgi://host`, with a port if it is not the usual one.
    pub(crate) fn url(&self) -> &str {
        self.prefix.strip_prefix(super::PREFIX).unwrap_or(&self.prefix)
    }

    /// Host and port of its URL, whether it is connected to there or not.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What the log calls it.
    pub(super) fn shown(&self) -> String {
        if let Some(label) = self.label {
            return label.to_owned();
        }
        match &self.place {
            TargetAddress::Socket(path) => path.display().to_string(),
            TargetAddress::Port(host) => host.clone(),
        }
    }

    /// Where to connect to: all addresses of a host, whose name is looked up by a helper.
    pub(super) async fn addresses(&self, spent: &TimeSpent) -> io::Result<Arc<[Address]>> {
        if let Some(known) = &self.known {
            return Ok(known.clone());
        }
        let host = self.shown();
        let look_up = move || host.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let mut found = accounting::blocking(spent, WaitCause::Helper, look_up).await??;
        // What is said about the first holds for the application; of this machine it is rarely the
        // one that `localhost` has as ::1.
        found.sort_by_key(|address| address.ip().is_loopback() && address.is_ipv6());
        match found.is_empty() {
            true => Err(io::ErrorKind::NotFound.into()),
            false => Ok(found.into_iter().map(Address::Tcp).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_names_a_socket_and_what_goes_before_the_script() {
        let unix =
            |path: &str, prefix: &str| Ok((TargetAddress::Socket(path.into()), prefix.to_owned()));
        let tcp = |host: &str, prefix: &str| {
            Ok((TargetAddress::Port(host.to_owned()), prefix.to_owned()))
        };
        let rows = [
            ("unix:/run/x.sock|fcgi://localhost", unix("/run/x.sock", "proxy:fcgi://localhost")),
            ("unix:/run/x.sock|fcgi://localhost/", unix("/run/x.sock", "proxy:fcgi://localhost")),
            ("unix:/run/x.sock|fcgi:", unix("/run/x.sock", "proxy:fcgi://localhost")),
            ("unix:/run/x.sock|fcgi://php82", unix("/run/x.sock", "proxy:fcgi://php82")),
            ("fcgi://127.0.0.1:9000", tcp("127.0.0.1:9000", "proxy:fcgi://127.0.0.1:9000")),
            ("fcgi://127.0.0.1", tcp("127.0.0.1:8000", "proxy:fcgi://127.0.0.1")),
            ("fcgi://php:9000", tcp("php:9000", "proxy:fcgi://php:9000")),
            ("fcgi://[::1]:9000/", tcp("[::1]:9000", "proxy:fcgi://[::1]:9000")),
            ("fcgi://PHP:8000/", tcp("php:8000", "proxy:fcgi://php")),
        ];
        for (url, target) in rows {
            let found = parse(url).map(|target| (target.place, target.prefix));
            assert_eq!(found, target, "{url}");
        }
        for url in [
            "http://a",
            "unix:/x|http://a",
            "unix:x|fcgi://a",
            "fcgi://",
            "",
            "fcgi://a:b",
            "fcgi://a:0",
        ] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
