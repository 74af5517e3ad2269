//! Absolute http and https URLs, and references within a page.
//!
//! The `url` crate is not used: it brings the tables of ICU along, for names that are not ASCII,
//! and it rewrites paths, where a load generator has to send what was asked for.

use crate::text::SyntaxFault;
use message::HostAndPort;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::fmt;

/// Which of the two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// The name in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that need not be written.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::Http, Self::Https].into_iter().find(|one| name.eq_ignore_ascii_case(one.as_str()))
    }
}

/// An absolute URL. Its `Display` leaves the user information out: reports are passed around.
///
/// ```
/// use load::url::Url;
///
/// let url = Url::parse("localhost:8080/a b?x=%20#top").unwrap();
/// assert_eq!((url.host.as_str(), url.port), ("localhost", 8080));
/// assert_eq!(url.target, "/a%20b?x=%20");
/// assert_eq!(url.to_string(), "http://localhost:8080/a%20b?x=%20");
/// assert_eq!(url.join("../c").unwrap().target, "/c");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Url {
    /// The protocol.
    pub scheme: Scheme,
    /// The name in lower case, or an address; IPv6 without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Path and query as they go on the wire: begins with `/`, has no fragment, no blank and
    /// nothing but ASCII. Escapes and dots are as they were written.
    pub target: String,
    /// What stands before an `@`, as written.
    pub userinfo: Option<String>,
}

/// Bytes of a URL at most; servers take half of this.
const URL_BYTES_MAX: usize = 16 * 1024;

impl Url {
    /// Reads a URL as ab, siege and curl do: a missing scheme is http, a missing path is `/`.
    pub fn parse(text: &str) -> Result<Self, SyntaxFault> {
        let place = |part: &str| part.as_ptr().addr() - text.as_ptr().addr();
        let trimmed = text.trim_matches([' ', '\t']);
        if trimmed.is_empty() {
            return Err(SyntaxFault::new(text, 0, "expected a URL"));
        }
        if trimmed.len() > URL_BYTES_MAX {
            return Err(SyntaxFault::new(text, 0, format!("longer than {URL_BYTES_MAX} bytes")));
        }
        if let Some(at) = trimmed.find(|c: char| c.is_ascii_control()) {
            return Err(SyntaxFault::new(
                text,
                place(&trimmed[at..]),
                "a control character in a URL",
            ));
        }
        let (scheme, rest) = match split_scheme(trimmed) {
            Some((name, rest)) => {
                let what = "only http and https are supported";
                let only = || SyntaxFault::new(text, place(name), what);
                (Scheme::of(name).ok_or_else(only)?, rest)
            }
            None => (Scheme::Http, trimmed.strip_prefix("//").unwrap_or(trimmed)),
        };
        let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (userinfo, host_port) = match authority.rsplit_once('@') {
            Some((userinfo, host_port)) => (Some(userinfo.to_owned()), host_port),
            None => (None, authority),
        };
        let (host, port) =
            split_host(host_port).map_err(|why| SyntaxFault::new(text, place(host_port), why))?;
        let port = port.unwrap_or(scheme.default_port());
        Ok(Self { scheme, host, port, target: target_of(rest), userinfo })
    }

    /// What a reference in a page at this URL means (RFC 3986 section 5.2). `None` if that is not
    /// http or https, or no URL at all.
    pub fn join(&self, reference: &str) -> Option<Self> {
        // Pages break long references over lines; browsers take line ends and tabs out.
        let clean: String =
            reference.trim().chars().filter(|c| !matches!(c, '\t' | '\r' | '\n')).collect();
        if clean.len() > URL_BYTES_MAX || clean.contains(|c: char| c.is_ascii_control()) {
            return None;
        }
        let reference = clean.split('#').next().unwrap_or_default();
        let (scheme, rest) = match split_scheme_alone(reference) {
            Some((name, rest)) => (Scheme::of(name)?, rest),
            None => (self.scheme, reference),
        };
        if let Some(rest) = rest.strip_prefix("//") {
            let mut url = Self::parse(&format!("{}://{rest}", scheme.as_str())).ok()?;
            url.target = with_dots_removed(&url.target);
            return Some(url);
        }
        if scheme != self.scheme {
            return None;
        }
        // `http:g` is read as `g`, as section 5.4.2 allows and browsers do.
        let target = self.target_of_reference(rest);
        (target.len() <= URL_BYTES_MAX * 3).then(|| Self { target, ..self.clone() })
    }

    /// Whether both lead to the same server: scheme, host and port.
    pub fn is_same_server(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// The value of Host: the name, and the port if it is not the usual one.
    pub fn authority(&self) -> String {
        let host = self.host_in_url();
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }

    /// The path, and the query if there is one.
    pub fn path_and_query(&self) -> (&str, Option<&str>) {
        match self.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&self.target, None),
        }
    }

    /// The user information with its escapes decoded, `user:password`, as Basic encodes it.
    pub fn credentials(&self) -> Option<Vec<u8>> {
        Some(percent_decode_str(self.userinfo.as_ref()?).collect())
    }

    fn host_in_url(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }

    /// RFC 3986 section 5.2.2, for a reference of path and query only.
    fn target_of_reference(&self, reference: &str) -> String {
        let (base_path, base_query) = self.path_and_query();
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (reference, None),
        };
        let query_text = |query: Option<&str>| query.map_or(String::new(), |q| format!("?{q}"));
        if path.is_empty() {
            return encoded(&format!("{base_path}{}", query_text(query.or(base_query))));
        }
        let merged = if path.starts_with('/') {
            path.to_owned()
        } else {
            let folder = base_path.rfind('/').map_or("/", |slash| &base_path[..=slash]);
            format!("{folder}{path}")
        };
        encoded(&format!("{}{}", without_dots(&merged), query_text(query)))
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority(), self.target)
    }
}

/// A scheme that `://` follows, and what comes after that.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once("://")?;
    (!name.contains(['/', '?', '#', '@'])).then_some((name, rest))
}

/// A scheme that a colon follows (RFC 3986 section 3.1).
fn split_scheme_alone(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let is_scheme = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some((name, rest))
}

/// Host and port. RFC 3986 section 3.2.3 allows a colon without a port.
fn split_host(text: &str) -> Result<(String, Option<u16>), String> {
    if !text.is_ascii() {
        return Err("a host name that is not ASCII: write its xn-- form".to_owned());
    }
    let text = text.strip_suffix(':').unwrap_or(text);
    let host = HostAndPort::parse(text.as_bytes()).map_err(|bad| bad.why().to_owned())?;
    let name = String::from_utf8_lossy(host.name).to_ascii_lowercase();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    Ok((bare.unwrap_or(&name).to_owned(), host.port))
}

/// The target of what follows the authority.
fn target_of(rest: &str) -> String {
    let rest = rest.split('#').next().unwrap_or_default();
    let slash = if rest.starts_with('/') { "" } else { "/" };
    encoded(&format!("{slash}{rest}"))
}

/// Blanks, controls and what is not ASCII as escapes; all else as it is.
pub(crate) fn encoded(text: &str) -> String {
    const ESCAPED: &AsciiSet = &CONTROLS.add(b' ');
    utf8_percent_encode(text, ESCAPED).to_string()
}

fn with_dots_removed(target: &str) -> String {
    match target.split_once('?') {
        Some((path, query)) => format!("{}?{query}", without_dots(path)),
        None => without_dots(target),
    }
}

/// RFC 3986 section 5.2.4, for a path that begins with a slash.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_dots = matches!(segment, "." | "..");
        if segment == ".." {
            kept.pop();
        }
        if !is_dots {
            kept.push(segment);
        } else if segments.peek().is_none() {
            // A path that ends with dots names a folder.
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
