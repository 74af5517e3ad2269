//! What a rule has made of a URL: whose scheme it has, its query, its escapes, and the parts of it
//! that are this server's own name or a folder (mod_rewrite.c, "URI and path functions").

use crate::flags::RuleFlags;

/// A scheme that makes a URL one of another server, with whether such a URL has a query.
const SCHEMES: &[(&str, bool)] = &[
    ("ajp://", true),
    ("balancer://", true),
    ("fcgi://", true),
    ("ftp://", false),
    ("gopher://", false),
    ("h2://", true),
    ("h2c://", true),
    ("http://", true),
    ("https://", true),
    ("ldap://", false),
    ("mailto:", true),
    ("news:", false),
    ("nntp://", false),
    ("scgi://", true),
    ("unix:", true),
    ("ws://", true),
    ("wss://", true),
];

/// The scheme that a URL begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    /// Its bytes, with those behind it that are no host yet.
    pub(crate) length: usize,
    has_query: bool,
}

impl Scheme {
    /// Of a URL of another server; `None` for a path (is_absolute_uri).
    pub(crate) fn of(url: &[u8]) -> Option<Self> {
        if url.first() == Some(&b'/') || url.len() <= 5 {
            return None;
        }
        let starts = |name: &str| {
            url.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        };
        let (name, has_query) = SCHEMES.iter().find(|row| starts(row.0))?;
        let slashes = if *name == "unix:" && url[5..].starts_with(b"//") { 2 } else { 0 };
        Some(Self { length: name.len() + slashes, has_query: *has_query })
    }
}

/// What becomes of the query of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NewQuery {
    /// It stays.
    Kept,
    /// It is this one.
    Is(Option<Vec<u8>>),
    /// This one, and what there was behind it.
    Before(Vec<u8>),
    /// What there was, without an `&` at its end.
    Trimmed,
}

/// Take the query off a URL that a rule has made (splitout_queryargs).
pub(crate) fn split_query(url: &mut Vec<u8>, flags: RuleFlags) -> NewQuery {
    if flags.has(RuleFlags::QUERY_NONE) {
        return NewQuery::Is(None);
    }
    let scheme = Scheme::of(url);
    if scheme.is_some_and(|scheme| !scheme.has_query) {
        return NewQuery::Is(None);
    }
    let skip = scheme.map_or(0, |scheme| scheme.length);
    let is_mark = |byte: &u8| *byte == b'?';
    let mark = match flags.has(RuleFlags::QUERY_LAST) {
        true => url[skip..].iter().rposition(is_mark),
        false => url[skip..].iter().position(is_mark),
    };
    let discards = flags.has(RuleFlags::QUERY_DISCARD);
    let Some(mark) = mark.map(|at| at + skip) else {
        return if discards { NewQuery::Is(None) } else { NewQuery::Kept };
    };
    let mut query = url.split_off(mark);
    query.remove(0);
    match (flags.has(RuleFlags::QUERY_APPEND), query.is_empty(), discards) {
        (true, true, false) => NewQuery::Trimmed,
        (true, false, false) => NewQuery::Before(query),
        // It is put before nothing.
        (true, false, true) => NewQuery::Is(trimmed([&query, &b"&"[..]].concat())),
        (true, true, true) | (false, ..) => NewQuery::Is(trimmed(query)),
    }
}

/// Without an `&` at the end; an empty query is none.
pub(crate) fn trimmed(mut query: Vec<u8>) -> Option<Vec<u8>> {
    if query.is_empty() {
        return None;
    }
    if query.last() == Some(&b'&') {
        query.pop();
    }
    Some(query)
}

/// A URL of another server with its path escaped (escape_absolute_uri).
pub(crate) fn escaped(url: &[u8], scheme: Scheme) -> Vec<u8> {
    let mut start = scheme.length;
    if url[start - 1] == b'/' {
        let host = url[start..].iter().position(|byte| *byte == b'/');
        let Some(slash) = host.map(|at| start + at).filter(|at| at + 1 < url.len()) else {
            return url.to_vec();
        };
        start = slash + 1;
    }
    let mut out = url[..start].to_vec();
    if url.get(..4).is_some_and(|name| name.eq_ignore_ascii_case(b"ldap")) {
        // The parts of such a URL are separated by question marks (RFC 4516 section 2).
        for (nth, part) in url[start..].splitn(5, |byte| *byte == b'?').enumerate() {
            if nth > 0 {
                out.push(b'?');
            }
            message::path::encode(part, &mut out);
        }
        return out;
    }
    message::path::encode(&url[start..], &mut out);
    out
}

/// Host, port and the rest of a URL of this scheme (reduce_uri).
pub(crate) fn parts<'u>(url: &'u [u8], scheme: &str) -> Option<(&'u [u8], Option<u16>, &'u [u8])> {
    let rest = url.get(scheme.len()..).filter(|rest| rest.len() > 3)?;
    if !url[..scheme.len()].eq_ignore_ascii_case(scheme.as_bytes()) {
        return None;
    }
    let rest = rest.strip_prefix(b"://")?;
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b':')).unwrap_or(rest.len());
    let (host, rest) = rest.split_at(end);
    let Some(port) = rest.strip_prefix(b":") else {
        return Some((host, None, if rest.is_empty() { b"/" } else { rest }));
    };
    let end = port.iter().position(|byte| *byte == b'/').unwrap_or(port.len());
    let number = u16::try_from(crate::words::atoi(&port[..end])).unwrap_or(0);
    let path = &port[end..];
    Some((host, Some(number), if path.is_empty() { b"/" } else { path }))
}

/// `path` with the folder `from` that it begins with replaced by `to`; `None` if it does not
/// (subst_prefix_path).
pub(crate) fn with_prefix(path: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let from = from.strip_suffix(b"/").unwrap_or(from);
    let rest = path.strip_prefix(from)?.strip_prefix(b"/")?;
    let slash: &[u8] = if to.is_empty() || to.ends_with(b"/") { b"" } else { b"/" };
    Some([to, slash, rest].concat())
}

/// Whether a query has a byte that no request line may have (ap_scan_vchar_obstext).
pub(crate) fn has_controls(query: &[u8]) -> bool {
    query.iter().any(|byte| *byte <= b' ' || *byte == 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_another_server_has_a_known_scheme() {
        let length = |url: &str| Scheme::of(url.as_bytes()).map(|scheme| scheme.length);
        let table = [
            ("http://a", Some(7)),
            ("HTTPS://a", Some(8)),
            ("mailto:a", Some(7)),
            ("unix:/run/a", Some(5)),
            ("unix:///run", Some(7)),
            ("h2://", None),
            ("/http://a", None),
            ("http:/a", None),
            ("javascript:x", None),
        ];
        for (url, expected) in table {
            assert_eq!(length(url), expected, "{url}");
        }
    }

    #[test]
    fn queries_are_taken_off_replaced_and_put_together() {
        let is = |query: &str| NewQuery::Is(Some(query.into()));
        let none = RuleFlags::default();
        let both = RuleFlags::QUERY_DISCARD.with(RuleFlags::QUERY_APPEND);
        let table = [
            ("/a", none, "/a", NewQuery::Kept),
            ("/a?b", none, "/a", is("b")),
            ("/a?", none, "/a", NewQuery::Is(None)),
            ("/a?b&", none, "/a", is("b")),
            ("/a?b?c", none, "/a", is("b?c")),
            ("/a?b?c", RuleFlags::QUERY_LAST, "/a?b", is("c")),
            ("/a?b", RuleFlags::QUERY_APPEND, "/a", NewQuery::Before("b".into())),
            ("/a?", RuleFlags::QUERY_APPEND, "/a", NewQuery::Trimmed),
            ("/a", RuleFlags::QUERY_DISCARD, "/a", NewQuery::Is(None)),
            ("/a?b", both, "/a", is("b")),
            ("/a?&", both, "/a", is("&")),
            ("/a?", both, "/a", NewQuery::Is(None)),
            ("/a?b", RuleFlags::QUERY_NONE, "/a?b", NewQuery::Is(None)),
            ("ftp://a/b?c", none, "ftp://a/b?c", NewQuery::Is(None)),
            ("http://a/b?c", none, "http://a/b", is("c")),
        ];
        for (url, flags, path, query) in table {
            let mut left = url.as_bytes().to_vec();
            assert_eq!(split_query(&mut left, flags), query, "{url} {flags:?}");
            assert_eq!(left, path.as_bytes(), "{url} {flags:?}");
        }
    }

    #[test]
    fn paths_of_urls_are_escaped_and_hosts_are_not() {
        let table = [
            ("http://a b/c d", "http://a b/c%20d"),
            ("http://a b", "http://a b"),
            ("http://a/", "http://a/"),
            ("mailto:a b", "mailto:a%20b"),
            ("ldap://a/b c?d?e f", "ldap://a/b%20c?d?e%20f"),
        ];
        for (url, expected) in table {
            let scheme = Scheme::of(url.as_bytes()).unwrap();
            assert_eq!(escaped(url.as_bytes(), scheme), expected.as_bytes(), "{url}");
        }
    }

    #[test]
    fn the_own_host_is_known_by_name_and_port() {
        type Parts<'p> = Option<(&'p [u8], Option<u16>, &'p [u8])>;
        let table: [(&str, Parts<'_>); 6] = [
            ("http://a/b", Some((b"a", None, b"/b"))),
            ("HTTP://a:81/b", Some((b"a", Some(81), b"/b"))),
            ("http://a", Some((b"a", None, b"/"))),
            ("http://a:x", Some((b"a", Some(0), b"/"))),
            ("http://", None),
            ("https://a/", None),
        ];
        for (url, expected) in table {
            assert_eq!(parts(url.as_bytes(), "http"), expected, "{url}");
        }
    }

    #[test]
    fn a_folder_at_the_beginning_is_replaced_at_its_border_only() {
        let of = |path: &str, from: &str, to: &str| {
            with_prefix(path.as_bytes(), from.as_bytes(), to.as_bytes())
                .map(|path| String::from_utf8(path).unwrap())
        };
        assert_eq!(of("/www/a/b", "/www/a/", "/x"), Some("/x/b".into()));
        assert_eq!(of("/www/a/b", "/www/a", "/"), Some("/b".into()));
        assert_eq!(of("/www/a/b", "/www/a", ""), Some("b".into()));
        assert_eq!(of("/www/ab", "/www/a", "/x"), None);
        assert_eq!(of("/www/a", "/www/a", "/x"), None);
    }
}
