//! Writing a line: the items of a format over a record. Nothing here allocates apart from the
//! growth of the caller's buffer, and the time of day is formatted once a second.

use std::borrow::Cow;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};

use super::parse::{self, DurationUnit, LogItem, LogValue, RequestEnd, TimeStyle};
use super::record::{AccessRecord, ConnectionEnd, NamedValues};
use super::time_cache::TimeCache;
use crate::number::{decimal, hexadecimal, padded, signed};
use message::escape::log_escape;

/// A compiled `LogFormat`.
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    items: Vec<LogItem>,
}

impl Format {
    /// Compiles a format string; the error is httpd's text.
    pub fn parse(format: &str) -> Result<Self, String> {
        Ok(Self { items: parse::items(format)? })
    }

    /// Whether lines show the name of the client (`%h`), which may have to be looked up.
    pub fn shows_client_name(&self) -> bool {
        let is_name = |what: &LogValue| matches!(what, LogValue::ClientHost | LogValue::PeerHost);
        let shows =
            |item: &LogItem| matches!(item, LogItem::Directive { what, .. } if is_name(what));
        self.items.iter().any(shows)
    }

    /// Whether lines show fields of the response (`%o`).
    pub fn shows_response_fields(&self) -> bool {
        use LogValue::{ResponseContentType, ResponseField, ResponseSetCookie};
        let is_field = |what: &LogValue| {
            matches!(what, ResponseContentType | ResponseField(_) | ResponseSetCookie)
        };
        let shows =
            |item: &LogItem| matches!(item, LogItem::Directive { what, .. } if is_field(what));
        self.items.iter().any(shows)
    }

    /// Whether lines show where the time went (`%^TU`).
    pub fn shows_times(&self) -> bool {
        let is_time = |item: &LogItem| {
            matches!(item, LogItem::Directive { what: LogValue::TimeSpent(_), .. })
        };
        self.items.iter().any(is_time)
    }

    /// Whether lines show the name of the file (`%f`).
    pub fn shows_filename(&self) -> bool {
        let is_name =
            |item: &LogItem| matches!(item, LogItem::Directive { what: LogValue::Filename, .. });
        self.items.iter().any(is_name)
    }

    /// Appends one line, without a line end.
    pub fn write(&self, record: &AccessRecord<'_>, times: &mut TimeCache, out: &mut Vec<u8>) {
        for item in &self.items {
            match item {
                LogItem::Literal(text) => out.extend_from_slice(text),
                LogItem::Directive { condition: Some(condition), .. }
                    if !condition.holds(record.last.status) =>
                {
                    out.push(b'-');
                }
                LogItem::Directive { what, original, .. } => {
                    write_value(what, *original, record, times, out);
                }
            }
        }
    }
}

/// Appends the value of one directive: first those that a line usually has.
fn write_value(
    what: &LogValue,
    original: bool,
    record: &AccessRecord<'_>,
    times: &mut TimeCache,
    out: &mut Vec<u8>,
) {
    let part = if original { record.original() } else { &record.last };
    match what {
        LogValue::ClientHost => match record.host {
            Some(host) => log_escape(host, out),
            None => address(record.client.ip(), out),
        },
        LogValue::PeerHost => match record.peer_host {
            Some(host) => log_escape(host, out),
            None => address(record.peer.ip(), out),
        },
        LogValue::Logname => optional(record.logname, out),
        LogValue::User => match part.user {
            Some(b"") => out.extend_from_slice(b"\"\""), // so that the column is not lost
            user => optional(user, out),
        },
        LogValue::Time(moment, style) => write_time(*moment, style, record, times, out),
        LogValue::RequestLine => match record.request_line {
            Some(line) => request_line(line, out),
            None => out.push(b'-'),
        },
        LogValue::Status if part.status == 0 => out.push(b'-'),
        LogValue::Status => decimal(u64::from(part.status), out),
        LogValue::BodyBytesClf if record.body_bytes == 0 => out.push(b'-'),
        LogValue::BodyBytes | LogValue::BodyBytesClf => decimal(record.body_bytes, out),
        LogValue::RequestField(name) => joined(record.request_fields, name, out),
        LogValue::BytesSent => decimal(record.bytes_sent, out),
        LogValue::Method => optional(part.method, out),
        LogValue::Path => optional(part.path, out),
        LogValue::Query => {
            if let Some(query) = part.query {
                out.push(b'?');
                log_escape(query, out);
            }
        }
        LogValue::Handler => optional(part.handler, out),
        LogValue::Filename => optional(part.filename, out),
        _ => write_connection_value(what, record, out),
    }
}

/// Appends a value that is the same for all requests of an internal redirect.
fn write_connection_value(what: &LogValue, record: &AccessRecord<'_>, out: &mut Vec<u8>) {
    match what {
        LogValue::ClientAddress => address(record.client.ip(), out),
        LogValue::PeerAddress => address(record.peer.ip(), out),
        LogValue::LocalAddress => address(record.local.ip(), out),
        LogValue::ClientPort => port(record.client, out),
        LogValue::LocalPort => port(record.local, out),
        LogValue::CanonicalPort => decimal(u64::from(record.canonical_port), out),
        LogValue::Protocol => optional(record.protocol, out),
        LogValue::Duration(DurationUnit::Microseconds) => signed(record.duration_us, out),
        LogValue::Duration(DurationUnit::Milliseconds) => signed(record.duration_us / 1000, out),
        LogValue::Duration(DurationUnit::Seconds) => signed(record.duration_us / 1_000_000, out),
        LogValue::FirstByte => match record.first_byte_us {
            Some(us) => signed(us, out),
            None => out.push(b'-'),
        },
        LogValue::TimeSpent(on) => match record.times {
            Some(times) => decimal(on.of(&times) / 1000, out),
            None => out.push(b'-'),
        },
        LogValue::BytesReceived => decimal(record.bytes_received, out),
        LogValue::BytesTotal => {
            decimal(record.bytes_received.saturating_add(record.bytes_sent), out);
        }
        LogValue::KeepAlives => decimal(u64::from(record.keepalives), out),
        LogValue::ConnectionEnd => out.push(match record.connection_end {
            ConnectionEnd::Aborted => b'X',
            ConnectionEnd::KeepAlive => b'+',
            ConnectionEnd::Close => b'-',
        }),
        LogValue::LogId => optional(record.log_id, out),
        LogValue::ConnectionLogId => optional(record.connection_log_id, out),
        LogValue::VirtualHost => log_escape(record.virtual_host, out),
        LogValue::ServerName => match record.asked_host {
            // A host name has no case (vhost.c, fix_hostname).
            Some(name) => {
                let start = out.len();
                log_escape(name, out);
                out[start..].make_ascii_lowercase();
            }
            None => log_escape(record.virtual_host, out),
        },
        LogValue::Pid => decimal(u64::from(record.pid), out),
        LogValue::Tid => decimal(record.tid, out),
        LogValue::TidHexadecimal => hexadecimal(record.tid, out),
        LogValue::Text(text) => out.extend_from_slice(text.as_bytes()),
        _ => write_named_value(what, record, out),
    }
}

/// Appends a value that is looked up by name.
fn write_named_value(what: &LogValue, record: &AccessRecord<'_>, out: &mut Vec<u8>) {
    match what {
        LogValue::Cookie(name) => {
            let cookies = all_cookies(record.request_fields);
            let value = cookies.as_deref().and_then(|cookies| cookie(cookies, name.as_bytes()));
            optional(value, out);
        }
        LogValue::Environment(name) => optional(record.environment.field(name), out),
        LogValue::Note(name) => optional(record.notes.field(name), out),
        LogValue::ResponseContentType => {
            let media_type = record.response_fields.field("Content-Type");
            optional(media_type.map(without_parameters), out);
        }
        LogValue::ResponseField(name) => optional(record.response_fields.field(name), out),
        LogValue::ResponseSetCookie => joined(record.response_fields, "Set-Cookie", out),
        LogValue::Tls(name) => optional(record.tls.and_then(|tls| tls.field(name)), out),
        _ => out.push(b'-'), // What::Trailer; all others are above
    }
}

/// `%t`.
fn write_time(
    moment: RequestEnd,
    style: &TimeStyle,
    record: &AccessRecord<'_>,
    times: &mut TimeCache,
    out: &mut Vec<u8>,
) {
    let time_us = match moment {
        RequestEnd::Begin => record.start_us,
        RequestEnd::End => record.start_us.saturating_add(record.duration_us),
    };
    let second = time_us.div_euclid(1_000_000);
    let fraction_us = time_us.rem_euclid(1_000_000) as u64;
    match style {
        TimeStyle::Clf => out.extend_from_slice(times.clf(second)),
        TimeStyle::Custom(format) => format.write(&times.local_time(second), out),
        TimeStyle::Seconds => signed(second, out),
        TimeStyle::Milliseconds => signed(time_us.div_euclid(1000), out),
        TimeStyle::Microseconds => signed(time_us, out),
        TimeStyle::MillisecondFraction => padded(fraction_us / 1000, 3, b'0', out),
        TimeStyle::MicrosecondFraction => padded(fraction_us, 6, b'0', out),
    }
}

/// Appends the value escaped, or a hyphen.
fn optional(value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(value) => log_escape(value, out),
        None => out.push(b'-'),
    }
}

/// Appends all values of a field, separated as RFC 9110 section 5.3 combines them.
fn joined(fields: &dyn NamedValues, name: &str, out: &mut Vec<u8>) {
    let mut is_first = true;
    fields.each_field(name, &mut |value| {
        if !is_first {
            out.extend_from_slice(b", ");
        }
        is_first = false;
        log_escape(value, out);
    });
    if is_first {
        out.push(b'-');
    }
}

fn port(address: SocketAddr, out: &mut Vec<u8>) {
    decimal(u64::from(address.port()), out);
}

/// Appends an address; one of IPv4 that came through an IPv6 socket is shown as IPv4.
fn address(ip: IpAddr, out: &mut Vec<u8>) {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            for (at, octet) in ip.octets().into_iter().enumerate() {
                if at > 0 {
                    out.push(b'.');
                }
                decimal(u64::from(octet), out);
            }
        }
        // Zero compression is worth its formatting machinery; writing to a Vec cannot fail.
        IpAddr::V6(ip) => drop(write!(out, "{ip}")),
    }
}

/// Appends the request line. A password in an absolute URI is replaced: the log is read by
/// more people than the request was meant for (mod_log_config.c `log_request_line`).
fn request_line(line: &[u8], out: &mut Vec<u8>) {
    match password(line) {
        None => log_escape(line, out),
        Some((start, end)) => {
            log_escape(&line[..start], out);
            out.extend_from_slice(b"XXXXXXXX");
            log_escape(&line[end..], out);
        }
    }
}

/// Where the password is in `GET http://user:password@host/ HTTP/1.1`.
fn password(line: &[u8]) -> Option<(usize, usize)> {
    line.iter().find(|&&byte| byte == b'@')?; // rules out nearly every request at once
    let target = line.iter().position(|&byte| byte == b' ')? + 1;
    let scheme = line[target..].windows(3).position(|three| three == b"://")?;
    if !line[target..target + scheme].iter().all(u8::is_ascii_alphanumeric) {
        return None;
    }
    let authority = target + scheme + 3;
    let length = line[authority..]
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?' | b'#' | b' '))
        .unwrap_or(line.len() - authority);
    let userinfo = line[authority..authority + length].iter().rposition(|&byte| byte == b'@')?;
    let colon = line[authority..authority + userinfo].iter().position(|&byte| byte == b':')?;
    Some((authority + colon + 1, authority + userinfo))
}

/// The Cookie field. httpd joins several by commas when it reads them, which makes the value of the
/// last cookie of a line longer.
fn all_cookies(fields: &dyn NamedValues) -> Option<Cow<'_, [u8]>> {
    let mut count = 0;
    fields.each_field("Cookie", &mut |_| count += 1);
    if count < 2 {
        return fields.field("Cookie").map(Cow::Borrowed);
    }
    let mut joined = Vec::new();
    fields.each_field("Cookie", &mut |value| {
        if !joined.is_empty() {
            joined.extend_from_slice(b", ");
        }
        joined.extend_from_slice(value);
    });
    Some(Cow::Owned(joined))
}

/// The value of one cookie. Names compare without case and an empty value is none, as in httpd.
fn cookie<'a>(cookies: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    cookies.split(|&byte| byte == b';').find_map(|pair| {
        let equals = pair.iter().position(|&byte| byte == b'=')?;
        let value = &pair[equals + 1..];
        let is_named = pair[..equals].trim_ascii().eq_ignore_ascii_case(name);
        (is_named && !value.is_empty()).then(|| value.trim_ascii())
    })
}

/// A media type up to its parameters.
fn without_parameters(value: &[u8]) -> &[u8] {
    value.split(|&byte| byte == b';').next().unwrap_or(value).trim_ascii_end()
}
