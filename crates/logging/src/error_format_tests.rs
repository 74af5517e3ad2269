//! What formats of the error log accept, and what they write.

use super::*;
use crate::access::NamedValues;
use crate::id::{LogId, LogIds, RequestLogId};
use crate::message::{OnConnection, OnRequest};
use crate::time::CalendarSecond;

fn line(format: &str, message: &Message<'_>, is_extra: bool) -> String {
    let moment = LogMoment {
        time_us: 1_768_299_328_420_413,
        local_time: CalendarSecond::utc,
        pid: 11,
        tid: 12,
        host_name: "host.example",
    };
    let mut out = Vec::new();
    ErrorFormat::parse(format, is_extra).unwrap().write(message, &moment, is_extra, &mut out);
    String::from_utf8(out).unwrap()
}

fn bare() -> Message<'static> {
    Message::new("core", Level::Warn, Some(111), b"a \"b\"\n")
}

/// A table with one row.
struct One;

impl NamedValues for One {
    fn field(&self, name: &str) -> Option<&[u8]> {
        name.eq_ignore_ascii_case("One").then_some(b"1\n")
    }
}

/// Formats over a message about a request.
fn of_request(rows: &[(&str, &str)], is_extra: bool) {
    let table = One;
    let ids = LogIds { keepalives: 3, ..LogIds::default() };
    ids.request.set(Some(RequestLogId::Own(LogId::new(0, 0, 0))));
    ids.connection.set(Some(LogId::new(1, 0, 0)));
    let peer = "127.0.0.2:90".parse().unwrap();
    let local = Some("127.0.0.1:80".parse().unwrap());
    let message = Message {
        os_error: Some(2),
        connection: Some(OnConnection { peer, local, ids: Some(&ids) }),
        request: Some(OnRequest {
            client: "[::1]:99".parse().unwrap(),
            start_us: 0,
            fields: &table,
            notes: &table,
            environment: &table,
            server_name: &|| "asked.example".to_owned(),
        }),
        ..bare()
    };
    for (format, expected) in rows {
        assert_eq!(line(format, &message, is_extra), *expected, "{format}");
    }
}

#[test]
fn every_directive_writes_what_it_is_for() {
    of_request(
        &[
            ("%M", "AH00111: a \"b\"\\n"),
            ("%a|%{c}a|%A %M", "::1:99|127.0.0.2:90|127.0.0.1:80 AH00111: a \"b\"\\n"),
            ("%{One}e%{one}i%{One}n %M", "1\\n1\\n1\\n AH00111: a \"b\"\\n"),
            (
                "%E:%k:%l:%m:%P:%T %M",
                "(2)No such file or directory:3:warn:core:11:12 AH00111: \
              a \"b\"\\n",
            ),
            (
                "%v,%V,%%,%L,%{c}L %M",
                "host.example,asked.example,%,AAAAAAAAAAA,AQAAAAAAAAA \
              AH00111: a \"b\"\\n",
            ),
        ],
        false,
    );
}

#[test]
fn lines_before_the_first_message_have_no_level() {
    of_request(
        &[
            ("%+{One}i %v", "1\\n host.example"),
            ("%v %+{Two}i", ""),
            ("x %l", "x"),
            ("[%v] [%-m]", "[host.example] [-]"),
        ],
        true,
    );
}

#[test]
fn a_field_with_something_empty_is_left_out() {
    for (format, expected) in [
        ("[%{u}t] [%m:%l] [client\\ %a] %M", "[Tue Jan 13 10:15:28.420413 2026] [core:warn] M"),
        ("[%-a] %M", "[-] M"),
        ("%7F:% %M", "M"),
        ("a %a b %M", "a b M"),
        ("%a% x% %M", "xM"),
        (r"\%\ty%M", "%\tyM"),
        ("%M% ,\\ referer:\\ %{Referer}i", "M"),
        ("%5l %M", " M"),
        ("%4l %M", "warn M"),
    ] {
        let expected = expected.replace('M', "AH00111: a \"b\"\\n");
        assert_eq!(line(format, &bare(), false), expected, "{format}");
    }
}

#[test]
fn times_have_four_letters_or_a_format() {
    for (format, expected) in [
        ("%t", "Tue Jan 13 10:15:28 2026"),
        ("%{m}t", "Tue Jan 13 10:15:28.420 2026"),
        ("%{cu}t", "2026-01-13 10:15:28.420413"),
        ("%{cz}t", "2026-01-13 10:15:28 +0000"),
        ("%{uz}t", "Tue Jan 13 10:15:28.420413 2026 +0000"),
        ("%{%H-%M}t", "10-15"),
    ] {
        assert_eq!(line(format, &bare(), true), expected, "{format}");
    }
}

#[test]
fn errors_have_httpds_words() {
    for (format, is_extra, expected) in [
        ("%l", false, "main ErrorLogFormat must contain message format string '%M'"),
        ("%M", true, "%M cannot be used in once-per-request or once-per-connection formats"),
        ("%+l %M", false, "The '+' flag cannot be used in the main error log format"),
        ("%16l %M", false, "The specified loglevel modifier is out of range"),
        (
            "%3l",
            true,
            "The loglevel cannot be used as a condition in once-per-request or \
             once-per-connection formats",
        ),
        ("%x %M", false, "Unrecognized error log format directive %x"),
        ("%M %", false, "Ran off end of error log format parsing args to some directive"),
        ("%M %{a", false, "Ran off end of error log format parsing args to some directive"),
    ] {
        assert_eq!(ErrorFormat::parse(format, is_extra).unwrap_err(), expected, "{format}");
    }
}
