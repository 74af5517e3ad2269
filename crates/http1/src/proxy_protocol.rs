//! The header of the PROXY protocol, versions 1 and 2: what a proxy says about its client before
//! the first byte of HTTP. The rules are those of httpd's mod_remoteip; who may speak it, and what
//! is logged, is for the caller to know.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;

/// The longest line of version 1, its end included.
pub const LINE_BYTES_MAX: usize = 107;

/// The longest header of version 2: as much as mod_remoteip keeps (its `proxy_v2`), which is a pair
/// of Unix addresses behind the fixed part. Longer ones carry certificates and the like.
pub const BINARY_BYTES_MAX: usize = FIXED_BYTES + 216;

/// With so many bytes the version shows; no header is shorter.
pub const SHORTEST_BYTES: usize = 15;

/// What every header of version 2 begins with: signature, version and command, family, length.
const FIXED_BYTES: usize = 16;

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// What the first bytes of a connection are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParsedProxyHeader<'b> {
    /// More has to come, within the bounds above.
    Partial,
    /// A header.
    Complete {
        /// Its bytes; HTTP begins behind them.
        len: usize,
        /// The client; `None` if it is the other end of the connection itself (`UNKNOWN`, `LOCAL`).
        source: Option<SocketAddr>,
    },
    /// No header; nothing that follows can be trusted.
    Invalid(ProxyHeaderFault<'b>),
}

/// What is wrong with a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyHeaderFault<'b> {
    /// There is none.
    Missing,
    /// A line without an end.
    LineTooLong,
    /// The line ends before this.
    NoWord(&'static str, &'b [u8]),
    /// The word stands where a family should, in this line.
    UnknownFamily(&'b [u8], &'b [u8]),
    /// The word has letters that no address of its family has.
    InvalidAddress(&'b [u8], &'b [u8]),
    /// The word is no port.
    InvalidPort(&'b [u8], &'b [u8]),
    /// The word is no address of its family after all; whether that is IPv6, and the port.
    NoAddress(&'b [u8], bool, u16, &'b [u8]),
    /// The length of a binary header is beyond the bound.
    TooLong,
    /// Neither PROXY nor LOCAL; version and command.
    UnsupportedCommand(u8),
    /// Not TCP; family and transport.
    UnsupportedProtocol(u8),
    /// The addresses do not fit into this length; whether they are of IPv6.
    TooShort(usize, bool),
}

/// Look at the first bytes of a connection. A fault that is found stays whatever follows.
pub fn parse(bytes: &[u8]) -> ParsedProxyHeader<'_> {
    if bytes.len() < SHORTEST_BYTES {
        return ParsedProxyHeader::Partial;
    }
    if bytes.starts_with(SIGNATURE) && bytes[SIGNATURE.len()] >> 4 == 2 {
        return binary(bytes);
    }
    if bytes.starts_with(b"PROXY ") {
        return line(bytes);
    }
    ParsedProxyHeader::Invalid(ProxyHeaderFault::Missing)
}

/// Version 1. It ends with the first CR, which must stand before LF: otherwise it has no end.
fn line(bytes: &[u8]) -> ParsedProxyHeader<'_> {
    let window = &bytes[..bytes.len().min(LINE_BYTES_MAX)];
    let end = window.iter().position(|byte| *byte == b'\r');
    match end {
        Some(end) if window.get(end + 1) == Some(&b'\n') => match source_of(&window[..end]) {
            Ok(source) => ParsedProxyHeader::Complete { len: end + 2, source },
            Err(fault) => ParsedProxyHeader::Invalid(fault),
        },
        _ if window.len() == LINE_BYTES_MAX => {
            ParsedProxyHeader::Invalid(ProxyHeaderFault::LineTooLong)
        }
        _ => ParsedProxyHeader::Partial,
    }
}

/// `PROXY TCP4 client destination client-port destination-port`. As in mod_remoteip nobody looks
/// at what stands behind the port of the client.
fn source_of(line: &[u8]) -> Result<Option<SocketAddr>, ProxyHeaderFault<'_>> {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).skip(1);
    let mut word = |name| words.next().ok_or(ProxyHeaderFault::NoWord(name, line));
    let family = word("family")?;
    let is_v6 = match family {
        b"UNKNOWN" => return Ok(None),
        b"TCP4" => false,
        b"TCP6" => true,
        _ => return Err(ProxyHeaderFault::UnknownFamily(family, line)),
    };
    let client = word("client-address")?;
    // An IPv4 address within IPv6 has no dots here.
    let is_letter = |byte: &u8| match is_v6 {
        true => byte.is_ascii_hexdigit() || *byte == b':',
        false => byte.is_ascii_digit() || *byte == b'.',
    };
    if !client.iter().all(is_letter) {
        return Err(ProxyHeaderFault::InvalidAddress(client, line));
    }
    word("destination-address")?;
    let port = word("client-port")?;
    let port = number(port).ok_or(ProxyHeaderFault::InvalidPort(port, line))?;
    let ip = match is_v6 {
        true => text::<Ipv6Addr>(client).map(IpAddr::V6),
        false => text::<Ipv4Addr>(client).map(IpAddr::V4),
    };
    let ip = ip.ok_or(ProxyHeaderFault::NoAddress(client, is_v6, port, line))?;
    Ok(Some(SocketAddr::new(ip, port)))
}

/// Digits only: `parse` would take a sign as well.
fn number(word: &[u8]) -> Option<u16> {
    word.iter().all(u8::is_ascii_digit).then(|| text(word))?
}

fn text<T: FromStr>(word: &[u8]) -> Option<T> {
    core::str::from_utf8(word).ok()?.parse().ok()
}

/// Version 2. What follows the addresses (TLVs) is passed over.
fn binary(bytes: &[u8]) -> ParsedProxyHeader<'_> {
    let Some((fixed, rest)) = bytes.split_at_checked(FIXED_BYTES) else {
        return ParsedProxyHeader::Partial;
    };
    let (command, family) = (fixed[12], fixed[13]);
    let length = usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    if FIXED_BYTES + length > BINARY_BYTES_MAX {
        return ParsedProxyHeader::Invalid(ProxyHeaderFault::TooLong);
    }
    let Some(content) = rest.get(..length) else { return ParsedProxyHeader::Partial };
    let source = match (command & 0xf, family) {
        // Of its own accord, to see whether we live: addresses mean nothing.
        (0, _) => Ok(None),
        (1, 0x11) => v4(content).map(Some).ok_or(ProxyHeaderFault::TooShort(length, false)),
        (1, 0x21) => v6(content).map(Some).ok_or(ProxyHeaderFault::TooShort(length, true)),
        (1, _) => Err(ProxyHeaderFault::UnsupportedProtocol(family)),
        _ => Err(ProxyHeaderFault::UnsupportedCommand(command)),
    };
    match source {
        Ok(source) => ParsedProxyHeader::Complete { len: FIXED_BYTES + length, source },
        Err(fault) => ParsedProxyHeader::Invalid(fault),
    }
}

/// Two addresses, then two ports; the source is the first of each.
fn v4(content: &[u8]) -> Option<SocketAddr> {
    let (pair, _) = content.split_first_chunk::<12>()?;
    let [a, b, c, d, _, _, _, _, high, low, _, _] = *pair;
    let port = u16::from_be_bytes([high, low]);
    Some(SocketAddr::new(Ipv4Addr::new(a, b, c, d).into(), port))
}

fn v6(content: &[u8]) -> Option<SocketAddr> {
    let (pair, _) = content.split_first_chunk::<36>()?;
    let (ip, _) = pair.split_first_chunk::<16>()?;
    Some(SocketAddr::new(Ipv6Addr::from(*ip).into(), u16::from_be_bytes([pair[32], pair[33]])))
}

/// For fuzz targets: `data` byte by byte gives what it gives whole, within the bounds.
pub fn fuzz_proxy_protocol(data: &[u8]) {
    let whole = parse(data);
    for len in 0..=data.len() {
        match parse(&data[..len]) {
            ParsedProxyHeader::Partial => assert!(len < BINARY_BYTES_MAX, "no end in sight"),
            settled => {
                assert_eq!(settled, whole, "after {len} bytes");
                if let ParsedProxyHeader::Complete { len: used, .. } = settled {
                    assert!(used <= len && used <= BINARY_BYTES_MAX.max(LINE_BYTES_MAX));
                    assert_eq!(used, len, "it was complete before");
                }
                return;
            }
        }
    }
    assert_eq!(whole, ParsedProxyHeader::Partial);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn source(bytes: &[u8]) -> Option<SocketAddr> {
        match parse(bytes) {
            ParsedProxyHeader::Complete { len, source } if len == bytes.len() => source,
            other => panic!("{other:?}"),
        }
    }

    fn fault(bytes: &[u8]) -> ProxyHeaderFault<'_> {
        match parse(bytes) {
            ParsedProxyHeader::Invalid(fault) => fault,
            other => panic!("{other:?}"),
        }
    }

    fn binary(command: u8, family: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family], &length, content].concat()
    }

    #[test]
    fn lines_announce_the_client() {
        let rows = [
            ("PROXY TCP4 10.9.9.9 10.0.0.1 5555 80\r\n", Some("10.9.9.9:5555")),
            ("PROXY TCP4  10.9.9.9   10.0.0.1 5555\r\n", Some("10.9.9.9:5555")),
            ("PROXY TCP6 2001:DB8::9 ::1 65535 80\r\n", Some("[2001:db8::9]:65535")),
            ("PROXY TCP6 ::ffff:a09:909 ::1 0 80\r\n", Some("[::ffff:10.9.9.9]:0")),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff:f...f:ffff and more\r\n", None),
        ];
        for (line, wanted) in rows {
            assert_eq!(source(line.as_bytes()), wanted.map(|text| text.parse().unwrap()), "{line}");
        }
    }

    #[test]
    fn lines_are_refused_for_what_is_wrong_first() {
        let line = |text: &'static str| [text.as_bytes(), b"\r\n"].concat();
        type Row = (&'static str, fn(&'static [u8]) -> ProxyHeaderFault<'static>);
        let rows: [Row; 11] = [
            ("PROXY          ", |line| ProxyHeaderFault::NoWord("family", line)),
            ("PROXY TCP5 10.9.9.9", |line| ProxyHeaderFault::UnknownFamily(b"TCP5", line)),
            ("PROXY TCP4     ", |line| ProxyHeaderFault::NoWord("client-address", line)),
            ("PROXY TCP4 10.9.9.x", |line| ProxyHeaderFault::InvalidAddress(b"10.9.9.x", line)),
            ("PROXY TCP6 ::10.9.9.9", |line| ProxyHeaderFault::InvalidAddress(b"::10.9.9.9", line)),
            ("PROXY TCP4 10.9.9.9", |line| ProxyHeaderFault::NoWord("destination-address", line)),
            ("PROXY TCP4 10.9.9.9 1", |line| ProxyHeaderFault::NoWord("client-port", line)),
            ("PROXY TCP4 10.9.9.9 1 65536", |line| ProxyHeaderFault::InvalidPort(b"65536", line)),
            ("PROXY TCP4 10.9.9.9 1 +80", |line| ProxyHeaderFault::InvalidPort(b"+80", line)),
            ("PROXY TCP4 10.9.9 1 80", |line| {
                ProxyHeaderFault::NoAddress(b"10.9.9", false, 80, line)
            }),
            ("PROXY TCP6 1:2 1 80", |line| ProxyHeaderFault::NoAddress(b"1:2", true, 80, line)),
        ];
        for (text, wanted) in rows {
            assert_eq!(fault(&line(text)), wanted(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_line_has_an_end_within_its_bound() {
        let filled = |count| [&b"PROXY UNKNOWN "[..], &std::vec![b'x'; count], b"\r\n"].concat();
        let most = LINE_BYTES_MAX - 16;
        assert_eq!(source(&filled(most)), None);
        assert_eq!(fault(&filled(most + 1)), ProxyHeaderFault::LineTooLong);
        for text in ["PROXY TCP4 10.9.9.9 1 2 3\n", "PROXY TCP4 10.9.9.9 1 2 3\rx\r\n"] {
            assert_eq!(parse(text.as_bytes()), ParsedProxyHeader::Partial, "{text:?}");
            let long = [text.as_bytes(), &[b'\n'; 100]].concat();
            assert_eq!(fault(&long), ProxyHeaderFault::LineTooLong, "{text:?}");
        }
    }

    #[test]
    fn binary_headers_announce_the_client() {
        let four = [10, 9, 9, 9, 10, 0, 0, 1, 0x15, 0xb3, 0, 80];
        let mut six = [0; 36];
        six[..16].copy_from_slice(&Ipv6Addr::from_str("2001:db8::9").unwrap().octets());
        six[32..34].copy_from_slice(&6666_u16.to_be_bytes());
        let with_values = [&four[..], b"\x03\0\x04abcd"].concat();
        let largest = [&four[..], &[4; 204]].concat();
        let client = |text: &str| Some(text.parse().unwrap());
        assert_eq!(source(&binary(0x21, 0x11, &four)), client("10.9.9.9:5555"));
        assert_eq!(source(&binary(0x21, 0x21, &six)), client("[2001:db8::9]:6666"));
        assert_eq!(source(&binary(0x21, 0x11, &with_values)), client("10.9.9.9:5555"));
        assert_eq!(source(&binary(0x21, 0x11, &largest)), client("10.9.9.9:5555"));
        assert_eq!(source(&binary(0x20, 0x00, b"")), None);
        assert_eq!(source(&binary(0x20, 0x11, &four)), None);
    }

    #[test]
    fn binary_headers_are_refused_for_what_is_wrong() {
        let zeros = [0; 217];
        let rows = [
            (binary(0x21, 0x11, &zeros), ProxyHeaderFault::TooLong),
            (binary(0x21, 0x11, &zeros[..11]), ProxyHeaderFault::TooShort(11, false)),
            (binary(0x21, 0x21, &zeros[..35]), ProxyHeaderFault::TooShort(35, true)),
            (binary(0x21, 0x00, b""), ProxyHeaderFault::UnsupportedProtocol(0)),
            (binary(0x21, 0x12, &zeros[..12]), ProxyHeaderFault::UnsupportedProtocol(0x12)),
            (binary(0x21, 0x31, &zeros[..216]), ProxyHeaderFault::UnsupportedProtocol(0x31)),
            (binary(0x22, 0x11, &zeros[..12]), ProxyHeaderFault::UnsupportedCommand(0x22)),
            (binary(0x11, 0x11, &zeros[..12]), ProxyHeaderFault::Missing),
        ];
        for (bytes, wanted) in rows {
            assert_eq!(fault(&bytes), wanted);
        }
    }

    #[test]
    fn anything_else_is_no_header() {
        assert_eq!(fault(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), ProxyHeaderFault::Missing);
        assert_eq!(fault(b"proxy UNKNOWN\r\n"), ProxyHeaderFault::Missing);
        assert_eq!(parse(b"GET /\r\n"), ParsedProxyHeader::Partial);
        assert_eq!(parse(b""), ParsedProxyHeader::Partial);
    }
}
