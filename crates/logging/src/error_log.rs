//! The text of an error log line in httpd's default format (log.c `do_errorlog_default`).
//! Deciding whether a message is logged is `level`'s, writing it to a file the caller's.

use std::io::Write as _;
use std::net::SocketAddr;

use super::level::Level;
use super::time::{LocalTimeFn, TimeFormat};
use crate::number::{decimal, padded, signed};
use message::escape::error_log_escape;

/// Longest line without its line end; httpd cuts the rest off as well (MAX_STRING_LEN).
pub(super) const LINE_BYTES_MAX: usize = 8190;

/// Who was at the other end of the connection that a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Someone who connected to us.
    Client(SocketAddr),
}

/// One message with its circumstances.
#[derive(Clone, Copy, Debug)]
pub struct ErrorLine<'a> {
    /// Microseconds since 1970.
    pub time_us: i64,
    /// Short name of the module, `core`.
    pub module: &'a str,
    /// Severity.
    pub level: Level,
    /// Process id.
    pub pid: u32,
    /// Kernel thread id.
    pub tid: u64,
    /// File and line of the source that logs; shown from `debug` on.
    pub source: Option<(&'a str, u32)>,
    /// Number and text of a failed system call.
    pub os_error: Option<(i32, &'a str)>,
    /// The connection that the message is about.
    pub peer: Option<Peer>,
    /// httpd's number of the condition: 111 is shown as `AH00111`.
    pub id: Option<u32>,
    /// The message; bytes of the client in it are escaped here.
    pub message: &'a [u8],
    /// The request's Referer.
    pub referer: Option<&'a [u8]>,
}

impl ErrorLine<'_> {
    /// Appends the line as it stands in the log, without a line end.
    pub fn write(&self, local_time: LocalTimeFn, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(b'[');
        write_time(self.time_us, local_time, Fraction::Microseconds, out);
        out.extend_from_slice(b"] ");
        self.write_without_time(out);
        out.truncate(start + LINE_BYTES_MAX);
    }

    /// The same for the system's log, which has the time elsewhere.
    pub(super) fn write_without_time(&self, out: &mut Vec<u8>) {
        self.write_prefix(out);
        self.write_message(out);
    }

    /// `[core:warn] [pid 28991:tid 28991] `
    fn write_prefix(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        out.extend_from_slice(self.module.as_bytes());
        out.push(b':');
        out.extend_from_slice(self.level.name().as_bytes());
        out.extend_from_slice(b"] [pid ");
        decimal(u64::from(self.pid), out);
        out.extend_from_slice(b":tid ");
        decimal(self.tid, out);
        out.extend_from_slice(b"] ");
    }

    /// `(2)No such file or directory: [client 1.2.3.4:5678] AH00111: message, referer: URL`
    fn write_message(&self, out: &mut Vec<u8>) {
        if let (Some((file, line)), true) = (self.source, self.level >= Level::Debug) {
            out.extend_from_slice(file.as_bytes());
            out.push(b'(');
            decimal(u64::from(line), out);
            out.extend_from_slice(b"): ");
        }
        if let Some((number, text)) = self.os_error {
            out.push(b'(');
            signed(i64::from(number), out);
            out.push(b')');
            out.extend_from_slice(text.as_bytes());
            out.extend_from_slice(b": ");
        }
        match self.peer {
            Some(Peer::Client(address)) => write_peer("client", address, out),
            None => {}
        }
        if let Some(id) = self.id {
            out.extend_from_slice(b"AH");
            padded(u64::from(id), 5, b'0', out);
            out.extend_from_slice(b": ");
        }
        error_log_escape(self.message, out);
        if let Some(referer) = self.referer.filter(|referer| !referer.is_empty()) {
            out.extend_from_slice(b", referer: ");
            error_log_escape(referer, out);
        }
    }
}

/// What stands behind the seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fraction {
    None,
    Milliseconds,
    Microseconds,
}

/// `Tue Jan 13 10:15:28.420413 2026` (ap_recent_ctime_ex)
pub(super) fn write_time(
    time_us: i64,
    local_time: LocalTimeFn,
    fraction: Fraction,
    out: &mut Vec<u8>,
) {
    let time = local_time(time_us.div_euclid(1_000_000));
    TimeFormat::new(b"%a %b %d %T").write(&time, out);
    write_fraction(time_us, fraction, out);
    out.push(b' ');
    signed(i64::from(time.year), out);
}

/// `.420413`
pub(super) fn write_fraction(time_us: i64, fraction: Fraction, out: &mut Vec<u8>) {
    let us = time_us.rem_euclid(1_000_000) as u64;
    match fraction {
        Fraction::None => {}
        Fraction::Milliseconds => {
            out.push(b'.');
            padded(us / 1000, 3, b'0', out);
        }
        Fraction::Microseconds => {
            out.push(b'.');
            padded(us, 6, b'0', out);
        }
    }
}

/// `[client 1.2.3.4:5678] `; an IPv6 address has no brackets of its own here.
fn write_peer(kind: &str, address: SocketAddr, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "[{kind} {}:{}] ", address.ip().to_canonical(), address.port());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::CalendarSecond;

    fn line() -> ErrorLine<'static> {
        ErrorLine {
            time_us: 1_768_299_328_420_413,
            module: "core",
            level: Level::Warn,
            pid: 28991,
            tid: 28992,
            source: Some(("core.c", 12)),
            os_error: None,
            peer: None,
            id: Some(111),
            message: b"message",
            referer: None,
        }
    }

    fn text(line: &ErrorLine<'_>) -> String {
        let mut out = Vec::new();
        line.write(CalendarSecond::utc, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// The line without time, module and process.
    fn rest(line: &ErrorLine<'_>) -> String {
        let mut out = Vec::new();
        line.write_message(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_default_format() {
        assert_eq!(
            text(&line()),
            "[Tue Jan 13 10:15:28.420413 2026] [core:warn] [pid 28991:tid 28992] \
             AH00111: message"
        );
    }

    #[test]
    fn days_have_two_digits() {
        let first = ErrorLine { time_us: 1_767_225_600_000_001, ..line() };
        assert!(text(&first).starts_with("[Thu Jan 01 00:00:00.000001 2026] "));
    }

    #[test]
    fn parts_stand_in_httpds_order() {
        let all = ErrorLine {
            level: Level::Debug,
            os_error: Some((2, "No such file or directory")),
            peer: Some(Peer::Client("1.2.3.4:5678".parse().unwrap())),
            referer: Some(b"http://a/"),
            ..line()
        };
        assert_eq!(
            rest(&all),
            "core.c(12): (2)No such file or directory: [client 1.2.3.4:5678] AH00111: message, \
             referer: http://a/"
        );
    }

    #[test]
    fn the_source_is_shown_from_debug_on() {
        for (level, expected) in [
            (Level::Info, "AH00111: message"),
            (Level::Debug, "core.c(12): AH00111: message"),
            (Level::Trace8, "core.c(12): AH00111: message"),
        ] {
            assert_eq!(rest(&ErrorLine { level, ..line() }), expected);
        }
    }

    #[test]
    fn peers() {
        for (peer, expected) in [
            (Peer::Client("[::1]:80".parse().unwrap()), "[client ::1:80] m"),
            (Peer::Client("[::ffff:1.2.3.4]:80".parse().unwrap()), "[client 1.2.3.4:80] m"),
        ] {
            assert_eq!(
                rest(&ErrorLine { peer: Some(peer), id: None, message: b"m", ..line() }),
                expected
            );
        }
    }

    #[test]
    fn hostile_bytes_are_escaped_and_an_empty_referer_is_none() {
        let hostile = ErrorLine {
            id: None,
            message: b"AH1: \"x\"\n[fake] \x1b[31m\xff\\",
            referer: Some(b"a\r\nb"),
            ..line()
        };
        assert_eq!(rest(&hostile), "AH1: \"x\"\\n[fake] \\x1b[31m\\xff\\\\, referer: a\\r\\nb");
        assert_eq!(rest(&ErrorLine { referer: Some(b""), ..line() }), "AH00111: message");
    }

    #[test]
    fn long_lines_are_cut() {
        let message = vec![b'x'; 20_000];
        assert_eq!(text(&ErrorLine { message: &message, ..line() }).len(), LINE_BYTES_MAX);
    }
}
