//! `ErrorLogFormat`: compiled when the configuration is read (core.c, parse_errorlog_item), written
//! per message (log.c, do_errorlog_format).

use super::error_log::{Fraction, write_fraction, write_time};
use super::id::RequestLogId;
use super::level::Level;
use super::message::{LogMoment, Message};
use super::time::{LocalTimeFn, TimeFormat};
use crate::access::NamedValues;
use crate::number::{decimal, signed};
use message::escape::error_log_escape;
use std::io::Write as _;
use std::net::SocketAddr;

/// A compiled `ErrorLogFormat`.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorFormat {
    items: Vec<ErrorItem>,
}

/// The formats of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorFormats {
    /// Of a message; `None` is httpd's default.
    pub main: Option<ErrorFormat>,
    /// Lines before the first message about a connection; `None` if nothing was said about them.
    pub connection: Option<Vec<ErrorFormat>>,
    /// Lines before the first message about a request.
    pub request: Option<Vec<ErrorFormat>>,
}

impl ErrorFormats {
    /// The formats of a virtual host over those of the main server.
    pub fn over(&self, main: &Self) -> Self {
        Self {
            main: self.main.clone().or_else(|| main.main.clone()),
            connection: self.connection.clone().or_else(|| main.connection.clone()),
            request: self.request.clone().or_else(|| main.request.clone()),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct ErrorItem {
    /// A field begins: if something in it is empty, all of it is left out.
    begins_field: bool,
    /// `%+`: without it there is no line.
    is_required: bool,
    /// `%-`: a hyphen if it is empty.
    has_hyphen: bool,
    /// `%7F`: for messages of this level and finer ones only.
    min_level: u32,
    argument: String,
    what: ErrorValue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ErrorValue {
    Client,
    Environment,
    Field,
    Host,
    KeepAlives,
    Level,
    Literal,
    Local,
    LogId,
    Message,
    Module,
    Note,
    OsError,
    Pid,
    ServerName,
    Source,
    Tid,
    Time,
}

const DIRECTIVES: &[(char, ErrorValue)] = &[
    ('a', ErrorValue::Client),
    ('A', ErrorValue::Local),
    ('e', ErrorValue::Environment),
    ('E', ErrorValue::OsError),
    ('F', ErrorValue::Source),
    ('i', ErrorValue::Field),
    ('k', ErrorValue::KeepAlives),
    ('l', ErrorValue::Level),
    ('L', ErrorValue::LogId),
    ('m', ErrorValue::Module),
    ('M', ErrorValue::Message),
    ('n', ErrorValue::Note),
    ('P', ErrorValue::Pid),
    ('t', ErrorValue::Time),
    ('T', ErrorValue::Tid),
    ('v', ErrorValue::Host),
    ('V', ErrorValue::ServerName),
];

impl ErrorFormat {
    /// Compile the format of messages, or with `is_extra` of a line before the first one. The error
    /// is httpd's text.
    pub fn parse(text: &str, is_extra: bool) -> Result<Self, String> {
        let mut items = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (item, after) = parse_item(rest)?;
            rest = after;
            check(&item, is_extra)?;
            items.push(item);
        }
        if !is_extra && items.iter().all(|item| item.what != ErrorValue::Message) {
            return Err("main ErrorLogFormat must contain message format string '%M'".to_owned());
        }
        Ok(Self { items })
    }

    /// Appends the line without its end; nothing if it is not to be written.
    pub(super) fn write(
        &self,
        message: &Message<'_>,
        moment: &LogMoment<'_>,
        is_extra: bool,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let (mut field_start, mut is_skipping) = (start, false);
        for item in &self.items {
            if item.begins_field {
                if !is_skipping {
                    field_start = out.len();
                }
                is_skipping = false;
            }
            // The message is there whatever else of its field is missing.
            if item.what == ErrorValue::Message {
                moment.write_message(message, out);
                continue;
            }
            if is_skipping {
                continue;
            }
            let before = out.len();
            let is_shown = is_extra || item.min_level <= message.level as u32;
            if is_shown {
                item.write(message, moment, is_extra, out);
            }
            if out.len() > before {
                continue;
            }
            if is_shown && item.is_required {
                out.truncate(start);
                return;
            }
            if is_shown && item.has_hyphen {
                out.push(b'-');
            } else {
                out.truncate(field_start);
                is_skipping = true;
            }
        }
    }
}

fn check(item: &ErrorItem, is_extra: bool) -> Result<(), String> {
    let text = if is_extra && item.what == ErrorValue::Message {
        "%M cannot be used in once-per-request or once-per-connection formats"
    } else if !is_extra && item.is_required {
        "The '+' flag cannot be used in the main error log format"
    } else if is_extra && item.min_level > 0 {
        "The loglevel cannot be used as a condition in once-per-request or once-per-connection \
         formats"
    } else if item.min_level > Level::Trace8 as u32 {
        "The specified loglevel modifier is out of range"
    } else {
        return Ok(());
    };
    Err(text.to_owned())
}

/// One item and what follows it. A blank begins a field, and so does `% `, which prints nothing.
fn parse_item(text: &str) -> Result<(ErrorItem, &str), String> {
    let mut item = ErrorItem {
        begins_field: false,
        is_required: false,
        has_hyphen: false,
        min_level: 0,
        argument: String::new(),
        what: ErrorValue::Literal,
    };
    let mut rest = text;
    while let Some(after) = rest.strip_prefix("% ") {
        item.begins_field = true;
        rest = after;
    }
    let Some(directive) = rest.strip_prefix('%') else {
        item.begins_field |= rest.starts_with(' ');
        let after = literal(rest, &mut item.argument);
        return Ok((item, after));
    };
    if let Some(after) = directive.strip_prefix('%') {
        item.argument.push('%');
        return Ok((item, after));
    }
    rest = directive;
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        match letter {
            '{' => {
                let (inside, behind) = after.split_once('}').unwrap_or((after, ""));
                item.argument = inside.to_owned();
                rest = behind;
                continue;
            }
            '+' => item.is_required = true,
            '-' => item.has_hyphen = true,
            '0'..='9' => {
                let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                item.min_level = rest[..end].parse().unwrap_or(u32::MAX);
                rest = &rest[end..];
                continue;
            }
            _ => {
                let known = DIRECTIVES.iter().find(|row| row.0 == letter);
                item.what = known
                    .ok_or_else(|| format!("Unrecognized error log format directive %{letter}"))?
                    .1;
                return Ok((item, after));
            }
        }
        rest = after;
    }
    Err("Ran off end of error log format parsing args to some directive".to_owned())
}

/// Text up to the next directive or field; blanks at its start belong to it. A backslash stands
/// before `n`, `r`, `t`, or takes the meaning of what follows.
fn literal<'t>(text: &'t str, out: &mut String) -> &'t str {
    let mut is_at_start = true;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '%' => return &text[at..],
            ' ' if !is_at_start => return &text[at..],
            ' ' => out.push(' '),
            '\\' => match letters.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, 'r')) => out.push('\r'),
                Some((_, 't')) => out.push('\t'),
                Some((_, other)) => out.push(other),
                None => out.push('\\'),
            },
            other => {
                is_at_start = false;
                out.push(other);
            }
        }
    }
    ""
}

impl ErrorItem {
    fn write(
        &self,
        message: &Message<'_>,
        moment: &LogMoment<'_>,
        is_extra: bool,
        out: &mut Vec<u8>,
    ) {
        let Message { connection, request, .. } = message;
        match self.what {
            ErrorValue::Literal => out.extend_from_slice(self.argument.as_bytes()),
            ErrorValue::Message => moment.write_message(message, out),
            ErrorValue::Client => match (request, connection) {
                (Some(request), _) if !self.argument.starts_with('c') => {
                    address(request.client, out);
                }
                (_, Some(connection)) => address(connection.peer, out),
                _ => {}
            },
            ErrorValue::Local => {
                if let Some(local) = connection.as_ref().and_then(|it| it.local) {
                    address(local, out);
                }
            }
            ErrorValue::Level if !is_extra => {
                out.extend_from_slice(message.level.name().as_bytes())
            }
            ErrorValue::Module if !is_extra => out.extend_from_slice(message.module.as_bytes()),
            ErrorValue::OsError if !is_extra => moment.write_os_error(message, out),
            // The places in our source would mean nothing to who knows httpd's.
            ErrorValue::Level | ErrorValue::Module | ErrorValue::OsError | ErrorValue::Source => {}
            ErrorValue::Pid => decimal(u64::from(moment.pid), out),
            ErrorValue::Tid => decimal(moment.tid, out),
            ErrorValue::Time => {
                write_moment(&self.argument, moment.time_us, moment.local_time, out)
            }
            ErrorValue::Host => out.extend_from_slice(moment.host_name.as_bytes()),
            _ => self.write_of_request(message, out),
        }
    }

    fn write_of_request(&self, message: &Message<'_>, out: &mut Vec<u8>) {
        let Message { connection, request, .. } = message;
        let escaped = |fields: Option<&dyn NamedValues>, out: &mut Vec<u8>| {
            let value = fields.and_then(|fields| fields.field(&self.argument));
            error_log_escape(value.unwrap_or_default(), out);
        };
        match self.what {
            ErrorValue::Field => escaped(request.as_ref().map(|it| it.fields), out),
            ErrorValue::Note => escaped(request.as_ref().map(|it| it.notes), out),
            ErrorValue::Environment => escaped(request.as_ref().map(|it| it.environment), out),
            ErrorValue::ServerName => {
                if let Some(request) = request {
                    error_log_escape((request.server_name)().as_bytes(), out);
                }
            }
            ErrorValue::KeepAlives => {
                if let Some(connection) = connection {
                    let before = connection.ids.map_or(0, |ids| ids.keepalives);
                    decimal(u64::from(before), out);
                }
            }
            ErrorValue::LogId => {
                let ids = connection.as_ref().and_then(|it| it.ids);
                // `%{C}L` only where the line is not about a request (log.c, log_log_id).
                let of_connection = || ids.and_then(|ids| ids.connection.get());
                let id = match self.argument.as_str() {
                    "c" => of_connection().map(RequestLogId::Own),
                    "C" if request.is_some() => None,
                    "C" => of_connection().map(RequestLogId::Own),
                    _ if request.is_none() => None,
                    _ => ids.and_then(|ids| ids.request.get()),
                };
                id.iter().for_each(|id| out.extend_from_slice(id.as_bytes()));
            }
            _ => {}
        }
    }
}

/// `127.0.0.1:80`; an IPv6 address has no brackets here.
fn address(address: SocketAddr, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{}:{}", address.ip().to_canonical(), address.port());
}

/// `%t`, with `u`, `m`, `c` and `z` or a format of strftime as its argument (log.c, log_ctime).
fn write_moment(argument: &str, time_us: i64, local_time: LocalTimeFn, out: &mut Vec<u8>) {
    let time = local_time(time_us.div_euclid(1_000_000));
    if argument.contains('%') {
        TimeFormat::new(argument.as_bytes()).write(&time, out);
        return;
    }
    let fraction = match argument {
        text if text.contains('u') => Fraction::Microseconds,
        text if text.contains('m') => Fraction::Milliseconds,
        _ => Fraction::None,
    };
    if argument.contains('c') {
        signed(i64::from(time.year), out);
        TimeFormat::new(b"-%m-%d %T").write(&time, out);
        write_fraction(time_us, fraction, out);
    } else {
        write_time(time_us, local_time, fraction, out);
    }
    if argument.contains('z') {
        out.push(b' ');
        time.write_offset(out);
    }
}

#[cfg(test)]
#[path = "error_format_tests.rs"]
mod tests;
