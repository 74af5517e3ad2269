//! The four forms of a request target (RFC 9112 section 3.2).

use crate::host::{BadHost, HostAndPort};
use crate::method::Method;
use crate::scan;

/// A request target, split but not decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// `/path?query`: what nearly every request has.
    Origin {
        /// From the first slash up to the question mark.
        path: &'a [u8],
        /// After the question mark, if there is one.
        query: Option<&'a [u8]>,
    },
    /// `http://host/path?query`: its host wins over the Host field (section 3.2.2).
    Absolute {
        /// Always `http` in some case: nothing else is served on a plain port.
        scheme: &'a [u8],
        /// The authority, checked.
        host: HostAndPort<'a>,
        /// As in origin-form; `/` if the URL ends after the authority.
        path: &'a [u8],
        /// As in origin-form.
        query: Option<&'a [u8]>,
    },
    /// `*`: the server as a whole, only with OPTIONS.
    Asterisk,
    /// `host:port`, only with CONNECT.
    Authority(HostAndPort<'a>),
}

/// The target has no form that its method allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTarget {
    /// Neither a path nor a URL, or `*` with a method other than OPTIONS.
    Form,
    /// A fragment, which clients keep to themselves (RFC 9110 section 7.1).
    Fragment,
    /// A URL of another scheme; this is no forward proxy.
    Scheme,
    /// A URL without a well-formed authority.
    Host(BadHost),
    /// CONNECT without a port.
    NoPort,
}

impl BadTarget {
    /// One clause for the log.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Form => "request target is neither a path nor a URL",
            Self::Fragment => "request target has a fragment",
            Self::Scheme => "request target has a scheme other than http",
            Self::Host(bad) => bad.why(),
            Self::NoPort => "CONNECT target has no port",
        }
    }
}

impl<'a> Target<'a> {
    /// Splits a target. `method` is `None` for a token that is no registered method.
    pub fn parse(method: Option<Method>, raw: &'a [u8]) -> Result<Self, BadTarget> {
        if method == Some(Method::Connect) {
            return connect_target(raw);
        }
        match raw {
            [b'/', ..] => {
                let (path, query) = split_query(raw)?;
                Ok(Self::Origin { path, query })
            }
            b"*" if method == Some(Method::Options) => Ok(Self::Asterisk),
            _ => absolute(raw),
        }
    }

    /// The path, or nothing for the two forms without one.
    pub const fn path(&self) -> Option<&'a [u8]> {
        match self {
            Self::Origin { path, .. } | Self::Absolute { path, .. } => Some(path),
            Self::Asterisk | Self::Authority(_) => None,
        }
    }

    /// The query without its question mark, if there is one.
    pub const fn query(&self) -> Option<&'a [u8]> {
        match self {
            Self::Origin { query, .. } | Self::Absolute { query, .. } => *query,
            Self::Asterisk | Self::Authority(_) => None,
        }
    }
}

/// A fragment may follow the path or the query; in both places it is refused.
fn split_query(raw: &[u8]) -> Result<(&[u8], Option<&[u8]>), BadTarget> {
    match scan::find_either(raw, b'?', b'#') {
        None => Ok((raw, None)),
        Some(at) if raw[at] == b'#' => Err(BadTarget::Fragment),
        Some(at) if scan::find(&raw[at..], b'#').is_some() => Err(BadTarget::Fragment),
        Some(at) => Ok((&raw[..at], Some(&raw[at + 1..]))),
    }
}

fn absolute(raw: &[u8]) -> Result<Target<'_>, BadTarget> {
    let colon = scan::find(raw, b':').ok_or(BadTarget::Form)?;
    let Some(rest) = raw[colon..].strip_prefix(b"://") else { return Err(BadTarget::Form) };
    let scheme = &raw[..colon];
    if !scheme.eq_ignore_ascii_case(b"http") {
        return Err(BadTarget::Scheme);
    }
    let (before_query, query) = split_query(rest)?;
    let slash = scan::find(before_query, b'/').unwrap_or(before_query.len());
    let (authority, path) = before_query.split_at(slash);
    let host = HostAndPort::parse(authority).map_err(BadTarget::Host)?;
    // RFC 9110 section 4.2.3: an empty path means the root. The slash is one of those before the
    // authority, so that every piece of a target is a piece of its bytes.
    let path = if path.is_empty() { &raw[colon + 1..colon + 2] } else { path };
    Ok(Target::Absolute { scheme, host, path, query })
}

fn connect_target(raw: &[u8]) -> Result<Target<'_>, BadTarget> {
    let host = HostAndPort::parse(raw).map_err(BadTarget::Host)?;
    if host.port.is_none() { Err(BadTarget::NoPort) } else { Ok(Target::Authority(host)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(raw: &str) -> Result<Target<'_>, BadTarget> {
        Target::parse(Some(Method::Get), raw.as_bytes())
    }

    #[test]
    fn origin_form() {
        let rows: &[(&str, &str, Option<&str>)] = &[
            ("/", "/", None),
            ("/a?", "/a", Some("")),
            ("/a?b?c", "/a", Some("b?c")),
            ("//a/b", "//a/b", None),
        ];
        for (raw, path, query) in rows {
            let target = get(raw).unwrap();
            assert_eq!(target.path(), Some(path.as_bytes()), "{raw}");
            assert_eq!(target.query(), query.map(str::as_bytes), "{raw}");
        }
    }

    /// Raw target, host name, port, path, query.
    type Row = (&'static str, &'static str, Option<u16>, &'static str, Option<&'static str>);

    #[test]
    fn absolute_form() {
        let rows: &[Row] = &[
            ("http://foo/", "foo", None, "/", None),
            ("HTTP://foo:81", "foo", Some(81), "/", None),
            ("http://foo?q/r", "foo", None, "/", Some("q/r")),
            ("http://[::1]:8/a/b?c", "[::1]", Some(8), "/a/b", Some("c")),
        ];
        for (raw, name, port, path, query) in rows {
            let Target::Absolute { host, path: got, query: q, .. } = get(raw).unwrap() else {
                panic!("{raw}")
            };
            assert_eq!((host.name, host.port), (name.as_bytes(), *port), "{raw}");
            assert_eq!((got, q), (path.as_bytes(), query.map(str::as_bytes)), "{raw}");
        }
    }

    #[test]
    fn refused_targets() {
        use BadTarget::*;
        let rows: &[(&str, &str, BadTarget)] = &[
            ("L20", "/#f", Fragment),
            ("L20", "/?a#f", Fragment),
            ("L20", "http://a/#f", Fragment),
            ("L20", "http://a#f", Fragment),
            ("L21", "foo", Form),
            ("L21", "*", Form),
            ("own", "", Form),
            ("own", "http:/a", Form),
            ("own", "http:", Form),
            ("own", "?a", Form),
            ("own", "\\/a", Form),
            ("T10", "http://foo@localhost/", Host(BadHost::Name)),
            ("T10", "http://localhost:80x/", Host(BadHost::Port)),
            ("T10", "http://localhost:80:80/", Host(BadHost::Port)),
            ("T10", "http://localhost::80/", Host(BadHost::Port)),
            ("T11", "http://0x7f.1/", Host(BadHost::Number)),
            ("T11", "http://017700000001/", Host(BadHost::Number)),
            ("T11", "http://127.01.0.1/", Host(BadHost::Number)),
            ("T11", "http://%3127.0.0.1/", Host(BadHost::Name)),
            ("T12", "ftp://a/", Scheme),
            ("T12", "https://a/", Scheme),
            ("own", "http:///a", Host(BadHost::Empty)),
        ];
        for (id, raw, bad) in rows {
            assert_eq!(get(raw), Err(*bad), "{id} {raw}");
        }
    }

    #[test]
    fn forms_that_depend_on_the_method() {
        assert_eq!(Target::parse(Some(Method::Options), b"*"), Ok(Target::Asterisk));
        assert_eq!(Target::parse(None, b"*"), Err(BadTarget::Form));
        let Ok(Target::Authority(host)) = Target::parse(Some(Method::Connect), b"a:443") else {
            panic!("CONNECT a:443")
        };
        assert_eq!((host.name, host.port), (&b"a"[..], Some(443)));
        assert!(Target::parse(Some(Method::Connect), b"/").is_err());
        assert_eq!(Target::parse(Some(Method::Connect), b"a"), Err(BadTarget::NoPort));
        assert!(Target::parse(Some(Method::Get), b"a:443").is_err());
    }
}
