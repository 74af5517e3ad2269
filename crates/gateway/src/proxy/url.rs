//! URLs of backends: as a configuration has them, and as httpd writes them once they are put
//! together (proxy_util.c). Nothing is looked up and nothing connected to here.

use message::path::hex_pair;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What a path keeps as it is, besides letters and digits (enc_path of `ap_proxy_canonenc_ex`).
const ALLOWED: &[u8] = b"~$-_.+!*'(),;:@&=/";

/// The scheme of groups of backends.
pub(super) const BALANCER: &str = "balancer://";

/// The port of FastCGI where a URL names none (pschemes of proxy_util.c).
pub(crate) const FCGI_PORT: u16 = 8000;

/// A URL, and the socket that stands before it: `unix:/run/x.sock|fcgi://localhost`. A host need
/// not be named behind a socket. `None` where no scheme follows (`ap_proxy_de_socketfy`).
pub(crate) fn split_socket(text: &str) -> Option<(Option<PathBuf>, Cow<'_, str>)> {
    let is_unix = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("unix:"));
    let Some((path, url)) = text.get(5..).filter(|_| is_unix).and_then(|it| it.split_once('|'))
    else {
        return Some((None, Cow::Borrowed(text)));
    };
    let (_, rest) = url.split_once(':')?;
    let url = match rest {
        "" => Cow::Owned(format!("{url}//localhost")),
        "//" => Cow::Owned(format!("{url}localhost")),
        _ => Cow::Borrowed(url),
    };
    Some((Some(path.into()), url))
}

/// A backend's URL with the path of the socket before it made absolute: a relative one is below
/// `runtime_dir` (ap_runtime_dir_relative). A URL without a socket stays as it is.
pub(crate) fn with_absolute_socket(text: &str, runtime_dir: &Path) -> String {
    let is_relative = |path: &Path| path.is_relative() && !path.as_os_str().is_empty();
    match split_socket(text) {
        Some((Some(path), url)) if is_relative(&path) => {
            format!("unix:{}|{url}", runtime_dir.join(path).display())
        }
        _ => text.to_owned(),
    }
}

/// The parts of a URL, as apr_uri_parse takes it apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'t> {
    pub(super) scheme: &'t str,
    pub(super) user: Option<&'t str>,
    /// An address of IPv6 has its brackets.
    pub(super) host: &'t str,
    pub(super) port: Option<u16>,
    /// With its first slash, and what follows.
    pub(super) path: &'t str,
}

/// Why there are no parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoUrl {
    /// Not even its form is right.
    Malformed,
    /// It has no scheme or no host.
    Relative,
}

/// Take a URL apart.
pub(super) fn parts(url: &str) -> Result<Parts<'_>, NoUrl> {
    let (scheme, rest) = url.split_once("://").ok_or(NoUrl::Relative)?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
        return Err(NoUrl::Relative);
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, address) = match authority.rsplit_once('@') {
        Some((user, address)) => (Some(user), address),
        None => (None, authority),
    };
    let behind = if address.starts_with('[') { address.rfind(']').unwrap_or(0) } else { 0 };
    let (host, port) = match address[behind..].find(':') {
        Some(colon) => address.split_at(behind + colon),
        None => (address, ""),
    };
    if host.is_empty() {
        return Err(NoUrl::Relative);
    }
    let port = match port.trim_start_matches(':') {
        "" => None,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // As apr_uri_parse, which keeps the lower 16 bits of what is too large.
            let number: u64 = digits.parse().map_err(|_| NoUrl::Malformed)?;
            u16::try_from(number & 0xffff).ok()
        }
        _ => return Err(NoUrl::Malformed),
    };
    Ok(Parts { scheme, user, host, port, path })
}

/// The usual ports (pschemes of proxy_util.c, and a few that apr_uri.c knows).
pub(super) fn usual_port(scheme: &str) -> Option<u16> {
    const PORTS: [(&str, u16); 10] = [
        ("fcgi", FCGI_PORT),
        ("ajp", 8009),
        ("scgi", 4000),
        ("h2c", 80),
        ("h2", 443),
        ("ws", 80),
        ("wss", 443),
        ("http", 80),
        ("https", 443),
        ("ftp", 21),
    ];
    PORTS.iter().find(|row| row.0.eq_ignore_ascii_case(scheme)).map(|row| row.1)
}

/// A path as a backend is told it: what must be escaped is, and what is escaped is not touched,
/// so that its `%` is. `keeps_slashes` leaves a `%2F` as it is, and then each `%` has to begin an
/// escape (`ap_proxy_canonenc_ex`).
pub(crate) fn encode(path: &[u8], keeps_slashes: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(&byte) = path.get(at) {
        if keeps_slashes && byte == b'%' {
            let escape = path.get(at + 1..at + 3)?;
            if !escape.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            if escape.eq_ignore_ascii_case(b"2f") {
                out.extend_from_slice(&path[at..at + 3]);
                at += 3;
                continue;
            }
        }
        match byte.is_ascii_alphanumeric() || ALLOWED.contains(&byte) {
            true => out.push(byte),
            false => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
        at += 1;
    }
    Some(out)
}

/// Without escapes, but for that of a slash (`ap_unescape_url_keep2f`).
pub(crate) fn unescape(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(&byte) = path.get(at) {
        let escaped = if byte == b'%' { hex_pair(&path[at + 1..]) } else { None };
        match escaped.filter(|byte| !matches!(byte, b'/' | 0)) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_stands_before_a_url() {
        for (text, socket, url) in [
            ("fcgi://h:1/x", None, "fcgi://h:1/x"),
            ("unix:/s|fcgi://h/x", Some("/s"), "fcgi://h/x"),
            ("UNIX:/s|fcgi:", Some("/s"), "fcgi://localhost"),
            ("unix:/s|fcgi://", Some("/s"), "fcgi://localhost"),
            ("unix:/s", None, "unix:/s"),
            ("!", None, "!"),
        ] {
            let (found, rest) = split_socket(text).unwrap();
            assert_eq!((found, &*rest), (socket.map(PathBuf::from), url), "{text}");
        }
        assert_eq!(split_socket("unix:/s|fcgi"), None);
        let absolute = |text| with_absolute_socket(text, Path::new("/run"));
        assert_eq!(absolute("unix:x/s|fcgi://h"), "unix:/run/x/s|fcgi://h");
        assert_eq!(absolute("unix:/s|fcgi://h"), "unix:/s|fcgi://h");
        assert_eq!(absolute("fcgi://h"), "fcgi://h");
    }

    #[test]
    fn a_url_has_a_scheme_and_a_host() {
        let parts_of = |url| parts(url).map(|it| (it.scheme, it.host, it.port, it.path));
        for (url, expected) in [
            ("fcgi://h", Ok(("fcgi", "h", None, ""))),
            ("fcgi://h:9000/a/b?c", Ok(("fcgi", "h", Some(9000), "/a/b?c"))),
            ("fcgi://[::1]:9/x", Ok(("fcgi", "[::1]", Some(9), "/x"))),
            ("fcgi://u:p@h:/x", Ok(("fcgi", "h", None, "/x"))),
            ("fcgi://h$1/x", Ok(("fcgi", "h$1", None, "/x"))),
            ("fcgi://h:x", Err(NoUrl::Malformed)),
            ("fcgi://h:65537", Ok(("fcgi", "h", Some(1), ""))),
            ("fcgi://", Err(NoUrl::Relative)),
            ("fcgi:///x", Err(NoUrl::Relative)),
            ("h", Err(NoUrl::Relative)),
            ("/x", Err(NoUrl::Relative)),
            ("://h", Err(NoUrl::Relative)),
        ] {
            assert_eq!(parts_of(url), expected, "{url}");
        }
    }

    #[test]
    fn what_a_backend_is_told_is_escaped_once() {
        for (path, keeps, encoded) in [
            ("a b?c", false, "a%20b%3Fc"),
            ("a%20b", false, "a%2520b"),
            ("a%2fb%20", true, "a%2fb%2520"),
            ("~$-_.+!*'(),;:@&=/", false, "~$-_.+!*'(),;:@&=/"),
            ("\u{e4}\n", false, "%C3%A4%0A"),
        ] {
            let expected = Some(encoded.as_bytes().to_vec());
            assert_eq!(encode(path.as_bytes(), keeps), expected, "{path}");
        }
        assert_eq!((encode(b"a%2", true), encode(b"%zz", true)), (None, None));
        for (path, plain) in [("/a%20b", "/a b"), ("/a%2Fb%00%4", "/a%2Fb%00%4"), ("%", "%")] {
            assert_eq!(unescape(path.as_bytes()), plain.as_bytes(), "{path}");
        }
    }
}
