//! Host names as RFC 9110 section 7.2 and httpd's strict check allow them: the value of a Host
//! field, or the authority of an absolute-form target.
//!
//! What a name *means* (which virtual host it selects) is decided by the server.

/// A checked host and its port, both as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAndPort<'a> {
    /// The name, the IPv4 address, or the IPv6 address with its brackets; case as sent. The dot of
    /// the root of all names, which may stand at the end, is no part of it (RFC 3986 section 3.2.2;
    /// fix_hostname of vhost.c).
    pub name: &'a [u8],
    /// The port, if one was written.
    pub port: Option<u16>,
}

/// The value is no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHost {
    /// Nothing, or only a dot.
    Empty,
    /// A byte that no host name has, user information among them.
    Name,
    /// A number that old resolvers would read as an address: `0x7f.1`, `017700000001`.
    Number,
    /// A bracket that is not closed, or no IPv6 address inside.
    Literal,
    /// A port that is empty, not decimal, zero or above 65535.
    Port,
}

impl BadHost {
    /// One clause for the log.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Empty => "host is empty",
            Self::Name => "host name has a byte that is not allowed",
            Self::Number => "host is a number that is not a dotted-decimal address",
            Self::Literal => "host has a malformed IPv6 literal",
            Self::Port => "host has a malformed port",
        }
    }
}

impl<'a> HostAndPort<'a> {
    /// Parses `name`, `name:port`, `[ipv6]` or `[ipv6]:port`.
    #[inline]
    pub fn parse(value: &'a [u8]) -> Result<Self, BadHost> {
        let (name, port) = match value {
            [] => return Err(BadHost::Empty),
            [b'[', ..] => split_literal(value)?,
            _ => split_name(value)?,
        };
        let port = match port {
            Some(digits) => Some(parse_port(digits)?),
            None => None,
        };
        Ok(HostAndPort { name, port })
    }
}

/// A host and the digits after its colon.
type Split<'a> = (&'a [u8], Option<&'a [u8]>);

fn split_name(value: &[u8]) -> Result<Split<'_>, BadHost> {
    match value.iter().position(|&byte| byte == b':') {
        Some(colon) => Ok((check_name(&value[..colon])?, Some(&value[colon + 1..]))),
        None => Ok((check_name(value)?, None)),
    }
}

fn split_literal(value: &[u8]) -> Result<Split<'_>, BadHost> {
    let close = value.iter().position(|&byte| byte == b']').ok_or(BadHost::Literal)?;
    if !is_ipv6(&value[1..close]) {
        return Err(BadHost::Literal);
    }
    match &value[close + 1..] {
        [] => Ok((value, None)),
        [b':', digits @ ..] => Ok((&value[..=close], Some(digits))),
        _ => Err(BadHost::Literal),
    }
}

/// The rules of httpd's `strict_hostname_check`: letters, digits, `-`, `_` and `.`; no empty label
/// inside, nor, unlike there, at the beginning; a name of digits and dots only must be four decimal
/// numbers without leading zeros; and a last label never starts with a digit, or it would be read
/// as an address.
fn check_name(name: &[u8]) -> Result<&[u8], BadHost> {
    if name == b"." {
        return Err(BadHost::Empty);
    }
    let mut numeric = true;
    let mut previous = b'.';
    // Where the last label starts; a dot at the very end starts none.
    let (mut label, mut next_label) = (0, 0);
    for (at, &byte) in name.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' => numeric = false,
            b'0'..=b'9' => {}
            b'.' if previous != b'.' => {
                next_label = at + 1;
                previous = byte;
                continue;
            }
            _ => return Err(BadHost::Name),
        }
        label = next_label;
        previous = byte;
    }
    // A single label may start with a digit: `1-2` names a machine in the local domain.
    let address_like = match name {
        [] => return Err(BadHost::Empty),
        _ if numeric => !is_dotted_decimal(name),
        _ => label > 0 && name[label].is_ascii_digit(),
    };
    if address_like { Err(BadHost::Number) } else { Ok(name.strip_suffix(b".").unwrap_or(name)) }
}

/// Four decimal numbers without leading zeros, one dot after the last allowed. How large each is
/// does not matter: a resolver would not read 256.1.1.1 as another address.
fn is_dotted_decimal(name: &[u8]) -> bool {
    // One dot at the end marks the root of the DNS and changes nothing.
    let rooted = name.strip_suffix(b".").unwrap_or(name);
    let labels = rooted.split(|&byte| byte == b'.');
    let padded = labels.clone().any(|label| matches!(label, [] | [b'0', _, ..]));
    !padded && labels.count() == 4
}

/// RFC 3986 IPv6address. Zone identifiers and future versions are refused, as httpd does.
fn is_ipv6(text: &[u8]) -> bool {
    let Ok(text) = core::str::from_utf8(text) else { return false };
    text.parse::<core::net::Ipv6Addr>().is_ok()
}

/// Decimal and within 1 to 65535; leading zeros are allowed (`port = *DIGIT`), signs are not.
fn parse_port(digits: &[u8]) -> Result<u16, BadHost> {
    let mut port = 0u16;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return Err(BadHost::Port);
        }
        let next = port.checked_mul(10).and_then(|p| p.checked_add(u16::from(digit - b'0')));
        port = next.ok_or(BadHost::Port)?;
    }
    if port == 0 { Err(BadHost::Port) } else { Ok(port) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of section "Target/Host", then values whose result was read off httpd 2.4.71.
    #[test]
    fn good_hosts() {
        let rows: &[(&str, &str, Option<u16>)] = &[
            ("a", "a", None),
            ("a:80", "a", Some(80)),
            ("foo_bar.example.com", "foo_bar.example.com", None),
            ("[::1]", "[::1]", None),
            ("[4711::abcd]:8000", "[4711::abcd]", Some(8000)),
            ("1.2.3.4", "1.2.3.4", None),
            ("1.2.3.4.", "1.2.3.4", None),
            ("256.1.1.1", "256.1.1.1", None),
            ("0.0.0.0", "0.0.0.0", None),
            ("a.", "a", None),
            ("a.b.", "a.b", None),
            ("a.b.:80", "a.b", Some(80)),
            ("a.b1", "a.b1", None),
            ("a-.b", "a-.b", None),
            ("-a", "-a", None),
            ("_", "_", None),
            ("1-2", "1-2", None),
            ("a:00080", "a", Some(80)),
            ("a:65535", "a", Some(65535)),
        ];
        for (value, name, port) in rows {
            let host =
                HostAndPort::parse(value.as_bytes()).unwrap_or_else(|e| panic!("{value}: {e:?}"));
            assert_eq!((host.name, host.port), (name.as_bytes(), *port), "{value}");
        }
    }

    #[test]
    fn bad_hosts() {
        let rows: &[(&[u8], BadHost)] = &[
            (b"", BadHost::Empty),
            (b".", BadHost::Empty),
            (b":80", BadHost::Empty),
            (b"a b", BadHost::Name),
            (b"a\tb", BadHost::Name),
            (b"a@b", BadHost::Name),
            (b"a/b", BadHost::Name),
            (b"../x", BadHost::Name),
            (b"a..b", BadHost::Name),
            (b".a", BadHost::Name),
            (b".1.2.3.4", BadHost::Name),
            (b"a..", BadHost::Name),
            (b"a*b", BadHost::Name),
            (b"a%41", BadHost::Name),
            (b"a,b", BadHost::Name),
            (b"\xe9", BadHost::Name),
            (b"localhost:80 x", BadHost::Port),
            (b"[::1]/../", BadHost::Literal),
            (b"[::1]x", BadHost::Literal),
            (b"[::1", BadHost::Literal),
            (b"[::1%eth0]", BadHost::Literal),
            (b"[foo]", BadHost::Literal),
            (b"[]", BadHost::Literal),
            (b"[v1.a]", BadHost::Literal),
            (b"[::1]:", BadHost::Port),
            (b"4714::abcd:8001", BadHost::Number),
            (b"a:99999", BadHost::Port),
            (b"a:65536", BadHost::Port),
            (b"a:asd", BadHost::Port),
            (b"a:-1", BadHost::Port),
            (b"a:", BadHost::Port),
            (b"a:0", BadHost::Port),
            (b"0x7f.1", BadHost::Number),
            (b"017700000001", BadHost::Number),
            (b"127.01.0.1", BadHost::Number),
            (b"00.0.0.0", BadHost::Number),
            (b"%3127.0.0.1", BadHost::Name),
            (b"12345", BadHost::Number),
            (b"1.2.3", BadHost::Number),
            (b"1.2.3.4.5", BadHost::Number),
            (b"a.1", BadHost::Number),
            (b"a.1b", BadHost::Number),
        ];
        for (value, expect) in rows {
            let got = HostAndPort::parse(value);
            assert_eq!(got, Err(*expect), "{}", value.escape_ascii());
        }
    }
}
