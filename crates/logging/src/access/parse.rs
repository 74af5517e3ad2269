//! From the text of a `LogFormat` to items (mod_log_config.c `parse_log_item`). What can be
//! decided once is decided here: arguments, time formats, conditions.

use super::spending::Spending;
use crate::time::TimeFormat;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LogItem {
    /// Copied.
    Literal(Vec<u8>),
    /// One `%` directive.
    Directive {
        what: LogValue,
        /// `<` asks for the original request, `>` for the final one.
        original: bool,
        /// `%400,501{...}` and `%!200{...}`.
        condition: Option<Box<StatusCondition>>,
    },
}

/// The directive's value is printed when the final status is one of `statuses`, or with
/// `negated` when it is not; otherwise a `-` is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StatusCondition {
    pub(super) negated: bool,
    pub(super) statuses: Vec<u32>,
}

impl StatusCondition {
    pub(super) fn holds(&self, status: u16) -> bool {
        self.statuses.contains(&u32::from(status)) != self.negated
    }
}

/// What a directive prints.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LogValue {
    BodyBytes,
    BodyBytesClf,
    BytesReceived,
    BytesSent,
    BytesTotal,
    CanonicalPort,
    ClientAddress,
    ClientHost,
    PeerHost,
    ClientPort,
    ConnectionEnd,
    ConnectionLogId,
    Cookie(String),
    Duration(DurationUnit),
    Environment(String),
    Filename,
    FirstByte,
    Handler,
    KeepAlives,
    LocalAddress,
    LocalPort,
    LogId,
    Logname,
    Method,
    Note(String),
    Path,
    PeerAddress,
    Pid,
    Protocol,
    Query,
    RequestField(String),
    RequestLine,
    ResponseContentType,
    ResponseField(String),
    ResponseSetCookie,
    ServerName,
    TimeSpent(Spending),
    Status,
    /// An argument that the directive does not know is printed itself.
    Text(String),
    Tid,
    TidHexadecimal,
    Time(RequestEnd, TimeStyle),
    Tls(String),
    /// Trailers are not kept, so none is ever there.
    Trailer,
    User,
    VirtualHost,
}

/// Units of `%T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DurationUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

/// Which end of the request `%t` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestEnd {
    Begin,
    End,
}

/// How `%t` shows it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TimeStyle {
    /// `[18/Sep/2011:19:18:28 -0400]`
    Clf,
    Custom(TimeFormat),
    Seconds,
    Milliseconds,
    Microseconds,
    MillisecondFraction,
    MicrosecondFraction,
}

/// Compiles a whole format.
pub(super) fn items(format: &str) -> Result<Vec<LogItem>, String> {
    let mut items = Vec::new();
    let mut rest = format;
    while !rest.is_empty() {
        rest = if let Some(after) = rest.strip_prefix("%%") {
            push_literal(&mut items, b"%");
            after
        } else if let Some(directive) = rest.strip_prefix('%') {
            let (item, after) = directive_item(directive)?;
            items.push(item);
            after
        } else {
            let (literal, after) = rest.split_at(rest.find('%').unwrap_or(rest.len()));
            push_literal(&mut items, &unescaped(literal));
            after
        };
    }
    Ok(items)
}

/// Adds text, to the last item where that is text too.
fn push_literal(items: &mut Vec<LogItem>, text: &[u8]) {
    match items.last_mut() {
        Some(LogItem::Literal(literal)) => literal.extend_from_slice(text),
        _ => items.push(LogItem::Literal(text.to_vec())),
    }
}

/// The text with `\n`, `\t`, `\r` and `\\` replaced; any other backslash stays.
fn unescaped(text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        let replacement = match bytes.peek() {
            Some(b'\\') if byte == b'\\' => b'\\',
            Some(b'n') if byte == b'\\' => b'\n',
            Some(b'r') if byte == b'\\' => b'\r',
            Some(b't') if byte == b'\\' => b'\t',
            _ => {
                plain.push(byte);
                continue;
            }
        };
        plain.push(replacement);
        bytes.next();
    }
    plain
}

/// Parses what follows a `%`; also returns what follows the directive. Modifiers, statuses and
/// the argument come in any order, and the last of a kind counts, as in httpd.
fn directive_item(text: &str) -> Result<(LogItem, &str), String> {
    let (mut negated, mut original, mut argument) = (false, None, "");
    let mut statuses = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        match letter {
            '!' => negated = !negated,
            '<' => original = Some(true),
            '>' => original = Some(false),
            ',' => {}
            '{' => {
                let (inside, after) = rest[1..].split_once('}').unwrap_or((&rest[1..], ""));
                argument = inside;
                rest = after;
                continue;
            }
            '0'..='9' => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                statuses.push(rest[..end].parse().unwrap_or(u32::MAX));
                rest = &rest[end..];
                continue;
            }
            _ => {
                let name = name_of(rest, letter);
                let what = what(name, argument)?
                    .ok_or_else(|| format!("Unrecognized LogFormat directive %{letter}"))?;
                let original = original.unwrap_or_else(|| is_original_by_default(name));
                let condition =
                    (!statuses.is_empty()).then(|| Box::new(StatusCondition { negated, statuses }));
                return Ok((LogItem::Directive { what, original, condition }, &rest[name.len()..]));
            }
        }
        rest = &rest[1..];
    }
    Err("Ran off end of LogFormat parsing args to some directive".to_owned())
}

/// The name at the start of `rest`: one character, or three of which the first is `^`.
fn name_of(rest: &str, letter: char) -> &str {
    match rest.get(..3) {
        Some(name @ ("^FB" | "^ti" | "^to" | "^TU")) => name,
        _ => &rest[..letter.len_utf8()],
    }
}

/// The directives that httpd registers with `want_orig_default` 1.
fn is_original_by_default(name: &str) -> bool {
    matches!(name, "D" | "L" | "r" | "R" | "s" | "T" | "U")
}

/// The table of directives.
fn what(name: &str, argument: &str) -> Result<Option<LogValue>, String> {
    let owned = || argument.to_owned();
    Ok(Some(match name {
        "a" if argument == "c" => LogValue::PeerAddress,
        "a" => LogValue::ClientAddress,
        "A" => LogValue::LocalAddress,
        "b" => LogValue::BodyBytesClf,
        "B" => LogValue::BodyBytes,
        "c" => tls_alias(argument),
        "C" => LogValue::Cookie(owned()),
        "D" => LogValue::Duration(DurationUnit::Microseconds),
        "e" => LogValue::Environment(owned()),
        "f" => LogValue::Filename,
        "h" if argument == "c" => LogValue::PeerHost,
        "h" => LogValue::ClientHost,
        "H" => LogValue::Protocol,
        "i" => LogValue::RequestField(owned()),
        "I" => LogValue::BytesReceived,
        "k" => LogValue::KeepAlives,
        "l" => LogValue::Logname,
        "L" if argument == "c" => LogValue::ConnectionLogId,
        "L" => LogValue::LogId,
        "m" => LogValue::Method,
        "n" => LogValue::Note(owned()),
        "o" => response_field(argument),
        "O" => LogValue::BytesSent,
        "p" => port(argument),
        "P" => process(argument),
        "q" => LogValue::Query,
        "r" => LogValue::RequestLine,
        "R" => LogValue::Handler,
        "s" => LogValue::Status,
        "S" => LogValue::BytesTotal,
        "t" => time(argument),
        "T" => duration(argument),
        "u" => LogValue::User,
        "U" => LogValue::Path,
        "v" => LogValue::VirtualHost,
        "V" => LogValue::ServerName,
        "x" => LogValue::Tls(owned()),
        "X" => LogValue::ConnectionEnd,
        "^FB" => LogValue::FirstByte,
        "^ti" | "^to" => LogValue::Trailer,
        "^TU" => LogValue::TimeSpent(Spending::parse(argument)?),
        _ => return Ok(None),
    }))
}

/// `%{...}c`, mod_ssl's older names of some variables (ssl_engine_vars.c).
fn tls_alias(argument: &str) -> LogValue {
    let variable = match argument {
        "version" => "SSL_PROTOCOL",
        "cipher" => "SSL_CIPHER",
        "subjectdn" | "clientcert" => "SSL_CLIENT_S_DN",
        "issuerdn" | "cacert" => "SSL_CLIENT_I_DN",
        _ => "",
    };
    LogValue::Tls(variable.to_owned())
}

/// Two response fields are special: the media type loses its parameters, and there may be many
/// cookies.
fn response_field(argument: &str) -> LogValue {
    if argument.eq_ignore_ascii_case("Content-Type") {
        LogValue::ResponseContentType
    } else if argument.eq_ignore_ascii_case("Set-Cookie") {
        LogValue::ResponseSetCookie
    } else {
        LogValue::ResponseField(argument.to_owned())
    }
}

fn port(argument: &str) -> LogValue {
    match argument.to_ascii_lowercase().as_str() {
        "" | "canonical" => LogValue::CanonicalPort,
        "remote" => LogValue::ClientPort,
        "local" => LogValue::LocalPort,
        _ => LogValue::Text(argument.to_owned()),
    }
}

fn process(argument: &str) -> LogValue {
    match argument.to_ascii_lowercase().as_str() {
        "" | "pid" => LogValue::Pid,
        "tid" => LogValue::Tid,
        "hextid" => LogValue::TidHexadecimal,
        _ => LogValue::Text(argument.to_owned()),
    }
}

fn duration(argument: &str) -> LogValue {
    match argument.to_ascii_lowercase().as_str() {
        "" | "s" => LogValue::Duration(DurationUnit::Seconds),
        "ms" => LogValue::Duration(DurationUnit::Milliseconds),
        "us" => LogValue::Duration(DurationUnit::Microseconds),
        _ => LogValue::Text(argument.to_owned()),
    }
}

/// `%{...}t`: `begin` or `end`, a colon, and a style; either half may be missing.
fn time(argument: &str) -> LogValue {
    let (moment, style) = if let Some(style) = argument.strip_prefix("begin:") {
        (RequestEnd::Begin, style)
    } else if let Some(style) = argument.strip_prefix("end:") {
        (RequestEnd::End, style)
    } else {
        match argument {
            "begin" => (RequestEnd::Begin, ""),
            "end" => (RequestEnd::End, ""),
            style => (RequestEnd::Begin, style),
        }
    };
    let style = match style {
        "" => TimeStyle::Clf,
        "sec" => TimeStyle::Seconds,
        "msec" => TimeStyle::Milliseconds,
        "usec" => TimeStyle::Microseconds,
        "msec_frac" => TimeStyle::MillisecondFraction,
        "usec_frac" => TimeStyle::MicrosecondFraction,
        format => TimeStyle::Custom(TimeFormat::new(format.as_bytes())),
    };
    LogValue::Time(moment, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(format: &str) -> LogItem {
        let mut items = items(format).unwrap();
        assert_eq!(items.len(), 1, "{format}");
        items.remove(0)
    }

    fn what_of(format: &str) -> LogValue {
        match only(format) {
            LogItem::Directive { what, .. } => what,
            literal => panic!("{format}: {literal:?}"),
        }
    }

    #[test]
    fn literals_are_unescaped_and_joined() {
        for (format, expected) in [
            ("plain", &b"plain"[..]),
            ("a%%b", b"a%b"),
            (r"tab\tline\nreturn\rback\\", b"tab\tline\nreturn\rback\\"),
            (r"\x\", br"\x\"),
            (r"\%%", br"\%"),
        ] {
            assert_eq!(only(format), LogItem::Literal(expected.to_vec()), "{format}");
        }
        assert_eq!(items("").unwrap(), []);
    }

    #[test]
    fn errors_have_httpds_words() {
        for (format, message) in [
            ("%h %Q", "Unrecognized LogFormat directive %Q"),
            ("%^xx", "Unrecognized LogFormat directive %^"),
            ("%é", "Unrecognized LogFormat directive %é"),
            ("%", "Ran off end of LogFormat parsing args to some directive"),
            ("%>", "Ran off end of LogFormat parsing args to some directive"),
            ("%{Referer", "Ran off end of LogFormat parsing args to some directive"),
            ("%{a}{b}404,!", "Ran off end of LogFormat parsing args to some directive"),
        ] {
            assert_eq!(items(format).unwrap_err(), message, "{format}");
        }
    }

    #[test]
    fn every_directive_of_the_table_is_known() {
        for name in "aAbBcCDefhHiIklLmnoOpPqrRsStTuUvVxX".chars() {
            assert!(items(&format!("%{name}")).is_ok(), "%{name}");
        }
        assert_eq!(what_of("%^FB"), LogValue::FirstByte);
        assert_eq!(what_of("%{n}^ti"), LogValue::Trailer);
        assert_eq!(what_of("%{n}^to"), LogValue::Trailer);
    }

    #[test]
    fn arguments_choose_variants() {
        for (format, expected) in [
            ("%{c}a", LogValue::PeerAddress),
            ("%{c}h", LogValue::PeerHost),
            ("%{c}L", LogValue::ConnectionLogId),
            ("%{remote}p", LogValue::ClientPort),
            ("%{LOCAL}p", LogValue::LocalPort),
            ("%{canonical}p", LogValue::CanonicalPort),
            ("%{bogus}p", LogValue::Text("bogus".into())),
            ("%{tid}P", LogValue::Tid),
            ("%{hextid}P", LogValue::TidHexadecimal),
            ("%{pid}P", LogValue::Pid),
            ("%{ms}T", LogValue::Duration(DurationUnit::Milliseconds)),
            ("%{us}T", LogValue::Duration(DurationUnit::Microseconds)),
            ("%{s}T", LogValue::Duration(DurationUnit::Seconds)),
            ("%{h}T", LogValue::Text("h".into())),
            ("%{content-type}o", LogValue::ResponseContentType),
            ("%{set-cookie}o", LogValue::ResponseSetCookie),
            ("%{version}c", LogValue::Tls("SSL_PROTOCOL".into())),
            ("%{User-Agent}i", LogValue::RequestField("User-Agent".into())),
            (
                "%{begin:usec_frac}t",
                LogValue::Time(RequestEnd::Begin, TimeStyle::MicrosecondFraction),
            ),
            ("%{end:sec}t", LogValue::Time(RequestEnd::End, TimeStyle::Seconds)),
            ("%{end}t", LogValue::Time(RequestEnd::End, TimeStyle::Clf)),
            ("%{msec}t", LogValue::Time(RequestEnd::Begin, TimeStyle::Milliseconds)),
        ] {
            assert_eq!(what_of(format), expected, "{format}");
        }
    }

    #[test]
    fn the_original_request_is_the_default_of_seven_directives() {
        for name in "aAbBCDefhHiIklLmnoOpPqrRsStTuUvVxX".chars() {
            let LogItem::Directive { original, .. } = only(&format!("%{name}")) else { panic!() };
            assert_eq!(original, "sUTDrRL".contains(name), "%{name}");
            for (format, expected) in [(format!("%<{name}"), true), (format!("%>{name}"), false)] {
                let LogItem::Directive { original, .. } = only(&format) else { panic!() };
                assert_eq!(original, expected, "{format}");
            }
        }
    }

    #[test]
    fn conditions_list_statuses() {
        let LogItem::Directive { condition: Some(condition), .. } = only("%400,501{User-agent}i")
        else {
            panic!()
        };
        assert_eq!(*condition, StatusCondition { negated: false, statuses: vec![400, 501] });
        assert!(condition.holds(501) && !condition.holds(200));
        let LogItem::Directive { condition: Some(condition), .. } = only("%!200,304{Referer}i")
        else {
            panic!()
        };
        assert!(condition.holds(404) && !condition.holds(304));
    }

    #[test]
    fn any_text_parses_or_is_refused_without_panic() {
        let alphabet = ['%', '{', '}', '!', ',', '4', '<', '>', '^', 't', 'i', '\\', 'é', 'h'];
        let mut seed = 1u32;
        for _ in 0..20_000 {
            let mut format = String::new();
            for _ in 0..seed % 12 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                format.push(alphabet[(seed >> 16) as usize % alphabet.len()]);
            }
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let _ = items(&format);
        }
    }
}
