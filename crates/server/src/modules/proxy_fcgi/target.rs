//! Where a FastCGI application listens, read from the URL that a configuration has for it, and what
//! goes before the name of a script for it. Nothing is connected to here.

use crate::accounting::{self, Spent};
use runtime::backend::Address;
use scoreboard::Cause;
use std::io;
use std::net::ToSocketAddrs;
use std::path::PathBuf;

/// The port of FastCGI where a URL names none (`fcgi_canon` of mod_proxy_fcgi.c).
const DEFAULT_PORT: u16 = 8000;

/// The application that a handler names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(super) place: Place,
    /// What stands before the path of the script in `SCRIPT_FILENAME`: `proxy:fcgi://localhost`.
    /// php-fpm cuts it off, and knows by it that it need not guess which file is meant.
    pub(super) prefix: String,
}

/// Where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A socket in the file system.
    Socket(PathBuf),
    /// Host and port.
    Port(String),
}

/// `unix:/path|fcgi://localhost` or `fcgi://host:port`.
pub(super) fn parse(url: &str) -> Result<Target, String> {
    let (socket, rest) = match url.strip_prefix("unix:").and_then(|rest| rest.split_once('|')) {
        Some((path, rest)) => (Some(path), rest),
        None => (None, url),
    };
    let authority = match rest.strip_prefix("fcgi:") {
        Some(rest) => rest.trim_start_matches('/'),
        None => {
            return Err(format!(
                "No protocol handler was valid for the URL {url} (scheme '{}'). Only \
                 fcgi:// is there",
                rest.split(':').next().unwrap_or_default()
            ));
        }
    };
    let authority = authority.split('/').next().unwrap_or_default();
    let prefix = match authority {
        "" => "proxy:fcgi://localhost".to_owned(),
        authority => format!("proxy:fcgi://{authority}"),
    };
    let place = match socket {
        Some(path) if path.starts_with('/') => Place::Socket(path.into()),
        Some(path) => return Err(format!("the path of the socket is not absolute: {path}")),
        None if authority.is_empty() => return Err(format!("no host in {url}")),
        None => Place::Port(with_port(authority)),
    };
    Ok(Target { place, prefix })
}

fn with_port(authority: &str) -> String {
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    match authority.rsplit_once(':').is_some_and(|(_, port)| is_port(port)) {
        true => authority.to_owned(),
        false => format!("{authority}:{DEFAULT_PORT}"),
    }
}

impl Target {
    /// What the log calls it.
    pub(super) fn shown(&self) -> String {
        match &self.place {
            Place::Socket(path) => path.display().to_string(),
            Place::Port(host) => host.clone(),
        }
    }

    /// Where to connect to: all addresses of a host, whose name is looked up by a helper.
    pub(super) async fn addresses(&self, spent: &Spent) -> io::Result<Vec<Address>> {
        let host = match &self.place {
            Place::Socket(path) => return Ok(vec![Address::Unix(path.clone())]),
            Place::Port(host) => host.clone(),
        };
        if let Ok(address) = host.parse() {
            return Ok(vec![Address::Tcp(address)]);
        }
        let look_up = move || host.to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        let found = accounting::blocking(spent, Cause::Helper, look_up).await??;
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
        let unix = |path: &str, prefix: &str| {
            Ok(Target { place: Place::Socket(path.into()), prefix: prefix.to_owned() })
        };
        let tcp = |host: &str, prefix: &str| {
            Ok(Target { place: Place::Port(host.to_owned()), prefix: prefix.to_owned() })
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
        ];
        for (url, target) in rows {
            assert_eq!(parse(url), target, "{url}");
        }
        for url in ["http://a", "unix:/x|http://a", "unix:x|fcgi://a", "fcgi://", ""] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
